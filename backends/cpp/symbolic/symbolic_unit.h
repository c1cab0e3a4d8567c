// SPDX-License-Identifier: Apache-2.0
#pragma once
// A program for any number of rows as one C++ file.
//
//   extern "C" int NAME(const float* A, const float* B, float* C, const float* B_ram, long M);
//
// The entry checks the sizes, chooses a version and walks its parts, each at the address of its first row. It returns
// 0; where a size breaks a fact it prints one line to stderr and returns 1, and nothing is touched.

#include "backends/cpp/translation_unit.h"
#include "isamap/symbolic_program.h"

namespace isamap {

/// Who executes it: a thread that calls, with loops on further threads of the language; or all members of the team of a
/// model, the last argument (backends/cpp/function/team.h).
enum class ExecutedBy { caller, team };

Result<TranslationUnit> print_symbolic_cpp(const SymbolicProgram& program, const HardwareModel& model,
                                           ExecutedBy executed = ExecutedBy::caller);

}  // namespace isamap
