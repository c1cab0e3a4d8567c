// SPDX-License-Identifier: Apache-2.0
#pragma once
// Conditions that every use of an instruction fulfils (`legal` of hardware files).
//
// What they say of one extent alone, of the alignment of an address and of the value of a state field is put at load
// where the compiler looks anyway: into DimRange, Operand::align and Instruction::needs. The rest is tested where a
// call is made, and all of them by the verifier of programs, by printers and by the simulator, each as far as it knows
// the values.

#include <string>
#include <vector>

#include "ir/condition.h"
#include "isamap/affine.h"
#include "isamap/program.h"

namespace isamap {

/// The conditions of the instruction, which the loader has checked.
std::vector<Condition> conditions(const Instruction& instruction);

/// The first condition that does not hold where `lookup` tells its references, in words; empty: none that is known.
std::string broken_condition(const Instruction& instruction, const Lookup& lookup);

/// The same for a call over these buffers: its extents, strides, pitches and `start` are known. `loops`: ranges of the
/// loop variables around it.
std::string broken_condition(const Instruction& instruction, const Call& call, const std::vector<Buffer>& buffers,
                             const Ranges& loops);

/// Do the extents fulfil the conditions that are about extents alone?
bool extents_fit(const Instruction& instruction, const std::vector<std::int64_t>& extents);

/// Is there a condition that the ranges of the dims do not say?
bool has_more_conditions(const Instruction& instruction);

/// The extents of most points that a call may have: the largest of every dim, unless conditions tie several.
std::vector<std::int64_t> largest_extents(const Instruction& instruction);

/// Extents that the dim may have, descending: all of them where they are few, else by halves down to the smallest.
std::vector<std::int64_t> some_extents(const DimRange& range, std::size_t few);

}  // namespace isamap
