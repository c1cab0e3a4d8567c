// SPDX-License-Identifier: Apache-2.0
#pragma once
// The interface of a printed program as a C header, usable from C++.

#include <string>

#include "backends/cpp/translation_unit.h"

namespace isamap {

/// Prototypes, sizes of packed copies and of the workspace as constants, alignments, thread safety.
std::string print_header(const TranslationUnit& unit, const Program& program);

/// The type of an argument's elements in C: "float", "int32_t", "uint16_t" for 16-bit floats.
std::string c_type(const EntryArgument& argument, const Program& program);
/// "void gemm(const float* A, float* C)", or the prototype of the packing entry.
std::string c_prototype(const TranslationUnit& unit, bool pack, const Program& program);

}  // namespace isamap
