// SPDX-License-Identifier: Apache-2.0
// Layouts as tables of element positions, so that layouts are composed by comparison of tables.

#include <algorithm>

#include "isamap/instruction.h"
#include "support/arithmetic.h"
#include "support/box.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

using Table = std::optional<std::vector<std::int64_t>>;
constexpr std::int64_t max_points = 1 << 22;

std::optional<std::int64_t> points_of(const std::vector<std::int64_t>& box) {
  std::int64_t count = 1;
  for (const std::int64_t extent : box) {
    if (extent < 0) return std::nullopt;
    const auto next = checked_mul(count, extent);
    if (!next || *next > max_points) return std::nullopt;
    count = *next;
  }
  return count;
}

std::optional<std::int64_t> fixed_stride(const StrideTerm& term) {
  if (!term.stride || !term.each.empty()) return std::nullopt;
  return evaluate(*term.stride, [](const Reference&) { return std::optional<std::int64_t>(); });
}

bool is_sane(const XorSwizzle& s) {
  const auto small = [](int value) { return value >= 0 && value < 32; };
  return small(s.bits) && small(s.from) && small(s.to);
}

Table dense_positions(std::int64_t count) {
  std::vector<std::int64_t> table(static_cast<std::size_t>(count));
  for (std::size_t p = 0; p < table.size(); ++p) table[p] = static_cast<std::int64_t>(p);
  return table;
}

Table strided_positions(const Operand& operand, const StridedLayout& layout, const std::vector<std::int64_t>& box,
                        std::int64_t count) {
  if (operand.index_names.size() != box.size()) return std::nullopt;
  if (layout.swizzle && (!operand.dtype || !is_sane(*layout.swizzle))) return std::nullopt;
  std::vector<std::pair<CompiledAffine, std::int64_t>> terms;
  for (const StrideTerm& term : layout.terms) {
    const auto stride = fixed_stride(term);
    if (!stride) return std::nullopt;
    for (const std::string& name : term.term.names()) {
      if (std::count(operand.index_names.begin(), operand.index_names.end(), name) == 0) return std::nullopt;
    }
    terms.emplace_back(CompiledAffine(term.term, operand.index_names), *stride);
  }
  const std::int64_t unit = layout.swizzle ? bytes(*operand.dtype) : 1;
  std::vector<std::int64_t> table, point(box.size(), 0);
  for (std::int64_t p = 0; p < count; ++p, advance(point, box)) {
    std::int64_t position = 0;
    for (const auto& [term, stride] : terms) position += term(point.data()) * stride;
    table.push_back(layout.swizzle ? swizzled(*layout.swizzle, position * unit) / unit : position);
  }
  return table;
}

Table fragment_positions(const FragmentLayout& layout, const std::vector<std::int64_t>& box, std::int64_t count) {
  std::vector<std::string> names;
  std::vector<std::int64_t> extents;
  for (const auto& [name, extent] : layout.over) {
    names.push_back(name);
    extents.push_back(extent);
  }
  const auto places = points_of(extents);
  if (!places || layout.index.size() != box.size()) return std::nullopt;
  std::vector<CompiledAffine> formulas;
  for (const AffineExpr& e : layout.index) {
    for (const std::string& name : e.names()) {
      if (std::count(names.begin(), names.end(), name) == 0) return std::nullopt;
    }
    formulas.emplace_back(e, names);
  }
  std::vector<std::int64_t> table(static_cast<std::size_t>(count), -1), place(extents.size(), 0);
  for (std::int64_t p = 0; p < *places; ++p, advance(place, extents)) {
    std::int64_t position = 0;
    bool inside = true;
    for (std::size_t d = 0; d < box.size(); ++d) {
      const std::int64_t index = formulas[d](place.data());
      inside = inside && index >= 0 && index < box[d];
      position = position * box[d] + index;
    }
    // A replicated element is found at its first place.
    if (inside && table[static_cast<std::size_t>(position)] < 0) table[static_cast<std::size_t>(position)] = p;
  }
  if (std::count(table.begin(), table.end(), -1) > 0) return std::nullopt;
  return table;
}

}  // namespace

std::optional<std::vector<std::int64_t>> positions(const Operand& operand, const std::vector<std::int64_t>& box) {
  const auto count = points_of(box);
  if (!count) return std::nullopt;
  return std::visit(overloaded{[&](const DenseLayout&) { return dense_positions(*count); },
                               [&](const StridedLayout& s) { return strided_positions(operand, s, box, *count); },
                               [&](const FragmentLayout& f) { return fragment_positions(f, box, *count); }},
                    operand.layout);
}

}  // namespace isamap
