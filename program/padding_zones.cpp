// SPDX-License-Identifier: Apache-2.0
#include "program/padding_zones.h"

#include <algorithm>

#include "isamap/symbolic.h"

namespace isamap {
namespace {

constexpr std::int64_t few_uses = 64;  // of an element: more are worth a copy

std::int64_t uses_of_element(const GridShape& shape, TensorId tensor) {
  std::int64_t points = 1;
  for (const Dim& dim : shape.kernel.statements[0].domain.dims) points *= std::max<std::int64_t>(dim.extent, 1);
  return points / std::max<std::int64_t>(element_count(shape.kernel.tensors[tensor.index()]), 1);
}

/// Nothing: its positions have no inner zone.
std::optional<InnerZone> inner_zone(const GridShape& shape, const PaddedCopy& copy, const AxisMove& move,
                                    std::size_t dim, const AffineExpr& extent) {
  if (move.axis < 0) return std::nullopt;
  const GridAxis& axis = shape.axes[static_cast<std::size_t>(move.axis)];
  const AffineExpr span = copy.extents[dim] - 1 - move.factor * (*affine_extent(axis) - 1);
  // Lanes along the axis would be cut, too: a copy costs less than a few positions of their own.
  const bool in_lanes =
      std::any_of(axis.runs.begin(), axis.runs.end(), [](const DimRun& run) { return run.low != run.high; });
  const bool cut = !axis.reduced && axis.multiple == 1 && !axis.runs.empty() && !in_lanes;
  if (!cut || !span.is_constant() || span.constant() < 0) return std::nullopt;
  const std::int64_t low = copy.low[dim];
  const std::int64_t first = low < 0 ? (-low + move.factor - 1) / move.factor : 0;
  return InnerZone{dim, move.factor, span.constant(), first,
                   floordiv(extent - 1 - low - span.constant(), move.factor) + 1};
}

}  // namespace

std::vector<SizeProduct> own_strides(const GridShape& shape, TensorId tensor, const SymbolicKernel& kernel) {
  const std::vector<AffineExpr>& extents = kernel.shapes[shape.tensors[tensor.index()].index()];
  std::vector<SizeProduct> strides(extents.size());
  for (std::size_t d = extents.size(); d-- > 1;) {
    strides[d - 1] = strides[d];
    if (extents[d].is_constant())
      strides[d - 1].number *= extents[d].constant();
    else
      strides[d - 1].factors.push_back(extents[d]);
  }
  return strides;
}

std::optional<PaddingZones> padding_zones(const GridShape& shape, const SymbolicKernel& kernel) {
  if (shape.padded.size() != 1) return std::nullopt;
  const auto& [tensor, copy] = *shape.padded.begin();
  const std::size_t t = tensor.index(), whole = shape.tensors[t].index();
  const bool is_rounded = copy.extents == shape.extents[t];
  if (is_rounded || !kernel.strides[whole].empty() || uses_of_element(shape, tensor) > few_uses) return std::nullopt;
  PaddingZones zones{tensor, {}};
  const std::vector<SizeProduct> own = own_strides(shape, tensor, kernel);
  for (std::size_t d = 0; d < copy.low.size(); ++d) {
    const SizeProduct& copied = shape.strides[t][d];
    if ((copied.is_number() || own[d].is_number()) &&
        (copied.is_number() != own[d].is_number() || copied.number != own[d].number))
      return std::nullopt;  // blocks have it as a number
    const AffineExpr& extent = kernel.shapes[whole][d];
    if (copy.low[d] == 0 && copy.extents[d] == extent) continue;
    const auto zone = inner_zone(shape, copy, shape.moves[t][d], d, extent);
    if (!zone || !zones.axes.emplace(shape.moves[t][d].axis, *zone).second) return std::nullopt;
  }
  return zones.axes.empty() ? std::nullopt : std::optional(zones);
}

}  // namespace isamap
