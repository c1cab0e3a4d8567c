// SPDX-License-Identifier: Apache-2.0
#pragma once
// Text of the reasons why an instruction does not cover a statement.

#include <string>
#include <vector>

#include "mapper/digits/placements.h"

namespace isamap {

/// One reason for each slot of the instruction that is empty against its rule: the instruction dim, the operands that
/// must use a dim for it, the nearest dim found, and what would work.
std::vector<Reason> slot_reasons(const Alignment& alignment, const Choices& choices, Rule rule);

/// The same for one slot.
Reason slot_reason(const Alignment& alignment, const Choices& choices, const Slot& slot, Rule rule);

/// A reason about dims: its text begins with "operands A=F B=I: " if operands are exchanged.
Reason dims_reason(const Alignment& alignment, const std::string& text);

}  // namespace isamap
