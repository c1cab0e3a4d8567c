// SPDX-License-Identifier: Apache-2.0
#include "driver/grid_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "backends/cpp/block_unit.h"
#include "isamap/scheduler.h"
#include "program/masked_blocks.h"
#include "program/shared_copies.h"
#include "program/tile_loops.h"

namespace isamap {
namespace {

// Steps of loops over tiles when they are lowered: more than compilers unroll.
constexpr std::int64_t kBlockSteps[] = {32, 8};
constexpr std::int64_t kLargestBlockTile = 4096;
constexpr std::int64_t kMostBlockRests = 128;  // positions that the smallest tile leaves
constexpr std::size_t kMostBlocks = 600;
constexpr std::int64_t kMostRounded = 64;  // positions of a sum that an instruction takes at once
constexpr int kShiftedSamples = 4;         // tried where extents of a masked block cannot be told from others
constexpr double kCellCycles = 25;         // of a call through the table of blocks

using BlockCounts = std::vector<std::int64_t>;

/// The order of the schedule's loops; reduced axes are innermost where it has none.
std::vector<int> order_of(const Schedule& schedule, const std::vector<GridAxis>& axes) {
  std::vector<int> order;
  const auto add = [&](std::size_t axis) {
    if (const int a = static_cast<int>(axis); std::find(order.begin(), order.end(), a) == order.end())
      order.push_back(a);
  };
  for (const Nest& nest : schedule.nests)
    for (const Line& line : nest.lines)
      if (const auto* loop = std::get_if<For>(&line.is))
        for (const TiledLoop& tiled : loop->loops)
          for (std::size_t axis = 0; axis < axes.size(); ++axis)
            if (tiled.dim == axes[axis].dim) add(axis);
  for (const bool reduced : {false, true})
    for (std::size_t axis = 0; axis < axes.size(); ++axis)
      if (axes[axis].reduced == reduced) add(axis);
  return order;
}

/// Without runs that no extent has; what is left counts no more than the largest one. The first run of a sum starts it
/// over no terms, too.
std::vector<DimRun> reachable_runs(const GridAxis& axis) {
  std::vector<DimRun> runs;
  for (const DimRun& run : axis.runs)
    if ((axis.reduced && runs.empty()) || axis.most < 0 || std::max(run.tile, run.low) <= axis.most)
      runs.push_back(run);
  if (runs.empty()) runs.push_back({1, 0, 0});
  for (DimRun& run : runs)
    if (run.tile == 0 && axis.most >= 0) run.high = std::min(run.high, axis.most);
  return runs;
}

/// Tiles of a dim in the schedule, the largest first.
BlockCounts tiles_of(const Schedule& schedule, const std::string& dim) {
  std::set<std::int64_t, std::greater<>> tiles{1};
  for (const VectorizedReduction& lanes : schedule.lanes)
    if (lanes.dim == dim) tiles.insert(lanes.lanes * lanes.depth);
  for (const Nest& nest : schedule.nests)
    for (const Line& line : nest.lines)
      if (const auto* loop = std::get_if<For>(&line.is))
        for (const TiledLoop& tiled : loop->loops)
          if (tiled.dim == dim && tiled.tile <= kLargestBlockTile) tiles.insert(tiled.tile);
  return {tiles.begin(), tiles.end()};
}

/// Pairs and quads of narrow operands leave no rests of sums.
void round_up_sums(GridShape& shape) {
  const auto& reads = shape.kernel.statements[0].reads;
  if (!std::all_of(reads.begin(), reads.end(),
                   [&](const Access& read) { return bytes(shape.kernel.tensors[read.tensor.index()].dtype) <= 2; }))
    return;
  for (std::size_t axis = 0; axis < shape.axes.size(); ++axis) {
    const std::int64_t tile = shape.axes[axis].runs.back().tile;
    if (tile == 1 || tile > kMostRounded || shape.axes[axis].multiple % tile == 0) continue;
    if (auto rounded = rounded_up(shape, axis, tile)) shape = std::move(*rounded);
  }
}

/// What the smallest tile leaves are multiples of this.
std::int64_t rest_step_of(const GridAxis& axis) {
  std::int64_t step = axis.multiple;
  for (const DimRun& run : axis.runs) step = std::gcd(step, run.tile);
  return step;
}

/// Of a run without tiles: the number of positions that its block is lowered for, one in the middle, or one after it.
std::int64_t sample_of(const DimRun& run, std::int64_t step, std::int64_t shift = 0) {
  return run.low + ((run.high - run.low) / 2 / step + shift) % ((run.high - run.low) / step + 1) * step;
}

/// Axes along which the copies that the schedule packs first are the same: cells that differ there share them.
std::vector<bool> shared_axes(const Schedule& schedule, const GridShape& shape, const HardwareModel& model) {
  std::vector<bool> shared(shape.axes.size(), false);
  const Kernel& kernel = shape.kernel;
  for (const Line& line : schedule.nests.empty() ? std::vector<Line>{} : schedule.nests[0].lines) {
    const auto* stage = std::get_if<Stage>(&line.is);
    if (stage == nullptr) break;
    const auto memory = model.find_memory(stage->memory);
    if (!memory || model.memory(*memory).kind == MemoryKind::register_file) break;
    for (std::size_t t = 0; t < kernel.tensors.size(); ++t) {
      if (kernel.tensors[t].name != stage->tensor || role_of(kernel, make_id<TensorId>(t)) != Role::input) continue;
      const std::vector<int> axes = axes_of(shape, make_id<TensorId>(t));
      for (std::size_t axis = 0; axis < shared.size(); ++axis)
        if (std::find(axes.begin(), axes.end(), static_cast<int>(axis)) == axes.end()) shared[axis] = true;
    }
  }
  return shared;
}

/// Cycles of a block that begins `before` positions along an axis later, after the block of those.
std::optional<double> cycles_after(const Schedule& schedule, const GridShape& shape, BlockCounts counts,
                                   std::pair<std::size_t, std::int64_t> before, bool adds, const HardwareModel& model,
                                   const CostModelFactory& costs) {
  counts[before.first] += before.second;
  const auto both = evaluate(schedule, block_kernel(shape, counts, adds), model, costs);
  counts[before.first] = before.second;
  const auto first = evaluate(schedule, block_kernel(shape, counts, adds), model, costs);
  if (!both || !first) return std::nullopt;
  return std::max(0.0, both->total.cycles - first->total.cycles);
}

class GridBuilder {
 public:
  GridBuilder(const GridShape& shape, const HardwareModel& model, const CompileOptions& options,
              const GridSchedules& schedules)
      : model_(model), options_(options), schedules_(schedules) {
    grid_.shape = shape;
    grid_.schedule = schedules.main;
  }

  Result<Grid> run() {
    for (std::size_t axis = 0; axis < axes().size(); ++axis)
      tiles_.push_back(tiles_of(grid_.schedule, axes()[axis].dim));
    if (!find_tiles()) return std::move(why_);
    round_up_sums(grid_.shape);
    for (std::size_t axis = 0; axis < axes().size(); ++axis) rest_steps_.push_back(rest_step_of(axes()[axis]));
    for (std::size_t axis = 0; axis < axes().size(); ++axis)
      if (!add_rests(axis)) return std::move(why_);
    for (GridAxis& axis : axes()) axis.runs = reachable_runs(axis);
    if (block_count(grid_) * 2 > kMostBlocks)
      return refused(
          fmt::format("its tiles leave {} blocks of rests; at most {} are made", block_count(grid_), kMostBlocks / 2));
    const bool adds = std::any_of(axes().begin(), axes().end(),
                                  [](const GridAxis& axis) { return axis.reduced && axis.runs.size() > 1; });
    for (const bool adding : {false, true})
      for (std::size_t cell = 0; (!adding || adds) && cell < block_count(grid_); ++cell)
        if (!add_block(cell, adding)) return std::move(why_);
    grid_.order = order_of(grid_.schedule, axes());
    if (auto problems = unprintable_blocks(grid_, model_); !problems.empty()) return problems;
    return std::move(grid_);
  }

 private:
  std::vector<GridAxis>& axes() { return grid_.shape.axes; }
  const std::vector<GridAxis>& axes() const { return grid_.shape.axes; }
  const Diagnostics& refused(const std::string& why) {
    why_ = {error(why)};
    return why_;
  }

  std::optional<Program> lowered(const Schedule& schedule, const BlockCounts& counts, bool adds) const {
    const Kernel kernel = block_kernel(grid_.shape, counts, adds);
    if (has_errors(verify(kernel)) || has_errors(verify(schedule, kernel, model_))) return std::nullopt;
    auto program = lower(schedule, kernel, model_);
    if (!program || !program->prepack.empty()) return std::nullopt;
    if (options_.strict_float && !program->assumptions.empty()) return std::nullopt;
    program->sums_in_order = program->library_functions = options_.strict_float;
    return std::move(*program);
  }

  /// Positions of some tiles: below the next larger tile of the schedule, whose loop is gone then.
  std::int64_t walked(std::size_t axis, std::int64_t tile, std::int64_t steps) const {
    std::int64_t count = steps * tile;
    for (const std::int64_t larger : tiles_[axis])
      if (larger > tile && larger % tile == 0) count = std::min(count, larger);
    return count;
  }

  /// A block whose axes all are walked, with these tiles.
  bool walks(const BlockCounts& tiles) const {
    for (const std::int64_t steps : kBlockSteps) {
      BlockCounts counts;
      for (std::size_t axis = 0; axis < axes().size(); ++axis) counts.push_back(walked(axis, tiles[axis], steps));
      const auto program = lowered(grid_.schedule, counts, false);
      if (program && tile_loops(*program, model_, grid_.shape, counts, tiles)) return true;
    }
    return false;
  }

  /// Runs of tiles: for each axis the largest tile that is walked, and the smallest.
  bool find_tiles() {
    BlockCounts largest;
    for (const BlockCounts& tiles : tiles_)
      largest.push_back(
          std::accumulate(tiles.begin(), tiles.end(), std::int64_t{1}, [](auto a, auto b) { return std::lcm(a, b); }));
    if (!walks(largest)) {
      std::string dims;
      for (const GridAxis& axis : axes()) dims += (dims.empty() ? "" : ", ") + axis.dim;
      refused("no loops of the schedule take any number of tiles of " + dims);
      return false;
    }
    for (std::size_t axis = 0; axis < axes().size(); ++axis) {
      std::int64_t smallest = largest[axis];
      for (const std::int64_t tile : tiles_[axis]) {
        BlockCounts tried = largest;
        tried[axis] = tile;
        if (tile < smallest && walks(tried)) smallest = tile;
      }
      axes()[axis].runs = {{largest[axis], 0, 0}};
      if (smallest != largest[axis]) axes()[axis].runs.push_back({smallest, 0, 0});
    }
    return true;
  }

  /// What the smallest tile leaves are multiples of this.
  std::int64_t rest_step(std::size_t axis) const { return rest_steps_[axis]; }
  /// Blocks for what the smallest tile of an axis leaves: one for several numbers where only masks differ.
  bool add_rests(std::size_t axis) {
    std::vector<DimRun>& runs = axes()[axis].runs;
    const std::int64_t tile = runs.back().tile;
    if (tile - 1 > kMostBlockRests) {
      refused(fmt::format("tiles of {} positions along {} leave too many rests", tile, axes()[axis].dim));
      return false;
    }
    const std::size_t tiles = runs.size();
    std::optional<Program> last;
    const std::int64_t step = rest_step(axis);
    for (std::int64_t rest = step; rest < tile; rest += step) {
      std::optional<Program> program = rest_program(axis, rest);
      if (!program) {  // position by position
        runs.resize(tiles);
        runs.push_back({1, 0, 0});
        return true;
      }
      DimRun* const before = &runs.back();
      if (last && differ_in_extents(*last, *program, step)) {
        before->high = rest;
        // One lane alone is found in other ways; a mask of fewer lanes serves it, too.
        if (before->low == 2 && rest == 3 && runs.size() > tiles + 1) runs.erase(runs.end() - 2), runs.back().low = 1;
      } else {
        runs.push_back({0, rest, rest});
      }
      last = std::move(program);
    }
    return true;
  }
  /// By the first schedule that lowers; none: the scalar one alone does.
  std::optional<Program> rest_program(std::size_t axis, std::int64_t rest) const {
    BlockCounts counts = walked_counts();
    counts[axis] = rest;
    std::optional<Program> program;
    for (const auto* list : {&schedules_.rests, &schedules_.others})
      for (std::size_t n = 0; n < list->size() && !program; ++n) program = lowered((*list)[n], counts, false);
    return program;
  }
  BlockCounts walked_counts() const {
    BlockCounts counts;
    for (const GridAxis& axis : axes()) counts.push_back(kBlockSteps[0] * axis.runs.front().tile);
    return counts;
  }

  const DimRun& run_of(std::size_t cell, std::size_t axis) const {
    for (std::size_t a = axes().size(); a-- > axis + 1;) cell /= axes()[a].runs.size();
    return axes()[axis].runs[cell % axes()[axis].runs.size()];
  }

  /// The first cell along all reduced axes never adds.
  bool only_starts(std::size_t cell) const {
    for (std::size_t axis = 0; axis < axes().size(); ++axis)
      if (axes()[axis].reduced && &run_of(cell, axis) != &axes()[axis].runs.front()) return false;
    return true;
  }

  bool add_block(std::size_t cell, bool adding) {
    if (adding && only_starts(cell)) {
      grid_.blocks.emplace_back();
      return true;
    }
    BlockCounts tiles;
    for (std::size_t axis = 0; axis < axes().size(); ++axis) tiles.push_back(run_of(cell, axis).tile);
    for (const Schedule* schedule : schedules_of(cell, tiles))
      if (add_block(cell, tiles, adding, *schedule)) return true;
    for (const Schedule& schedule : schedules_.others)
      if (add_block(cell, tiles, adding, schedule)) return true;
    // Loops over single elements may have any trip, also where other blocks have masks.
    for (std::size_t axis = 0; axis < axes().size(); ++axis)
      if (const DimRun& run = run_of(cell, axis); run.low != run.high) tiles[axis] = 1;
    if (add_block(cell, tiles, adding, schedules_.scalar)) return true;
    refused("a block of rests does not lower");
    return false;
  }
  /// In the order in which they are tried. Copies are worth their time where all axes have many positions.
  std::vector<const Schedule*> schedules_of(std::size_t cell, const BlockCounts& tiles) const {
    std::vector<const Schedule*> schedules = by_price(cell, tiles);
    const bool all_tiles = std::find(tiles.begin(), tiles.end(), 0) == tiles.end();
    if (all_tiles) schedules.insert(schedules.begin(), &grid_.schedule);
    return schedules;
  }
  /// The schedules for rests, the cheapest first where the other axes have their likely extents.
  std::vector<const Schedule*> by_price(std::size_t cell, const BlockCounts& tiles) const {
    const IterationDomain& likely = grid_.shape.kernel.statements[0].domain;
    BlockCounts counts;
    for (std::size_t axis = 0; axis < axes().size(); ++axis) {
      const std::int64_t extent = likely.dims[static_cast<std::size_t>(likely.find(axes()[axis].dim))].extent;
      counts.push_back(tiles[axis] > 0 ? tiles[axis] * std::max<std::int64_t>(1, extent / tiles[axis])
                                       : sample_of(run_of(cell, axis), rest_step(axis)));
    }
    const Kernel kernel = block_kernel(grid_.shape, counts, false);
    if (schedules_.rests.size() < 2)
      return schedules_.rests.empty() ? std::vector<const Schedule*>{} : std::vector{&schedules_.rests[0]};
    const auto before = shared_before(cell);
    std::vector<std::pair<double, const Schedule*>> priced;
    for (const Schedule& schedule : schedules_.rests) {
      const bool legal = !has_errors(verify(schedule, kernel, model_));
      const auto cost =
          legal ? evaluate(schedule, kernel, model_, options_.schedule.costs) : Result<Evaluation>(Diagnostics{});
      double cycles = cost ? cost->total.cycles : std::numeric_limits<double>::max();
      if (cost && before && schedule == grid_.schedule)
        cycles = std::min(cycles,
                          cycles_after(schedule, grid_.shape, counts, *before, false, model_, options_.schedule.costs)
                              .value_or(cycles));
      priced.emplace_back(cycles, &schedule);
    }
    std::stable_sort(priced.begin(), priced.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<const Schedule*> schedules;
    for (const auto& [cycles, schedule] : priced) schedules.push_back(schedule);
    return schedules;
  }

  /// Where the tiles before a cell of rests pack what it needs, too: along which axis, and how many there likely are.
  std::optional<std::pair<std::size_t, std::int64_t>> shared_before(std::size_t cell) const {
    const std::vector<bool> shared = shared_axes(grid_.schedule, grid_.shape, model_);
    const IterationDomain& likely = grid_.shape.kernel.statements[0].domain;
    for (std::size_t axis = 0; axis < axes().size(); ++axis) {
      if (!shared[axis] || &run_of(cell, axis) == &axes()[axis].runs.front()) continue;
      const std::int64_t tile = axes()[axis].runs.front().tile,
                         extent = likely.dims[static_cast<std::size_t>(likely.find(axes()[axis].dim))].extent;
      if (extent >= tile) return std::pair(axis, extent / tile * tile);
    }
    return std::nullopt;
  }

  bool add_block(std::size_t cell, const BlockCounts& tiles, bool adding, const Schedule& schedule) {
    for (const std::int64_t steps : kBlockSteps) {
      bool ambiguous = true;
      for (int shift = 0; ambiguous && shift < kShiftedSamples; ++shift) {
        BlockCounts counts;
        for (std::size_t axis = 0; axis < axes().size(); ++axis)
          counts.push_back(tiles[axis] > 0 ? walked(axis, tiles[axis], steps)
                                           : sample_of(run_of(cell, axis), rest_step(axis), shift));
        auto program = lowered(schedule, counts, adding);
        if (!program) break;
        auto loops = tile_loops(*program, model_, grid_.shape, counts, tiles);
        if (!loops) break;
        Block block{std::move(*program), schedule, std::move(loops->loops), std::move(loops->grown), {}};
        ambiguous = false;
        if (!add_masks(cell, counts, tiles, adding, block, ambiguous)) continue;
        grid_.blocks.push_back(std::move(block));
        return true;
      }
    }
    return false;
  }

  /// Every number that a masked run serves gives the same block but for extents. `ambiguous`: not known which ones.
  bool add_masks(std::size_t cell, const BlockCounts& counts, const BlockCounts& tiles, bool adding, Block& block,
                 bool& ambiguous) const {
    for (std::size_t axis = 0; axis < axes().size(); ++axis) {
      const DimRun& run = run_of(cell, axis);
      if (tiles[axis] > 0 || run.low == run.high) continue;
      const std::int64_t step = rest_step(axis), sample = counts[axis];
      for (const std::int64_t rest : {run.low, run.low + step, run.high}) {
        if (rest == run.low + step && run.low != 1) continue;  // the ends; neighbours were compared for the run
        // One lane alone may be found along another axis of one position; a mask of fewer lanes computes fewer.
        if (rest == sample || rest == 1) continue;
        BlockCounts other = counts;
        other[axis] = rest;
        const auto program = lowered(block.schedule, other, adding);
        const auto extents = program ? masked_extents(block.program, *program, rest - sample) : std::nullopt;
        ambiguous = !extents && program && differ_in_extents(block.program, *program, rest - sample);
        if (!extents) return false;
        for (const std::int64_t extent : *extents) {
          const std::pair<int, std::int64_t> from{static_cast<int>(axis), sample - extent};
          ambiguous = block.masked.emplace(extent, from).first->second != from;
          if (ambiguous) return false;
        }
      }
    }
    return true;
  }

  const HardwareModel& model_;
  const CompileOptions& options_;
  const GridSchedules& schedules_;
  Grid grid_;
  std::vector<BlockCounts> tiles_;
  BlockCounts rest_steps_;
  Diagnostics why_;
};

/// How many positions each run of an axis has: what the entry of the program computes.
std::vector<std::pair<std::size_t, std::int64_t>> runs_at(const GridAxis& axis, std::int64_t extent) {
  std::vector<std::pair<std::size_t, std::int64_t>> runs;
  std::int64_t left = extent;
  for (std::size_t r = 0; r < axis.runs.size(); ++r) {
    const DimRun& run = axis.runs[r];
    const std::int64_t count = run.tile > 0                          ? left / run.tile * run.tile
                               : run.low <= left && left <= run.high ? left
                                                                     : 0;
    if (count > 0) runs.emplace_back(r, count);
    left -= count;
  }
  return runs;
}

}  // namespace

Result<Grid> build_grid(const GridShape& shape, const HardwareModel& model, const CompileOptions& options,
                        const GridSchedules& schedules) {
  return GridBuilder(shape, model, options, schedules).run();
}

Grid limited_to(const Grid& grid, const std::vector<std::int64_t>& most) {
  Grid limited = grid;
  limited.blocks.clear();
  std::vector<GridAxis>& axes = limited.shape.axes;
  std::vector<std::vector<std::size_t>> kept;  // runs
  for (std::size_t a = 0; a < axes.size(); ++a) {
    axes[a].most = most[a];
    const std::vector<DimRun> runs = reachable_runs(axes[a]);
    auto& numbers = kept.emplace_back();
    for (std::size_t r = 0; r < axes[a].runs.size(); ++r) {
      const DimRun& run = axes[a].runs[r];
      const auto alike = [&](const DimRun& one) { return one.tile == run.tile && one.low == run.low; };
      if (std::any_of(runs.begin(), runs.end(), alike)) numbers.push_back(r);
    }
    if (numbers.size() != runs.size()) return grid;  // nothing is left of it
    axes[a].runs = runs;
  }
  const std::size_t cells = block_count(limited);
  for (const std::size_t adding : {std::size_t{0}, block_count(grid)})
    for (std::size_t cell = 0; cell < cells && adding < grid.blocks.size(); ++cell) {
      std::size_t number = 0, rest = cells;
      for (std::size_t a = 0; a < axes.size(); ++a) {
        rest /= kept[a].size();
        number = number * grid.shape.axes[a].runs.size() + kept[a][cell / rest % kept[a].size()];
      }
      limited.blocks.push_back(grid.blocks[adding + number]);
    }
  return limited;
}

Result<Cost> cost_of(const Grid& grid, const HardwareModel& model, const CostModelFactory& costs,
                     const Bindings& sizes) {
  const std::vector<GridAxis>& axes = grid.shape.axes;
  std::vector<std::vector<std::pair<std::size_t, std::int64_t>>> runs;
  std::size_t cells = 1;
  for (const GridAxis& axis : axes) {
    runs.push_back(runs_at(axis, evaluate(axis.extent, sizes)));
    cells *= runs.back().size();
  }
  std::vector<Cost> all;
  const std::vector<bool> shared = shared_axes(grid.schedule, grid.shape, model);
  for (std::size_t cell = 0; cell < cells; ++cell) {
    std::size_t number = 0, rest = cells;
    BlockCounts counts;
    bool adds = false;
    std::optional<std::pair<std::size_t, std::int64_t>> before;
    for (std::size_t a = 0; a < axes.size(); ++a) {
      rest /= runs[a].size();
      const std::size_t at = cell / rest % runs[a].size();
      number = number * axes[a].runs.size() + runs[a][at].first;
      counts.push_back(runs[a][at].second);
      adds = adds || (axes[a].reduced && at > 0);
      if (shared[a] && at > 0 && !before && runs[a][0].first == 0) before = std::pair(a, runs[a][0].second);
    }
    const Block& block = grid.blocks[number + (adds ? block_count(grid) : 0)];
    const auto cost = evaluate(block.schedule, block_kernel(grid.shape, counts, adds), model, costs);
    if (!cost) return cost.diagnostics();
    all.push_back(cost->total);
    if (!before || block.schedule != grid.schedule) continue;
    const auto cycles = cycles_after(block.schedule, grid.shape, counts, *before, adds, model, costs);
    all.back().cycles = std::min(all.back().cycles, cycles.value_or(all.back().cycles));
  }
  Cost sum = sum_of(all);
  sum.cycles += kCellCycles * static_cast<double>(cells);
  return sum;
}

}  // namespace isamap
