// SPDX-License-Identifier: Apache-2.0
// Enumerates every place of a fragment, (lane 5, elem 2): its index must not have occurred before.

#include "hwdesc/layout/fragment_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/arithmetic.h"
#include "support/box.h"

namespace isamap {

namespace {

constexpr std::int64_t max_boxes = 4096;
using Extents = std::map<std::string, std::int64_t>;  // of the dims that the layout depends on

std::string shown_index(const Operand& operand, const Box& index) {
  std::string text;
  for (std::size_t d = 0; d < index.size(); ++d)
    text += fmt::format("{}{}={}", d > 0 ? ", " : "", operand.index_names[d], index[d]);
  return "[" + text + "]";
}

std::string shown_place(const FragmentLayout& layout, const Box& place) {
  std::string text;
  for (std::size_t u = 0; u < place.size(); ++u)
    text += fmt::format("{}{} {}", u > 0 ? ", " : "", layout.over[u].first, place[u]);
  return "(" + text + ")";
}

/// Extents of the operand's indices when the dims have these extents.
Box box_at(const Instruction& instruction, std::size_t operand, const Extents& extents) {
  Ranges ranges;
  for (const Dim& dim : instruction.statement().domain.dims) {
    const auto given = extents.find(dim.name);
    ranges[dim.name] = {0, (given == extents.end() ? dim.extent : given->second) - 1};
  }
  Box box(instruction.tensors[operand].shape.size(), 0);
  const Computation& statement = instruction.statement();
  for (int access = 0; access < access_count(statement); ++access) {
    const Access& a = access_of(statement, access);
    if (a.tensor.index() != operand) continue;
    for (std::size_t d = 0; d < box.size(); ++d)
      if (const auto values = bounds(a.index[d], ranges)) box[d] = std::max(box[d], values->high + 1);
  }
  for (std::size_t d = 0; d < box.size(); ++d)  // used by an earlier statement only
    if (box[d] == 0) box[d] = instruction.tensors[operand].shape[d];
  return box;
}

std::string at_these(const Extents& extents) {
  std::string text;
  for (const auto& [dim, extent] : extents) text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", dim, extent);
  return text.empty() ? "" : " at " + text;
}

/// One choice of extents: `over` and the box are numbers.
std::string fault_of(const FragmentLayout& layout, const Box& over, const Operand& operand, const Box& box,
                     const std::vector<CompiledAffine>& formulas) {
  const std::int64_t places = points_in(over), points = points_in(box);
  std::vector<std::int64_t> held(static_cast<std::size_t>(points), -1);  // by element, row-major: the place
  Box at(over.size(), 0), index(formulas.size(), 0);
  std::int64_t place = 0;
  if (places == 0) return points == 0 ? "" : "has no places";
  do {
    std::int64_t element = 0;
    for (std::size_t d = 0; d < formulas.size(); ++d) {
      index[d] = formulas[d](at.data());
      if (index[d] < 0 || index[d] >= box[d])
        return fmt::format("gives {} = {} at {}; the extent is {}", operand.index_names[d], index[d],
                           shown_place(layout, at), box[d]);
      element = element * box[d] + index[d];
    }
    std::int64_t& holder = held[static_cast<std::size_t>(element)];
    if (holder >= 0 && !layout.replicated)
      return fmt::format("has {} twice, at {} and at {}", shown_index(operand, index),
                         shown_place(layout, unflatten(holder, over)), shown_place(layout, at));
    if (holder < 0) holder = place;
    ++place;
  } while (advance(at, over));
  const auto missing = std::find(held.begin(), held.end(), -1);
  if (missing == held.end()) return "";
  return fmt::format("has {} places for {} elements: none holds {}", places, points,
                     shown_index(operand, unflatten(missing - held.begin(), box)));
}

/// A name in the layout's formulas that is not in `over`; empty: none.
std::string name_not_given(const FragmentLayout& layout, const std::vector<std::string>& names) {
  for (const AffineExpr& formula : layout.index)
    for (const std::string& name : formula.names())
      if (std::find(names.begin(), names.end(), name) == names.end()) return name;
  return "";
}

/// The dims whose extents the layout depends on.
using Followed = std::vector<std::pair<std::string, const DimRange*>>;
Followed followed_by(const FragmentLayout& layout, const Instruction& instruction) {
  Followed followed;
  for (const auto& [name, expression] : layout.varying)
    for (const Reference& r : references(expression)) {
      const int d = instruction.statement().domain.find(r.argument);
      const bool seen =
          std::any_of(followed.begin(), followed.end(), [&](const auto& f) { return f.first == r.argument; });
      if (d >= 0 && !seen) followed.emplace_back(r.argument, &instruction.ranges[static_cast<std::size_t>(d)]);
    }
  return followed;
}

/// The box of places at these extents.
Box places_at(const FragmentLayout& layout, const Extents& extents) {
  Box over;
  for (const auto& [name, extent] : layout.over) {
    const auto varies = std::find_if(layout.varying.begin(), layout.varying.end(),
                                     [&, n = name](const auto& v) { return v.first == n; });
    const auto value = varies == layout.varying.end()
                           ? std::optional(extent)
                           : evaluate(varies->second, [&](const Reference& r) -> std::optional<std::int64_t> {
                               const auto given = extents.find(r.argument);
                               return given == extents.end() ? std::nullopt : std::optional(given->second);
                             });
    over.push_back(value.value_or(0));
  }
  return over;
}

std::int64_t first_extent(const DimRange& range) {
  return std::max<std::int64_t>(1, ceil_div(range.min, range.multiple_of)) * range.multiple_of;
}

}  // namespace

FragmentCheck check_fragment(const Instruction& instruction, std::size_t operand_index, std::int64_t budget) {
  FragmentCheck result;
  const Operand& operand = instruction.operands[operand_index];
  const auto& layout = std::get<FragmentLayout>(operand.layout);
  std::vector<std::string> names;
  for (const auto& [name, extent] : layout.over) names.push_back(name);
  if (const std::string name = name_not_given(layout, names); !name.empty()) {
    result.fault = "names '" + name + "', which 'over' does not give";
    return result;
  }
  std::vector<CompiledAffine> formulas;
  for (const AffineExpr& formula : layout.index) formulas.emplace_back(formula, names);
  const Followed followed = followed_by(layout, instruction);
  Extents extents;
  for (const auto& [dim, range] : followed) extents[dim] = first_extent(*range);
  while (true) {
    const Box over = places_at(layout, extents);
    const Box box = box_at(instruction, operand_index, extents);
    const std::int64_t cost = std::max(points_in(over), points_in(box));
    if (cost > budget - result.places || result.boxes == max_boxes) {
      result.too_large = true;
      return result;
    }
    result.places += points_in(over);
    ++result.boxes;
    result.fault = fault_of(layout, over, operand, box, formulas);
    if (!result.fault.empty()) {
      result.fault += at_these(extents);
      return result;
    }
    std::size_t d = 0;
    for (; d < followed.size(); ++d) {
      const auto& [dim, range] = followed[d];
      if ((extents[dim] += range->multiple_of) <= range->max) break;
      extents[dim] = first_extent(*range);
    }
    if (d == followed.size()) return result;
  }
}

}  // namespace isamap
