// SPDX-License-Identifier: Apache-2.0
#pragma once
// Conditions of hardware files: `extent[i] * extent[j] <= 64`, two expressions compared by one of `== != < <= > >=`.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "isamap/expression.h"

namespace isamap {

using Lookup = std::function<std::optional<std::int64_t>(const Reference&)>;

struct Condition {
  enum class Op { equal, unequal, less, at_most, more, at_least };
  Op op = Op::equal;
  IntExpr left, right;
  bool operator==(const Condition&) const = default;
};

/// `examples`: of conditions where it stands, for hints.
Result<Condition> parse_condition(const std::string& text, const SourceLocation& where = {},
                                  const std::string& examples = R"("extent[i] <= 4" or "S.pitch[i] % 16 == 0")");
std::string print(const Condition& c);
std::vector<Reference> references(const Condition& c);
/// Nothing: one side has no value.
std::optional<bool> holds(const Condition& c, const Lookup& lookup);

}  // namespace isamap
