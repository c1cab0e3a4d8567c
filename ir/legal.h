// SPDX-License-Identifier: Apache-2.0
#pragma once
// Conditions that every use of an instruction must satisfy (`legal` of hardware files).
//
// Conditions on a single extent, the alignment of an address or the value of a state field are translated by the loader
// to DimRange, Operand::align and Instruction::needs. The others are tested where a call is made, and all of them by
// the verifier of programs, by printers and by the simulator, as far as values are known.

#include <string>
#include <vector>

#include "ir/condition.h"
#include "isamap/affine.h"
#include "isamap/program.h"

namespace isamap {

/// The conditions of the instruction, checked by the loader.
std::vector<Condition> conditions(const Instruction& instruction);

/// Text of the first violated condition, with references by `lookup`; empty: none known.
std::string broken_condition(const Instruction& instruction, const Lookup& lookup);

/// The same for a call over these buffers: its extents, strides, pitches and `start` are known. `loops`: ranges of the
/// loop variables around it.
std::string broken_condition(const Instruction& instruction, const Call& call, const std::vector<Buffer>& buffers,
                             const Ranges& loops);

/// Do the extents satisfy the conditions on extents only?
bool extents_fit(const Instruction& instruction, const std::vector<std::int64_t>& extents);

/// Is there a condition that the ranges of the dims do not express?
bool has_more_conditions(const Instruction& instruction);

/// The legal extents with the most points: the largest of every dim, unless conditions involve several.
std::vector<std::int64_t> largest_extents(const Instruction& instruction);

/// Extents of the dim, descending: all if they are few, else halved down to the smallest.
std::vector<std::int64_t> some_extents(const DimRange& range, std::size_t few);

}  // namespace isamap
