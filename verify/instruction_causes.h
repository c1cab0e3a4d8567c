// SPDX-License-Identifier: Apache-2.0
#pragma once
// Likely causes of a difference: another meaning of the instruction (signedness, saturation, layout, operands) that
// gives the found result.

#include "verify/instruction_check.h"

namespace isamap {

double smallest_normal(DType type);

/// Positions in the written tensor at which `found` differs from the kernel's result, which `expected` receives.
std::vector<std::int64_t> differing(const Kernel& kernel, const Instruction& instruction,
                                    const std::vector<TensorData>& before, const TensorData& found,
                                    std::vector<TensorData>& expected);

/// "operand A is unsigned (u8), not s8"; empty: none of the tried meanings fits.
std::string likely_cause(const InstructionCase& one, const Instruction& instruction,
                         const std::vector<TensorData>& before, const TensorData& found);

}  // namespace isamap
