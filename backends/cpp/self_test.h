// SPDX-License-Identifier: Apache-2.0
#pragma once
// A self-checking program: calls a printed kernel and compares with the kernel's statements as plain loops.

#include <string>

#include "backends/cpp/translation_unit.h"

namespace isamap {

/// The text of `main`: exit code 0 if all outputs are correct, otherwise 1. Inputs are deterministic. Floating-point
/// tolerances are computed here with the interpreter, by the error bounds of include/isamap/interpret.h: kernels that
/// would take it more than a minute are refused.
Result<std::string> print_self_test(const TranslationUnit& unit, const Program& program, const HardwareModel& model);

}  // namespace isamap
