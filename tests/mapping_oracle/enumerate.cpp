// SPDX-License-Identifier: Apache-2.0
#include "tests/mapping_oracle/enumerate.h"

#include <algorithm>

#include "tests/mapping_oracle/delta.h"

namespace isamap::oracle {
namespace {

constexpr Int column_bound = 2;

bool independent(const std::vector<Vec>& vectors) { return vectors.empty() || rank_of(vectors) == vectors.size(); }

bool right(const Nest& kernel, const Nest& unit, const Mapping& mapping) {
  std::vector<Vec> columns, images;
  for (const Digit& digit : mapping.digits) {
    columns.push_back(digit.column);
    if (!unit.uses(0, static_cast<std::size_t>(digit.places[0]))) continue;
    images.emplace_back();
    for (const Row& row : kernel.operands[0]) images.back().push_back(linear(row, digit.column));
    if (images.back().empty()) return false;
  }
  if (!independent(columns) || !independent(images)) return false;
  const DeltaVerdict verdict = judge_differences(kernel, unit, mapping);
  return verdict.sound && verdict.no_partials && verdict.neutral;
}

/// Per instruction dim the columns that leave every operand without it in place. Others are unsound at once: the digit
/// alone moves an element within its slot.
std::vector<std::vector<Vec>> columns_of(const Nest& kernel, const Nest& unit) {
  std::vector<std::vector<Vec>> columns;
  for (std::size_t m = 0; m < unit.dims(); ++m) {
    std::vector<Vec> equations;
    for (std::size_t t = 0; t < kernel.operands.size(); ++t) {
      if (unit.uses(t, m)) continue;
      for (const Row& row : kernel.operands[t]) equations.push_back(row.coefficients);
    }
    columns.push_back(kernel_vectors(equations, kernel.dims(), column_bound));
  }
  return columns;
}

Mapping identity_operands(const Nest& unit) {
  Mapping mapping;
  for (std::size_t t = 0; t < unit.operands.size(); ++t) mapping.operands.push_back(static_cast<int>(t));
  return mapping;
}

Mapping random_raw(Random& random, const Nest& unit, const std::vector<std::vector<Vec>>& columns, Int digits) {
  Mapping mapping = identity_operands(unit);
  for (std::size_t m = 0; m < columns.size(); ++m) {
    for (Int l = columns[m].empty() ? 0 : random.between(0, digits); l > 0; --l) {
      const auto chosen = static_cast<std::size_t>(random.between(0, static_cast<Int>(columns[m].size()) - 1));
      mapping.digits.push_back({columns[m][chosen], random.between(2, 3), {static_cast<int>(m)}});
    }
  }
  return mapping;
}

bool conformal(const Vec& u, const Vec& v) {
  Vec minus = u;
  for (Int& x : minus) x = -x;
  return conformally_below(u, v) || conformally_below(minus, v);
}

}  // namespace

std::vector<Mapping> raw_mappings(Random& random, const Nest& kernel, const Nest& unit, std::size_t most) {
  const std::vector<std::vector<Vec>> columns = columns_of(kernel, unit);
  std::vector<Mapping> found;
  const auto keep = [&](Mapping mapping) {
    if (right(kernel, unit, mapping)) found.push_back(std::move(mapping));
  };
  std::size_t all = 1;
  for (const auto& list : columns) all = all > most ? all : all * (list.size() + 1);
  Vec choices;
  for (const auto& list : columns) choices.push_back(static_cast<Int>(list.size()) + 1);
  for (const Vec& choice : all <= most ? box(choices) : std::vector<Vec>{}) {
    Mapping mapping = identity_operands(unit);
    for (std::size_t m = 0; m < choice.size(); ++m)
      if (choice[m] > 0)
        mapping.digits.push_back(
            {columns[m][static_cast<std::size_t>(choice[m] - 1)], random.between(2, 3), {static_cast<int>(m)}});
    keep(std::move(mapping));
  }
  for (std::size_t i = 0; i < most && all > most; ++i) keep(random_raw(random, unit, columns, 1));
  for (std::size_t i = 0; i < most; ++i) keep(random_raw(random, unit, columns, 2));
  return found;
}

std::optional<Mapping> conformal_member(const Nest& kernel, const Nest& unit, const Mapping& raw) {
  const std::vector<DimClass> classes = dim_classes(kernel, unit);
  const auto directions = [&](int m) -> const std::vector<Vec>& {
    for (const DimClass& c : classes)
      if (std::find(c.dims.begin(), c.dims.end(), m) != c.dims.end()) return c.directions;
    return classes[0].directions;
  };
  Mapping member = raw;
  const auto replace = [&](const auto& self, std::size_t l) -> bool {
    if (l == raw.digits.size()) return right(kernel, unit, member);
    for (const Vec& u : directions(raw.digits[l].places[0])) {
      if (!conformal(u, raw.digits[l].column)) continue;
      member.digits[l].column = u;
      const bool repeated = std::any_of(member.digits.begin(), member.digits.begin() + static_cast<long>(l),
                                        [&](const Digit& digit) { return digit.column == u; });
      if (!repeated && self(self, l + 1)) return true;
    }
    return false;
  };
  return replace(replace, 0) ? std::optional(member) : std::nullopt;
}

}  // namespace isamap::oracle
