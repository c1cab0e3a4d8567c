// SPDX-License-Identifier: Apache-2.0
#include "program/strip_groups.h"

#include <algorithm>
#include <numeric>

namespace isamap {
namespace {

constexpr std::int64_t small_pass = 32 << 10;  // bytes that are read again without harm: they stay in the nearest cache
constexpr std::int64_t uses_in_strip = 128;    // of each element of larger tensors in a strip
constexpr std::int64_t largest_strip_tile = 256;  // rows

class StripFinder {
 public:
  StripFinder(const SymbolicKernel& kernel, const std::vector<const Grid*>& grids) : kernel_(kernel), grids_(grids) {}

  std::vector<StripGroup> run() {
    std::vector<StripGroup> groups;
    for (std::size_t first = 0; first < grids_.size(); first += groups.back().count) {
      StripGroup best{first, 1};
      for (std::size_t axis = 0; axis < axes_of_grid(first).size(); ++axis)
        if (StripGroup found = longest(first, static_cast<int>(axis)); found.count > best.count)
          best = std::move(found);
      groups.push_back(std::move(best));
    }
    return groups;
  }

 private:
  const std::vector<GridAxis>& axes_of_grid(std::size_t s) const { return grids_[s]->shape.axes; }
  const Computation& statement(std::size_t s) const { return grids_[s]->shape.kernel.statements[0]; }
  TensorId whole(std::size_t s, TensorId own) const { return grids_[s]->shape.tensors[own.index()]; }

  /// Subscript `d` of an access is the axis alone.
  bool is_axis(std::size_t s, const Access& access, std::size_t d, int axis) const {
    return access.index[d] == AffineExpr::dim(axes_of_grid(s)[static_cast<std::size_t>(axis)].dim) && !access.computed;
  }
  /// Copies whose sums are rounded up are made for whole tensors.
  bool may_join(std::size_t s, int axis) const {
    const GridShape& shape = grids_[s]->shape;
    if (shape.axes[static_cast<std::size_t>(axis)].reduced) return false;
    return std::all_of(shape.padded.begin(), shape.padded.end(), [&](const auto& padded) {
      const auto& [id, copy] = padded;
      return copy.extents != shape.extents[id.index()];
    });
  }

  StripGroup longest(std::size_t first, int axis) {
    StripGroup group{first, 0};
    const auto extent = affine_extent(axes_of_grid(first)[static_cast<std::size_t>(axis)]);
    if (!extent) return {first, 1};
    group.extent = *extent;
    if (!may_join(first, axis) || !join(first, axis, group)) return {first, 1};
    bool joined = true;
    while (joined && first + group.count < grids_.size()) {
      const std::size_t next = first + group.count;
      joined = false;
      for (std::size_t a = 0; a < axes_of_grid(next).size() && !joined; ++a)
        joined = affine_extent(axes_of_grid(next)[a]) == group.extent && may_join(next, static_cast<int>(a)) &&
                 join(next, static_cast<int>(a), group);
    }
    finish(group);
    return group;
  }

  /// False: it needs other rows of what the group writes, or is no consumer of it.
  bool join(std::size_t s, int axis, StripGroup& group) {
    bool consumes = group.count == 0;
    for (const Access& read : statement(s).reads) {
      const auto passed = written_.find(whole(s, read.tensor));
      if (group.count == 0 || passed == written_.end()) continue;
      const GridShape& shape = grids_[s]->shape;
      if (!is_axis(s, read, passed->second, axis) || shape.padded.contains(read.tensor)) return false;
      consumes = true;
    }
    const Access& write = statement(s).write;
    std::size_t d = 0;
    while (d < write.index.size() && !is_axis(s, write, d, axis)) ++d;
    if (!consumes || d == write.index.size()) return false;
    if (group.count == 0) written_.clear();
    written_[whole(s, write.tensor)] = d;
    group.axes.push_back(axis);
    ++group.count;
    return true;
  }

  void finish(StripGroup& group) const {
    const std::size_t end = group.first + group.count;
    const auto reads = [&](std::size_t s, TensorId tensor) {
      const auto& accesses = statement(s).reads;
      return std::any_of(accesses.begin(), accesses.end(),
                         [&](const Access& read) { return whole(s, read.tensor) == tensor; });
    };
    for (const auto& [tensor, d] : written_) {
      bool inside = false, outside = role_of(kernel_.sample, tensor) != Role::intermediate;
      for (std::size_t s = 0; s < grids_.size(); ++s)
        (s >= group.first && s < end ? inside : outside) |= reads(s, tensor);
      if (!inside) continue;
      group.passed[tensor] = d;
      if (!outside && d == 0) group.local.insert(tensor);
    }
    for (std::size_t n = 0; n < group.count; ++n) {
      const std::size_t s = group.first + n;
      const std::int64_t tile = axes_of_grid(s)[static_cast<std::size_t>(group.axes[n])].runs.front().tile;
      if (const std::int64_t both = std::lcm(group.tile, std::max<std::int64_t>(tile, 1)); both <= largest_strip_tile)
        group.tile = both;
      if (pays_by_tile(s, group.axes[n])) group.part = std::lcm(group.part, std::max<std::int64_t>(tile, 1));
      group.least = std::max(group.least, least_rows(s, group.axes[n]));
    }
    if (group.tile % group.part != 0) group.part = group.tile;
  }

  /// A row has more points than elements, as in a product, and a tile of rows pays by what it uses again; or rows are
  /// neighbours in memory.
  bool pays_by_tile(std::size_t s, int axis) const {
    const GridShape& shape = grids_[s]->shape;
    std::int64_t points = 1, most = 1;
    for (const Dim& dim : statement(s).domain.dims) points *= std::max<std::int64_t>(dim.extent, 1);
    for (std::size_t t = 0; t < shape.kernel.tensors.size(); ++t) {
      const auto& moves = shape.moves[t];
      if (moves.size() > 1 && moves.back().axis == axis) return true;
      if (std::any_of(moves.begin(), moves.end(), [&](const AxisMove& move) { return move.axis == axis; }))
        most = std::max(most, element_count(shape.kernel.tensors[t]));
    }
    return points > most;
  }

  /// Each element of large tensors without rows is to be used often in a strip.
  std::int64_t least_rows(std::size_t s, int axis) const {
    const GridShape& shape = grids_[s]->shape;
    std::int64_t points = 1, least = 1;
    for (const Dim& dim : statement(s).domain.dims)
      if (dim.name != shape.axes[static_cast<std::size_t>(axis)].dim) points *= std::max<std::int64_t>(dim.extent, 1);
    for (std::size_t t = 0; t < shape.kernel.tensors.size(); ++t) {
      const auto& moves = shape.moves[t];
      if (std::any_of(moves.begin(), moves.end(), [&](const AxisMove& move) { return move.axis == axis; })) continue;
      const Tensor& tensor = shape.kernel.tensors[t];
      const std::int64_t count = element_count(tensor);
      if (count * bytes(tensor.dtype) > small_pass)
        least = std::max(least, (uses_in_strip * count + points - 1) / points);
    }
    return least;
  }

  const SymbolicKernel& kernel_;
  const std::vector<const Grid*>& grids_;
  std::map<TensorId, std::size_t> written_;  ///< by the group that is tried: which axis is cut
};

}  // namespace

std::vector<StripGroup> strip_groups(const SymbolicKernel& kernel, const std::vector<const Grid*>& grids) {
  return StripFinder(kernel, grids).run();
}

std::int64_t threads_of_strips(const StripGroup& group, const std::vector<const Grid*>& grids) {
  std::int64_t threads = grids[group.first]->shares.threads;
  for (std::size_t s = group.first; s < group.first + group.count; ++s)
    threads = std::min(threads, grids[s]->shares.threads);
  return threads;
}

std::int64_t strip_rows(const StripGroup& group, const SymbolicKernel& kernel, const Bindings& sizes) {
  std::int64_t row_bytes = 1, tile = group.tile;
  for (const auto& [tensor, axis] : group.passed) {
    std::int64_t count = bytes(kernel.sample.tensors[tensor.index()].dtype);
    const std::vector<AffineExpr>& shape = kernel.shapes[tensor.index()];
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (d != axis) count *= evaluate(shape[d], sizes);
    row_bytes += count;
  }
  const std::int64_t rows = std::max(group.least, (strip_bytes + row_bytes / 2) / row_bytes);
  while (rows < tile && tile % (2 * group.part) == 0 && tile / 2 >= fewest_strip_rows) tile /= 2;
  return rows < tile ? tile : rows / tile * tile;
}

}  // namespace isamap
