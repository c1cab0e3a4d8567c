// SPDX-License-Identifier: Apache-2.0
#pragma once
// Text of the reasons why an instruction does not cover a statement.

#include <string>
#include <vector>

#include "mapper/placements.h"

namespace isamap {

/// Distance of an instruction from mapping, by the kind of its first reason: dims are nearest, then values that may not
/// fit, types, the reduction, and another body.
int distance_of(const std::string& reason);

/// One reason for each slot of the instruction that is empty against its rule: the instruction dim, the operands that
/// must use a dim for it, the nearest dim found, and what would work.
std::vector<std::string> slot_reasons(const Alignment& alignment, const Choices& choices, Rule rule);

/// The same for one slot.
std::string slot_reason(const Alignment& alignment, const Choices& choices, const Slot& slot, Rule rule);

/// "operands A=F B=I: ", or nothing for the written order.
std::string operand_prefix(const Alignment& alignment);

}  // namespace isamap
