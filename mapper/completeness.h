// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a list of mappings does not claim to hold.

#include <string>
#include <vector>

#include "isamap/mapper.h"

namespace isamap {

/// What a list does not hold. `missing`: the class has it, or is not defined there, so the list is not complete.
struct Unclaimed {
  std::string text;
  bool missing = true;
  bool operator==(const Unclaimed&) const = default;
  auto operator<=>(const Unclaimed&) const = default;
};

/// `all` and `full` list everything of their class where the instruction's indices are single dims and the statement's
/// have no divisions (docs/mapping.md). Three digits along one direction of the output are no members. Nothing where
/// bodies do not match, or for `access`, whose class is unit steps.
std::vector<Unclaimed> outside_the_class(const Kernel& kernel, StatementId statement, const Instruction& hardware,
                                         InstructionId instruction, Rule rule);

}  // namespace isamap
