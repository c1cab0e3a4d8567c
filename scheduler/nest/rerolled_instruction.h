// SPDX-License-Identifier: Apache-2.0
#pragma once
// The form of an instruction that schedules use: as described, or with its unrolled sum rerolled into a dim.
//
//   C[j] += s32(A[j,0]) * s32(B[j,0]) + s32(A[j,1]) * s32(B[j,1])      as described: five accesses, one dim
//   C[j] += s32(A[j,k]) * s32(B[j,k]),  k = 2                          rerolled: three accesses, two dims
//
// Schedules, tiles and layouts refer to the form; calls in programs to the instruction as described.

#include <memory>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/mapping.h"
#include "isamap/program.h"
#include "isamap/schedule.h"

namespace isamap {

using InstructionForm = std::shared_ptr<const Instruction>;

/// The instruction as described. The model must outlive it.
InstructionForm written_form(const HardwareModel& model, InstructionId instruction);
/// With its unrolled sum as the last dim. nullptr: it has none; it overwrites its output; the index of the term is not
/// a subscript by itself (A[2*j + 1]); or the first read of an operand is not its first element.
InstructionForm summed_form(const HardwareModel& model, InstructionId instruction);
/// The form of the mapping, which may be a tree of instructions: never nullptr if `not_lowered` (lowering_support.h)
/// accepts it.
InstructionForm instruction_form(const Mapping& mapping, const HardwareModel& model);
/// Extents of dims of an instruction: dim and extent.
using FixedExtents = std::vector<std::pair<std::size_t, std::int64_t>>;
/// Compile-time extents (`known: compile`) that the nest's innermost tiles fix. Empty: the form has none.
FixedExtents compile_time_extents(const Nest& nest, const InstructionForm& form, const Mapping& mapping,
                                  const Computation& fused);
InstructionForm with_extents(const InstructionForm& form, const FixedExtents& extents);
/// The form of the mapping with compile-time extents fixed to the nest's innermost tiles, for all of its calls.
/// nullptr: the mapping has no instruction.
InstructionForm form_in(const Nest& nest, const Mapping& mapping, const Computation& fused, const HardwareModel& model);

/// Converts the references of a call, one for each access of the form, to those of the instruction as described.
std::vector<Ref> written_refs(const Instruction& form, const Instruction& written, const std::vector<Ref>& refs);

/// For programs of one instruction: its text, or with the sum over reads of one operand as a dim, since that operand is
/// loaded once.
InstructionForm rerolled_form(const HardwareModel& model, InstructionId id);

}  // namespace isamap
