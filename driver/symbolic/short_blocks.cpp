// SPDX-License-Identifier: Apache-2.0
#include "driver/symbolic/short_blocks.h"

#include <algorithm>

#include "program/shared_copies.h"
#include "program/short_tiles.h"

namespace isamap {
namespace {

constexpr double short_tiles_worth = 1.05;  // cycles of a block with short tiles by those of a block for the cell alone

bool has_one_tile_and_masks(const GridAxis& axis) {
  const std::vector<DimRun>& runs = axis.runs;
  return !axis.reduced && runs.size() > 1 && runs[0].tile > 1 && runs[1].tile == 0 &&
         std::any_of(runs.begin(), runs.end(), [](const DimRun& run) { return run.low < run.high; });
}

const DimRun& run_of(const Grid& grid, std::size_t cell, std::size_t axis) {
  const std::vector<GridAxis>& axes = grid.shape.axes;
  for (std::size_t a = axes.size(); a-- > axis + 1;) cell /= axes[a].runs.size();
  return axes[axis].runs[cell % axes[axis].runs.size()];
}

/// The last parallel axis with one tile and masks, if the cell has what tiles of another one leave.
std::optional<std::size_t> axis_of(const Grid& grid, std::size_t cell) {
  const std::vector<GridAxis>& axes = grid.shape.axes;
  for (std::size_t a = axes.size(); a-- > 0;) {
    if (!has_one_tile_and_masks(axes[a])) continue;
    for (std::size_t other = 0; other < axes.size(); ++other)
      if (other != a && !axes[other].reduced && axes[other].runs[0].tile > 1 && run_of(grid, cell, other).tile == 0)
        return a;
    return std::nullopt;
  }
  return std::nullopt;
}

/// The cell with the first run along some axes.
std::size_t with_first_runs(const Grid& grid, std::size_t cell, const std::function<bool(std::size_t)>& first) {
  std::size_t number = 0, rest = block_count(grid);
  for (std::size_t a = 0; a < grid.shape.axes.size(); ++a) {
    const std::size_t runs = grid.shape.axes[a].runs.size();
    rest /= runs;
    number = number * runs + (first(a) ? 0 : cell / rest % runs);
  }
  return number;
}

}  // namespace

std::optional<std::size_t> cell_of_short_tiles(const Grid& grid, std::size_t cell) {
  const auto axis = axis_of(grid, cell);
  if (!axis) return std::nullopt;
  return with_first_runs(grid, cell, [&](std::size_t a) { return a == *axis; });
}

std::optional<Block> ShortBlocks::serving(std::size_t cell, bool adding) {
  const auto axis = axis_of(grid_, cell);
  if (!axis) return std::nullopt;
  const std::size_t tiles = with_first_runs(grid_, cell, [&](std::size_t a) { return a == *axis; });
  const auto [known, is_new] = made_.try_emplace({tiles, adding});
  if (is_new) known->second = made(tiles, *axis, adding);
  if (!known->second || !is_worth(cell, *axis, *known->second)) return std::nullopt;
  std::optional<Block> block = known->second;
  known->second->repeated = true;
  return block;
}

/// By the cheapest schedule that allows it.
std::optional<Block> ShortBlocks::made(std::size_t cell, std::size_t axis, bool adding) const {
  for (const Schedule* schedule : work_.by_price(cell))
    if (auto block = work_.block(cell, adding, *schedule))
      if (auto shorter = with_short_tiles(std::move(*block), grid_.shape, axis, run_of(grid_, cell, axis).tile, model_))
        return shorter;
  return std::nullopt;
}

bool ShortBlocks::is_worth(std::size_t cell, std::size_t axis, const Block& block) const {
  PricedCell priced = work_.priced(cell);
  const auto cycles = [&](const Schedule& schedule) {
    return cell_cycles(schedule, grid_, priced.counts, priced.before, work_.costs);
  };
  const Schedule& own = *work_.by_price(cell).front();
  if (run_of(grid_, cell, axis).tile > 0 && (own == block.schedule || shares_copies(cell, axis, block))) return true;
  if (run_of(grid_, cell, axis).tile == 0) priced.counts[axis] = run_of(grid_, cell, axis).high;
  const double alone = cycles(own);
  if (run_of(grid_, cell, axis).tile == 0) priced.counts[axis] = grid_.shape.axes[axis].runs[0].tile;
  return cycles(block.schedule) <= short_tiles_worth * alone;
}

/// Does it read the copies that tiles of all axes share?
bool ShortBlocks::shares_copies(std::size_t cell, std::size_t axis, const Block& block) const {
  const auto others = [&](std::size_t a) { return a != axis && !grid_.shape.axes[a].reduced; };
  const Block& whole = grid_.blocks[with_first_runs(grid_, cell, others)];
  if (whole.program.buffers.empty()) return false;
  const std::vector<SharedCopy> copies = shared_copies(whole, grid_.shape);
  return std::all_of(copies.begin(), copies.end(), [&](const SharedCopy& copy) {
    const auto found = block.panels.find(copy.tensor);
    return found != block.panels.end() && copies_panels(whole, grid_.shape, copy.tensor, found->second);
  });
}

}  // namespace isamap
