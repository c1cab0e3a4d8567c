// SPDX-License-Identifier: Apache-2.0
#pragma once
// A program that calls a printed kernel and compares what it computes with the kernel's statements as plain loops.

#include <string>

#include "backends/cpp/translation_unit.h"

namespace isamap {

/// The text of `main`: exit code 0 if all outputs are right, 1 if not. Inputs are the same at every run. How far floats
/// may be apart is found here, with the interpreter, by the bounds of include/isamap/interpret.h: kernels of more
/// points than it takes in a minute are refused.
Result<std::string> print_self_test(const TranslationUnit& unit, const Program& program, const HardwareModel& model);

}  // namespace isamap
