// SPDX-License-Identifier: Apache-2.0
#include "scheduler/nest/write_coverage.h"

#include <algorithm>
#include <set>
#include <vector>

#include "support/box.h"

namespace isamap {

namespace {

constexpr std::int64_t most_points = 1 << 16;

/// Is the index injective in the dims that no other index determines? It is as a mixed-radix number: each coefficient
/// exceeds the largest sum of the smaller terms.
bool tells_apart(const AffineExpr& index, const std::set<std::string>& fixed,
                 const std::map<std::string, std::int64_t>& extents) {
  std::vector<std::pair<std::int64_t, std::int64_t>> digits;  // coefficient, largest value
  for (const AffineTerm& term : index.terms()) {
    const std::string& dim = std::get<std::string>(term.atom);
    const auto extent = extents.find(dim);
    if (extent != extents.end() && extent->second > 1 && !fixed.contains(dim))
      digits.emplace_back(std::abs(term.coefficient), extent->second - 1);
  }
  std::sort(digits.begin(), digits.end());
  std::int64_t reach = 0;
  for (const auto& [coefficient, largest] : digits) {
    if (coefficient <= reach) return false;
    reach += coefficient * largest;
  }
  return true;
}

/// By enumeration of the points.
WrittenElements counted(const Computation& statement, const Tensor& output, const std::vector<Dim>& used,
                        std::int64_t points) {
  std::vector<std::string> names;
  Box box;
  for (const Dim& dim : used) {
    names.push_back(dim.name);
    box.push_back(dim.extent);
  }
  std::vector<CompiledAffine> index;
  for (const AffineExpr& e : statement.write.index) index.emplace_back(e, names);
  std::set<Box> seen;
  Box point(box.size(), 0);
  for (std::int64_t p = 0; p < points; ++p, advance(point, box)) {
    Box element;
    for (const CompiledAffine& e : index) element.push_back(e(point.data()));
    seen.insert(std::move(element));
  }
  const auto written = static_cast<std::int64_t>(seen.size());
  return {written == element_count(output), written == points};
}

}  // namespace

std::optional<bool> one_to_one(const Access& write, const std::map<std::string, std::int64_t>& extents) {
  std::set<std::string> fixed;
  for (const AffineExpr& e : write.index) {
    if (!e.is_linear()) return std::nullopt;
    if (e.terms().size() == 1) fixed.insert(std::get<std::string>(e.terms()[0].atom));
  }
  return std::all_of(write.index.begin(), write.index.end(),
                     [&](const AffineExpr& e) { return tells_apart(e, fixed, extents); });
}

WrittenElements written_elements(const Computation& statement, const Tensor& output) {
  std::map<std::string, std::int64_t> extents;
  std::vector<Dim> used;
  std::int64_t points = 1;
  for (const Dim& dim : statement.domain.dims) {
    extents[dim.name] = dim.extent;
    if (!uses(statement.write, dim.name)) continue;
    used.push_back(dim);
    points = checked_mul(points, dim.extent).value_or(INT64_MAX);
  }
  const bool box = statement.domain.faces.empty();
  if (const auto different = one_to_one(statement.write, extents); different && (*different || points > most_points))
    return {*different && box && points == element_count(output), *different};
  if (points > most_points) return {};
  const WrittenElements found = counted(statement, output, used, points);
  return {found.all && box, found.once};
}

}  // namespace isamap
