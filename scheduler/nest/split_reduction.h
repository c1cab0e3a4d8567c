// SPDX-License-Identifier: Apache-2.0
#pragma once
// Split reductions: instances of a unit each add up a part of a sum, and an instruction (`combine`) adds the parts to
// what stands in a memory that all of them share. It may do so at once for several of them (`atomic`), in any order.
//
//   for k by 256 on block combine NAME      C[i,j] += A[i,k] * B[k,j]: block b has the sums over its 256 points of k
//
// The memory must hold the identity (or the caller's values) before the first part comes: lowering sets it before the
// loop over instances begins.

#include <string>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/kernel.h"
#include "isamap/schedule.h"

namespace isamap {

/// Why an instruction cannot add up parts of this statement's sums that instances of `unit` have; empty: it can.
/// "add_f32 adds up f32; C is f16"
std::string combine_refusal(const Instruction& instruction, const Computation& statement, const Tensor& output,
                            UnitId unit, const HardwareModel& model);

/// Those of the machine that can.
std::vector<InstructionId> combines_for(const Computation& statement, const Tensor& output, UnitId unit,
                                        const HardwareModel& model);

/// The memory to which it adds, and the one from which it takes parts.
MemoryId combine_target(const Instruction& combine);
MemoryId combine_source(const Instruction& combine);

/// Does the loop give instances that run side by side parts of one sum?
bool splits_a_reduction(const Computation& statement, const std::string& dim, UnitId unit, const HardwareModel& model);

/// What a line with `combine` names, or what is wrong with it by itself.
Result<InstructionId> combine_of(const For& line, const Computation& statement, const Tensor& output,
                                 const HardwareModel& model);

/// "combine add_f32, add_pairs_f32 on block": what a loop that splits a reduction could say; else what to do instead.
std::string combine_hint(const Computation& statement, const Tensor& output, const std::string& dim, UnitId unit,
                         const HardwareModel& model);

}  // namespace isamap
