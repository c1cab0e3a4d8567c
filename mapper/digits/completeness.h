// SPDX-License-Identifier: Apache-2.0
#pragma once
// Known incompleteness of the enumeration.

#include <string>
#include <vector>

#include "isamap/mapper.h"

namespace isamap {

/// Mappings that a list does not contain. `missing`: the class has them, or is not defined there, so the list is
/// incomplete.
struct KnownGap {
  std::string text;
  bool missing = true;
  bool operator==(const KnownGap&) const = default;
  auto operator<=>(const KnownGap&) const = default;
};

/// `all` and `full` list their whole class where the instruction's indices are single dims and the statement's have no
/// divisions (docs/mapping.md). Three digits along one direction of the output are no members. Empty where bodies do
/// not match, or for `access`, whose class is unit steps.
std::vector<KnownGap> known_gaps(const Kernel& kernel, StatementId statement, const Instruction& hardware,
                                 InstructionId instruction, Rule rule);

}  // namespace isamap
