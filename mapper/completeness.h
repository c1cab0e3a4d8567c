// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a list of mappings does not claim to hold.

#include <string>
#include <vector>

#include "isamap/mapper.h"

namespace isamap {

/// What a list does not hold. `missing`: the class has it, or is not defined there, so the list is not complete.
struct KnownGap {
  std::string text;
  bool missing = true;
  bool operator==(const KnownGap&) const = default;
  auto operator<=>(const KnownGap&) const = default;
};

/// `all` and `full` list everything of their class where the instruction's indices are single dims and the statement's
/// have no divisions (docs/mapping.md). Three digits along one direction of the output are no members. Nothing where
/// bodies do not match, or for `access`, whose class is unit steps.
std::vector<KnownGap> known_gaps(const Kernel& kernel, StatementId statement, const Instruction& hardware,
                                 InstructionId instruction, Rule rule);

}  // namespace isamap
