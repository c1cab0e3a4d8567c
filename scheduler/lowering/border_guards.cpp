// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lowering/border_guards.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/arithmetic.h"

namespace isamap {

namespace {

const Tensor& tensor_of(const NestParts& parts, int access) {
  return parts.kernel_.tensors[access_of(parts.statement_, access).tensor.index()];
}

/// Range of each dim of a tile over all iterations of the enclosing loops.
Ranges ranges_of(const NestParts& parts, const Tiles& tiles) {
  Ranges ranges;
  for (const auto& [dim, tile] : tiles) {
    const auto origin = bounds(tile.origin, parts.lowering_.ranges);
    if (origin) ranges[dim] = {origin->low, origin->high + std::max<std::int64_t>(tile.size, 1) - 1};
  }
  return ranges;
}

AffineExpr at_origin(const AffineExpr& e, const Tiles& tiles) {
  std::map<std::string, AffineExpr> by;
  for (const std::string& name : e.names()) by[name] = tiles.at(name).origin;
  return substitute(e, by);
}

}  // namespace

Result<BoundsConditions> bounds_conditions(const NestParts& parts, int access, const Tiles& tiles) {
  const Tensor& tensor = tensor_of(parts, access);
  if (!may_skip(parts.kernel_, parts.statement_, access_of(parts.statement_, access).tensor))
    return error(fmt::format("outside {} skip: out-of-bounds values of {} change the result", tensor.name, tensor.name),
                 "leave it out: the tile is padded then");
  if (assumes_finite(parts.statement_)) parts.lowering_.assume(finite_products().kind, finite_products().text);
  const Access& read = access_of(parts.statement_, access);
  const Ranges ranges = ranges_of(parts, tiles);
  BoundsConditions result;
  for (std::size_t i = 0; i < read.index.size(); ++i) {
    const AffineExpr& e = read.index[i];
    const auto range = bounds(e, ranges);
    if (range && range->low >= 0 && range->high < tensor.shape[i]) continue;
    if (range && (range->high < 0 || range->low >= tensor.shape[i])) result.never = true;
    for (const std::string& dim : e.names())
      if (tiles.at(dim).size > 1)
        return error(
            fmt::format("outside {} skip: its tile here has {} points along {}, some of which may be out of bounds",
                        tensor.name, tiles.at(dim).size, dim),
            fmt::format("add `for {} by 1` above it", dim));
    const AffineExpr here = simplify(at_origin(e, tiles), parts.lowering_.ranges);
    if (!range || range->low < 0) result.conditions.push_back(here);
    if (!range || range->high >= tensor.shape[i]) result.conditions.push_back(AffineExpr(tensor.shape[i] - 1) - here);
  }
  return result;
}

Result<Nodes> under_conditions(Lowering& lowering, const BoundsConditions& bounds,
                               const std::function<Result<Nodes>()>& make) {
  if (bounds.never) return Nodes{};
  const std::size_t known = lowering.nonnegative.size();
  lowering.nonnegative.insert(lowering.nonnegative.end(), bounds.conditions.begin(), bounds.conditions.end());
  auto nodes = make();
  lowering.nonnegative.resize(known);
  if (!nodes || bounds.conditions.empty()) return nodes;
  Guard guard;
  guard.conditions = bounds.conditions;
  guard.then = std::move(*nodes);
  return Nodes{Node{std::move(guard)}};
}

Interior interior(const NestParts& parts, const std::string& dim, std::int64_t tile, std::int64_t full,
                  const Tiles& tiles) {
  Interior result{0, full};
  const Tile& parent = tiles.at(dim);
  if (!parent.origin.is_constant()) return result;
  for (int a = 1; a < access_count(parts.statement_); ++a) {
    const Tensor& tensor = tensor_of(parts, a);
    if (!skips(*parts.input_.nest, tensor)) continue;
    const auto& index = access_of(parts.statement_, a).index;
    for (std::size_t i = 0; i < index.size(); ++i) {
      const std::int64_t step = index[i].coefficient(dim);
      if (step <= 0 || !index[i].is_linear()) continue;
      const auto others = bounds(index[i] - AffineExpr::dim(dim) * step, ranges_of(parts, tiles));
      if (!others) continue;
      // Points from `low` to `high` of the dim are in bounds for all values of the others.
      const std::int64_t low = ceil_div(-others->low, step), origin = parent.origin.constant();
      const std::int64_t high = floor_div(tensor.shape[i] - 1 - others->high, step);
      result.first = std::max(result.first, ceil_div(low - origin, tile));
      result.last = std::min(result.last, floor_div(high + 1 - origin, tile));
    }
  }
  if (result.first >= result.last) return {0, full};  // nothing to peel: all steps are guarded
  return result;
}

}  // namespace isamap
