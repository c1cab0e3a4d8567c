// SPDX-License-Identifier: Apache-2.0
#pragma once
// A program as one file of CUDA C++: kernels and the function that launches them. Without nvcc the same file compiles
// as plain C++20 with `emulation_header()`, and its entry is NAME_emulated.

#include "backends/cpp/compile.h"
#include "backends/cpp/translation_unit.h"
#include "backends/cuda/header_texts.h"

namespace isamap {

/// Every array is in device memory; `NAME(arguments..., stream)` returns the status of the launches.
Result<TranslationUnit> print_cuda(const Program& program, const HardwareModel& model);

/// The part of the emulation that programs share as one object file (emulation/threads.h).
SharedPart emulation_part();

}  // namespace isamap
