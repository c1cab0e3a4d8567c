#pragma once
// What a list of mappings does not claim to hold.

#include <string>
#include <vector>

#include "mapper/mapper.h"

namespace isamap {

/// `all` and `full` list everything of their class where the instruction's indices are single dims, the statement's
/// have no divisions, and no three steps move the output along one direction (docs/mapping.md). Otherwise: what is
/// outside, in words. Nothing where bodies do not match, or for `access`, whose class is unit steps.
std::vector<std::string> outside_the_class(const Kernel& kernel, StatementId statement, const Instruction& hardware,
                                           InstructionId instruction, Rule rule);

}  // namespace isamap
