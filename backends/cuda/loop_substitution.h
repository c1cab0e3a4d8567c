// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loop variable substitution: variables become expressions of other variables.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/program.h"

namespace isamap {

using Values = std::map<std::string, AffineExpr>;

/// Loop fusion: the variables of nested `loops` as digits of one `number`, the last loop fastest.
Values numbers_of(const std::vector<Loop>& loops, const AffineExpr& number, const Ranges& ranges);

/// The nodes with values substituted for variables. `ranges`: of the variables in the values and of the enclosing
/// loops.
std::vector<Node> with_values(const std::vector<Node>& nodes, const Values& values, Ranges ranges,
                              const HardwareModel& model);

/// Terms of an offset in one variable alone, and all others, the constant among them.
struct OffsetParts {
  AffineExpr base, rest;
};
/// `8*r + j + 1` is `8*r` and `j + 1` in `r`. Nothing: a term has both `variable` and others.
std::optional<OffsetParts> split_offset(const AffineExpr& offset, const std::string& variable);

}  // namespace isamap
