// SPDX-License-Identifier: Apache-2.0
#include "driver/symbolic/tiles_of_nests.h"

#include <algorithm>
#include <numeric>
#include <variant>

#include "driver/symbolic/grid_builder.h"
#include "isamap/scheduler.h"

namespace isamap {
namespace {

/// The innermost loop over tiles of a dim alone; null: there is none.
TiledLoop* loop_over(Nest& nest, const std::string& dim, bool unrolled) {
  for (auto line = nest.lines.rbegin(); line != nest.lines.rend(); ++line)
    if (auto* loop = std::get_if<For>(&line->is);
        loop != nullptr && loop->unroll == unrolled && loop->loops.size() == 1 && loop->loops[0].dim == dim)
      return &loop->loops[0];
  return nullptr;
}

/// Copies that lie tile by tile, `[i/80, i%80]`, do so with the new tile.
void retile(Nest& nest, const std::string& dim, std::int64_t before, std::int64_t tile) {
  const AffineExpr position = AffineExpr::dim(dim);
  for (Line& line : nest.lines) {
    auto* stage = std::get_if<Stage>(&line.is);
    if (stage == nullptr) continue;
    for (LayoutDigit& digit : stage->layout) {
      if (digit.index == floordiv(position, before)) digit.index = floordiv(position, tile);
      if (digit.index == mod(position, before)) digit.index = mod(position, tile);
    }
  }
}

}  // namespace

bool is_in_lanes(const Nest& nest, const std::string& dim) {
  const auto has = [&](const Digit& digit) { return digit.column.names().contains(dim); };
  return std::any_of(nest.lines.begin(), nest.lines.end(), [&](const Line& line) {
    const auto* instruction = std::get_if<Do>(&line.is);
    return instruction != nullptr &&
           std::any_of(instruction->dims.begin(), instruction->dims.end(),
                       [&](const auto& of) { return std::any_of(of.second.begin(), of.second.end(), has); });
  });
}

bool is_in_lanes(const Schedule& schedule, const std::string& dim) {
  return std::any_of(schedule.nests.begin(), schedule.nests.end(),
                     [&](const Nest& nest) { return is_in_lanes(nest, dim); });
}

Schedule with_vector_tiles(const GridShape& shape, Schedule schedule) {
  if (schedule.lanes.empty() || schedule.nests.size() != 2) return schedule;
  Nest &of_parts = schedule.nests[0], &of_sums = schedule.nests[1];
  for (const GridAxis& axis : shape.axes) {
    TiledLoop *const parts = loop_over(of_parts, axis.dim, false), *const sums = loop_over(of_sums, axis.dim, false);
    if (axis.reduced || parts == nullptr || sums == nullptr || !is_in_lanes(of_sums, axis.dim)) continue;
    const TiledLoop* const vectors = loop_over(of_sums, axis.dim, true);
    const std::int64_t vector = vectors != nullptr ? vectors->tile : sums->tile;
    if (std::lcm(parts->tile, sums->tile) <= vector || sums->tile % vector != 0) continue;
    retile(of_sums, axis.dim, sums->tile, vector);
    sums->tile = vector;
    parts->tile = std::min(parts->tile, vector);
    std::erase_if(of_sums.lines, [&](const Line& line) {
      const auto* loop = std::get_if<For>(&line.is);
      return vectors != nullptr && loop != nullptr && loop->unroll &&
             loop->loops == std::vector<TiledLoop>{{axis.dim, vector}};
    });
  }
  return schedule;
}

Schedule with_common_tiles(const GridShape& shape, const Schedule& schedule, const HardwareModel& model) {
  if (schedule.nests.size() < 2) return schedule;
  Schedule common = schedule;
  for (const GridAxis& axis : shape.axes) {
    std::vector<TiledLoop*> innermost;  // of each nest that walks the axis
    for (Nest& nest : common.nests) {
      TiledLoop* found = nullptr;
      for (Line& line : nest.lines)
        if (auto* loop = std::get_if<For>(&line.is); loop != nullptr && !loop->unroll)
          for (TiledLoop& tiled : loop->loops)
            if (tiled.dim == axis.dim) found = &tiled;
      if (found != nullptr) innermost.push_back(found);
    }
    std::int64_t largest = 1;
    for (const TiledLoop* tiled : innermost) largest = std::max(largest, tiled->tile);
    for (TiledLoop* tiled : innermost)
      while (largest % tiled->tile != 0) --tiled->tile;
  }
  if (common == schedule) return schedule;
  const bool is_legal = !has_errors(verify(common, block_kernel(shape, likely_counts(shape), false), model));
  return is_legal ? common : schedule;
}

}  // namespace isamap
