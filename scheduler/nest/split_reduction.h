// SPDX-License-Identifier: Apache-2.0
#pragma once
// Split reductions (split-K): each instance of a unit computes a partial sum, and an instruction (`combine`) adds it to
// an accumulator in a memory shared by all, atomically and in any order.
//
//   for k by 256 on block combine NAME      C[i,j] += A[i,k] * B[k,j]: block b sums over its 256 points of k
//
// The memory must hold the identity (or the caller's values) before the first partial sum: lowering initializes it
// above the loop over instances.

#include <string>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/kernel.h"
#include "isamap/schedule.h"

namespace isamap {

/// Why an instruction cannot add this statement's partial sums across instances of `unit`, "add_f32 adds up f32; C is
/// f16"; empty: it can.
std::string combine_refusal(const Instruction& instruction, const Computation& statement, const Tensor& output,
                            UnitId unit, const HardwareModel& model);

/// The machine's instructions that can.
std::vector<InstructionId> combines_for(const Computation& statement, const Tensor& output, UnitId unit,
                                        const HardwareModel& model);

/// The memory of the accumulator, and that of the partial sums.
MemoryId combine_target(const Instruction& combine);
MemoryId combine_source(const Instruction& combine);

/// Does the loop distribute a reduction over instances that run in parallel?
bool splits_a_reduction(const Computation& statement, const std::string& dim, UnitId unit, const HardwareModel& model);

/// The instruction of a line with `combine`, or why the line is illegal.
Result<InstructionId> combine_of(const For& line, const Computation& statement, const Tensor& output,
                                 const HardwareModel& model);

/// Hint for a loop that splits a reduction without `combine`: those that fit, or what to do instead.
std::string combine_hint(const Computation& statement, const Tensor& output, const std::string& dim, UnitId unit,
                         const HardwareModel& model);

}  // namespace isamap
