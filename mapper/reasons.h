// SPDX-License-Identifier: Apache-2.0
#pragma once
// Why an instruction covers a statement in no way, in words.

#include <string>
#include <vector>

#include "mapper/placements.h"

namespace isamap {

/// How far an instruction is from mapping, by the kind of its first reason: dims are nearest, then values that may not
/// fit, types, the reduction, and another body.
int distance_of(const std::string& reason);

/// One reason for each slot of the instruction that stays empty against its rule: names the instruction dim, the
/// operands that a dim would have to be used by, what was found instead, and what would work.
std::vector<std::string> slot_reasons(const Alignment& alignment, const Choices& choices, Rule rule);

/// The same for one slot.
std::string slot_reason(const Alignment& alignment, const Choices& choices, const Slot& slot, Rule rule);

/// "operands A=F B=I: ", or nothing for the written order.
std::string operand_prefix(const Alignment& alignment);

}  // namespace isamap
