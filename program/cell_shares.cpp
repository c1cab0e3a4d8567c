// SPDX-License-Identifier: Apache-2.0
#include "program/cell_shares.h"

#include <algorithm>

namespace isamap {
namespace {

/// An axis that may be cut.
struct CutAxis {
  std::int64_t extent = 0, tile = 1, shares = 1;
  double part() const {  // of the longest share
    if (extent <= 0) return 1;
    const std::int64_t tiles = (extent + tile - 1) / tile;
    return static_cast<double>(std::min(extent, (tiles + shares - 1) / shares * tile)) / static_cast<double>(extent);
  }
};

struct CutCost {
  double cycles = 0;
  std::set<int> axes;
};

double longest_share(const std::map<int, CutAxis>& axes, const std::vector<CutCost>& costs) {
  double sum = 0;
  for (const CutCost& cost : costs) {
    double cycles = cost.cycles;
    for (const auto& [number, axis] : axes)
      if (cost.axes.contains(number)) cycles *= axis.part();
    sum += cycles;
  }
  return sum;
}

std::int64_t largest_prime_factor(std::int64_t of) {
  for (std::int64_t d = 2; d * d <= of; ++d)
    while (of % d == 0 && of > d) of /= d;
  return of;
}

/// The rule of `distribute` in emitted programs (backends/cpp/symbolic/shared_cells.cpp); a test compares them.
void distribute(std::map<int, CutAxis>& axes, const std::vector<CutCost>& costs, std::int64_t threads, double start) {
  const double alone = longest_share(axes, costs);
  if (alone <= start) return;
  double least = alone;
  for (std::int64_t left = threads; left > 1;) {
    const std::int64_t factor = largest_prime_factor(left);
    left /= factor;
    CutAxis* best = nullptr;
    for (auto& [number, axis] : axes) {
      axis.shares *= factor;
      const double cycles = longest_share(axes, costs);
      axis.shares /= factor;
      if (cycles < least) least = cycles, best = &axis;
    }
    if (best != nullptr) best->shares *= factor;
  }
  if (least + start < alone) return;
  for (auto& [number, axis] : axes) axis.shares = 1;
}

/// Where a stretch begins that leaves `before` of all positions behind it.
std::int64_t cut(const CountedRuns& runs, const GridAxis& axis, std::int64_t before) {
  std::int64_t at = 0;
  for (const auto& [run, count] : runs) {
    const std::int64_t tile = axis.runs[run].tile > 0 ? axis.runs[run].tile : count;
    if (before < at + count) return at + (before - at + tile / 2) / tile * tile;
    at += count;
  }
  return at;
}

}  // namespace

double cycles_at(const SharedCost& cost, const Bindings& sizes) {
  return cost.cycles * static_cast<double>(evaluate(cost.count, sizes));
}

std::vector<std::int64_t> shares_at(const Grid& grid, const Bindings& sizes) {
  std::vector<std::int64_t> shares(grid.shape.axes.size(), 1);
  if (grid.shares.threads < 2) return shares;
  std::map<int, CutAxis> axes;
  for (const auto& [number, tile] : grid.shares.tiles)
    axes[number] = {evaluate(grid.shape.axes[static_cast<std::size_t>(number)].extent, sizes), tile};
  std::vector<CutCost> costs;
  for (const SharedCost& cost : grid.shares.costs) costs.push_back({cycles_at(cost, sizes), cost.axes});
  distribute(axes, costs, grid.shares.threads, grid.shares.start);
  for (const auto& [number, axis] : axes) shares[static_cast<std::size_t>(number)] = axis.shares;
  return shares;
}

std::int64_t shares_of(std::int64_t tiles, double cycles, std::int64_t threads, double start) {
  std::map<int, CutAxis> axes{{0, {tiles, 1}}};
  distribute(axes, {{cycles, {0}}}, threads, start);
  return axes[0].shares;
}

CountedRuns stretch_of(const CountedRuns& runs, const GridAxis& axis, std::int64_t number, std::int64_t count) {
  std::int64_t all = 0, at = 0;
  for (const auto& [run, positions] : runs) all += positions;
  const std::int64_t begin = cut(runs, axis, all * number / count), end = cut(runs, axis, all * (number + 1) / count);
  CountedRuns stretch;
  for (const auto& [run, positions] : runs) {
    const std::int64_t low = std::max(at, begin), high = std::min(at + positions, end);
    if (low < high) stretch.emplace_back(run, high - low);
    at += positions;
  }
  return stretch;
}

}  // namespace isamap
