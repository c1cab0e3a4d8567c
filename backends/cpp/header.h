// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a caller of a printed program must know, as a header of C that C++ takes too.

#include <string>

#include "backends/cpp/translation_unit.h"

namespace isamap {

/// Prototypes, sizes of packed copies and of the workspace as constants, alignments, and what threads may do at a time.
std::string print_header(const TranslationUnit& unit, const Program& program);

/// The type of an argument's elements in C: "float", "int32_t", "uint16_t" for 16-bit floats.
std::string c_type(const EntryArgument& argument, const Program& program);
/// "void gemm(const float* A, float* C)", or of the entry that packs.
std::string c_prototype(const TranslationUnit& unit, bool pack, const Program& program);

}  // namespace isamap
