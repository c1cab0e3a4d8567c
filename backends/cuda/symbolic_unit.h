// SPDX-License-Identifier: Apache-2.0
#pragma once
// A program for all sizes as one file of CUDA C++: a kernel for each statement, and an entry that checks the sizes and
// launches them with as many blocks as the sizes need.
//
//   extern "C" cudaError_t NAME(const float* A, const float* B, float* C, long M, long N, cudaStream_t stream);
//
// Where a size breaks a fact the entry prints one line to stderr and returns cudaErrorInvalidValue (1); nothing is
// launched.

#include "backends/cpp/translation_unit.h"
#include "isamap/symbolic_program.h"

namespace isamap {

Result<TranslationUnit> print_symbolic_cuda(const SymbolicProgram& program, const HardwareModel& model);

}  // namespace isamap
