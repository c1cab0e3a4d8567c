// SPDX-License-Identifier: Apache-2.0
#pragma once
// The instruction that a schedule loops: as its text has it, or with the sum that the text writes out as a dim.
//
//   C[j] += s32(A[j,0]) * s32(B[j,0]) + s32(A[j,1]) * s32(B[j,1])      as it is written: five accesses, one dim
//   C[j] += s32(A[j,k]) * s32(B[j,k]),  k = 2                          its form: three accesses, two dims
//
// Schedules, tiles and layouts are about the form; a call in a program is of the instruction as it is written.

#include <memory>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/mapping.h"
#include "isamap/program.h"
#include "isamap/schedule.h"

namespace isamap {

using InstructionForm = std::shared_ptr<const Instruction>;

/// The instruction as it is written. The model must outlive it.
InstructionForm written_form(const HardwareModel& model, InstructionId instruction);
/// With its written-out sum as the last dim. Nothing: it writes none out; or overwrites its output; or the number of
/// the term is no subscript by itself (A[2*j + 1]); or the first read is not the first place of its operand.
InstructionForm summed_form(const HardwareModel& model, InstructionId instruction);
/// The one that the mapping is about: never nothing for mappings that lower (lowerable.h).
InstructionForm instruction_form(const Mapping& mapping, const HardwareModel& model);
/// The same with the extents that a nest gives dims which are part of the instruction's name (`known: compile`): all
/// its calls are of that one. Nothing: the mapping names no instruction.
InstructionForm form_in(const Nest& nest, const Mapping& mapping, const Computation& fused, const HardwareModel& model);

/// References of a use of the form, one for each access of the form, as those of the instruction as it is written.
std::vector<Ref> written_refs(const Instruction& form, const Instruction& written, const std::vector<Ref>& refs);

}  // namespace isamap
