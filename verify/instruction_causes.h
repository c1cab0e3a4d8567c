// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which other meaning would have given what was found: other signs, saturation, places, operands.

#include "verify/instruction_check.h"

namespace isamap {

double smallest_normal(DType type);

/// Positions in the written tensor at which `found` is not what the kernel says; `expected` receives what it says.
std::vector<std::int64_t> differing(const Kernel& kernel, const Instruction& instruction,
                                    const std::vector<TensorData>& before, const TensorData& found,
                                    std::vector<TensorData>& expected);

/// "operand A is unsigned (u8), not s8"; empty: none of the meanings that were tried.
std::string likely_cause(const InstructionCase& one, const Instruction& instruction,
                         const std::vector<TensorData>& before, const TensorData& found);

}  // namespace isamap
