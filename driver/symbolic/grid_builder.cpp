// SPDX-License-Identifier: Apache-2.0
#include "driver/symbolic/grid_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <tuple>

#include "driver/symbolic/short_blocks.h"
#include "driver/symbolic/tiles_of_nests.h"
#include "isamap/scheduler.h"
#include "program/masked_blocks.h"
#include "program/masked_ends.h"
#include "program/packed_constants.h"
#include "program/partial_moves.h"
#include "program/tile_loops.h"
#include "support/threads.h"

namespace isamap {
namespace {

// Steps of loops over tiles when they are lowered: more than compilers unroll.
constexpr std::int64_t sampled_block_steps[] = {32, 8};
constexpr std::int64_t largest_block_tile = 4096;
constexpr std::int64_t most_block_remainders = 128;  // positions that the smallest tile leaves
constexpr std::size_t most_blocks = 600;
constexpr std::int64_t most_rounded = 64;  // positions of a sum that an instruction takes at once
constexpr double function_text = 40;       // loops and calls that a function counts like: half of a usual one (fitted)
constexpr int shifted_samples = 4;         // tried where extents of a masked block cannot be told from others

using BlockCounts = std::vector<std::int64_t>;
using BlockOfCell = std::tuple<std::size_t, bool, const Schedule*>;  // cell, whether it adds to sums, schedule

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
          if (tiled.dim == dim && tiled.tile <= largest_block_tile) tiles.insert(tiled.tile);
  return {tiles.begin(), tiles.end()};
}

/// Is there a loop over tiles of a dim, by itself, fused, or over rounds of lanes? Without one no loop has any trip.
bool has_loop_over(const Schedule& schedule, const std::string& dim) {
  const auto names = [&](const TiledLoop& tiled) {
    for (std::size_t at = tiled.dim.find(dim); at != std::string::npos; at = tiled.dim.find(dim, at + 1))
      if (at == 0 || tiled.dim[at - 1] == '.') return true;
    return false;
  };
  for (const Nest& nest : schedule.nests)
    for (const Line& line : nest.lines)
      if (const auto* loop = std::get_if<For>(&line.is);
          loop != nullptr && !loop->unroll && std::any_of(loop->loops.begin(), loop->loops.end(), names))
        return true;
  return false;
}

bool has_narrow_operands(const GridShape& shape) {
  const auto& reads = shape.kernel.statements[0].reads;
  return std::all_of(reads.begin(), reads.end(),
                     [&](const Access& read) { return bytes(shape.kernel.tensors[read.tensor.index()].dtype) <= 2; });
}

bool is_in_sum_lanes(const Schedule& schedule, const GridAxis& axis) {
  return std::any_of(schedule.lanes.begin(), schedule.lanes.end(),
                     [&](const VectorizedReduction& lanes) { return lanes.dim == axis.dim; });
}

/// What the smallest tile leaves are multiples of this.
std::int64_t remainder_step_of(const GridAxis& axis) {
  std::int64_t step = axis.multiple;
  for (const DimRun& run : axis.runs) step = std::gcd(step, run.tile);
  return step;
}

/// Of a run without tiles: the number of positions that its block is lowered for, one in the middle, or one after it.
std::int64_t sample_of(const DimRun& run, std::int64_t step, std::int64_t shift = 0) {
  return run.low + ((run.high - run.low) / 2 / step + shift) % ((run.high - run.low) / step + 1) * step;
}

std::shared_ptr<const Program> lowered_block(const GridShape& shape, const Schedule& schedule,
                                             const BlockCounts& counts, bool adds, const HardwareModel& model,
                                             const CompileOptions& options) {
  const Kernel kernel = block_kernel(shape, counts, adds);
  if (has_errors(verify(kernel)) || has_errors(verify(schedule, kernel, model))) return nullptr;
  auto program = lower(schedule, kernel, model);
  if (!program || !packed_constants(*program)) return nullptr;
  if (options.strict_float && !program->assumptions.empty()) return nullptr;
  program->sums_in_order = program->library_functions = options.strict_float;
  return std::make_shared<const Program>(std::move(*program));
}

/// The largest tile of each axis.
BlockCounts first_tiles(const std::vector<GridAxis>& axes) {
  BlockCounts tiles;
  for (const GridAxis& axis : axes) tiles.push_back(axis.runs.front().tile);
  return tiles;
}

/// Of a block with the largest tile of each axis.
BlockCounts walked_counts(const std::vector<GridAxis>& axes) {
  BlockCounts counts;
  for (const GridAxis& axis : axes) counts.push_back(sampled_block_steps[0] * axis.runs.front().tile);
  return counts;
}

/// The inputs of a sum of pairs or quads, or in lanes, whose moves and loads along this axis may end with it.
std::set<TensorId> maskable_inputs(const Grid& grid, std::size_t axis, std::int64_t tile, LoweredBlocks& lowered) {
  if (!is_in_sum_lanes(grid.schedule, grid.shape.axes[axis]) && !has_narrow_operands(grid.shape)) return {};
  const BlockCounts counts = walked_counts(grid.shape.axes), tiles = first_tiles(grid.shape.axes);
  const auto program = lowered.of(grid.shape, grid.schedule, counts, false);
  auto loops = program ? tile_loops(*program, lowered.model(), grid.shape, counts, tiles) : std::nullopt;
  if (!loops) return {};
  const Block block{*program, grid.schedule, std::move(loops->loops), std::move(loops->grown), {}};
  return maskable_inputs(block, grid.shape, axis, tile, lowered.model());
}

/// Pairs and quads of narrow operands, and lanes, leave no remainders of sums. `ends`: inputs whose moves and loads may
/// end with the axis are not copied.
void round_up_sums(Grid& grid, bool ends, LoweredBlocks& lowered) {
  GridShape& shape = grid.shape;
  for (std::size_t axis = 0; axis < shape.axes.size(); ++axis) {
    const std::int64_t tile = shape.axes[axis].runs.back().tile;
    if (tile == 1 || tile > most_rounded || shape.axes[axis].multiple % tile == 0) continue;
    const auto masked = ends ? maskable_inputs(grid, axis, tile, lowered) : std::set<TensorId>{};
    if (masked.empty() && !has_narrow_operands(shape)) continue;
    if (auto rounded = rounded_up(shape, axis, tile, masked)) shape = std::move(*rounded);
  }
}

const DimRun& run_of(const std::vector<GridAxis>& axes, std::size_t cell, std::size_t axis) {
  for (std::size_t a = axes.size(); a-- > axis + 1;) cell /= axes[a].runs.size();
  return axes[axis].runs[cell % axes[axis].runs.size()];
}

BlockCounts tiles_at(const std::vector<GridAxis>& axes, std::size_t cell) {
  BlockCounts tiles;
  for (std::size_t axis = 0; axis < axes.size(); ++axis) tiles.push_back(run_of(axes, cell, axis).tile);
  return tiles;
}

/// Where the other axes have their likely extents.
PricedCell priced_cell(const Grid& grid, std::size_t cell, const BlockCounts& remainder_steps,
                       const HardwareModel& model) {
  const std::vector<GridAxis>& axes = grid.shape.axes;
  const BlockCounts likely = likely_counts(grid.shape);
  PricedCell priced;
  const std::vector<bool> shared = shared_axes(grid.schedule, grid.shape, model);
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    const std::int64_t extent = likely[axis];
    const DimRun &run = run_of(axes, cell, axis), &first = axes[axis].runs.front();
    priced.counts.push_back(run.tile > 0 ? run.tile * std::max<std::int64_t>(1, extent / run.tile)
                                         : sample_of(run, remainder_steps[axis]));
    if (shared[axis] && !priced.before && first.tile > 0 && &run != &first && extent >= first.tile)
      priced.before = PositionsBefore{axis, extent / first.tile * first.tile};
  }
  return priced;
}

/// Are there cells that add to the sums of others?
bool has_adding_cells(const std::vector<GridAxis>& axes) {
  return std::any_of(axes.begin(), axes.end(),
                     [](const GridAxis& axis) { return axis.reduced && axis.runs.size() > 1; });
}

/// The first cell along all reduced axes never adds.
bool only_starts(const std::vector<GridAxis>& axes, std::size_t cell) {
  for (std::size_t axis = 0; axis < axes.size(); ++axis)
    if (axes[axis].reduced && &run_of(axes, cell, axis) != &axes[axis].runs.front()) return false;
  return true;
}

/// Loops and calls in the printed text.
double code_of(const std::vector<Node>& nodes) {
  double code = 0;
  for (const Node& node : nodes)
    if (const auto* loop = std::get_if<Loop>(&node.is))
      code += 1 + (loop->unroll ? static_cast<double>(loop->trip) : 1) * code_of(loop->body);
    else if (const auto* guard = std::get_if<Guard>(&node.is))
      code += 1 + code_of(guard->then) + code_of(guard->otherwise);
    else
      code += 1;
  return code;
}

/// The code of all blocks, if it grows with the positions; `tiles`: a block with the largest tile of each axis.
double code_of(const Program& tiles, const std::vector<GridAxis>& axes) {
  double code = code_of(tiles.body);
  for (const GridAxis& axis : axes) {
    double positions = 0;
    for (const DimRun& run : axis.runs) positions += static_cast<double>(std::max(run.tile, run.high));
    code *= positions / static_cast<double>(axis.runs.front().tile);
  }
  return code;
}

/// Numbers of positions that have a run of their own.
std::int64_t exact_remainders(const GridAxis& axis) {
  return std::count_if(axis.runs.begin(), axis.runs.end(),
                       [](const DimRun& run) { return run.tile == 0 && run.low == run.high; });
}

/// Cuts what `tile` leaves so that about as many steps as bodies serve it: 11 positions behind tiles of 12 are three
/// steps of 3 and a body for 2. Or half of it.
std::int64_t smaller_tile(std::int64_t tile, std::int64_t step, bool halves) {
  if (halves) return tile / 2 / step * step;
  std::int64_t smaller = step;
  while ((smaller + step) * (smaller + step) <= tile * step) smaller += step;
  return smaller;
}

/// Sums in lanes of tiles that have positions along several dims?
bool sums_tiles_in_lanes(const Schedule& schedule, const std::vector<GridAxis>& axes) {
  const auto is_tiled = [](const GridAxis& axis) { return !axis.reduced && axis.runs.front().tile > 1; };
  return !schedule.lanes.empty() && std::count_if(axes.begin(), axes.end(), is_tiled) > 1;
}

/// Are the parts of sums in lanes computed in tiles that divide those of the grid? What these leave is few beside tiles
/// of a whole vector of sums: it is cut into small tiles and single steps, which need a body each.
bool has_tiles_of_parts(const Schedule& schedule, const GridAxis& axis) {
  const std::int64_t tile = axis.runs.front().tile;
  Schedule of_parts;
  of_parts.nests = {schedule.nests.front()};
  const std::int64_t parts = tiles_of(of_parts, axis.dim).front();
  return parts > 1 && parts < tile && tile % parts == 0;
}

/// What tiles leave is cut by a smaller tile first.
void add_smaller_tile(std::vector<DimRun>& runs, std::int64_t smaller) {
  runs.insert(std::find_if(runs.begin(), runs.end(), [](const DimRun& run) { return run.tile == 0; }), {smaller, 0, 0});
  std::erase_if(runs, [&](const DimRun& run) { return run.tile == 0 && run.low >= smaller; });
}

/// The innermost of the larger tiles of a dim becomes this one, the others have no loops.
Schedule with_tile(Schedule schedule, const std::string& dim, std::int64_t tile) {
  for (Nest& nest : schedule.nests) {
    bool is_cut = false;
    for (auto line = nest.lines.rbegin(); line != nest.lines.rend(); ++line) {
      auto* loop = std::get_if<For>(&line->is);
      if (loop == nullptr || loop->unroll) continue;
      for (auto tiled = loop->loops.rbegin(); tiled != loop->loops.rend(); ++tiled)
        if (tiled->dim == dim && tiled->tile > tile) tiled->tile = is_cut ? 0 : tile, is_cut = true;
      std::erase_if(loop->loops, [](const TiledLoop& tiled) { return tiled.tile == 0; });
    }
    std::erase_if(nest.lines, [](const Line& line) {
      const auto* loop = std::get_if<For>(&line.is);
      return loop != nullptr && loop->loops.empty();
    });
  }
  return schedule;
}

/// The kind of run of a cell along each axis: numbers of positions without a mask are one kind.
std::vector<std::ptrdiff_t> kinds_of(const std::vector<GridAxis>& axes, std::size_t cell) {
  std::vector<std::ptrdiff_t> kinds;
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    const DimRun& run = run_of(axes, cell, axis);
    const bool is_exact = run.tile == 0 && run.low == run.high;
    kinds.push_back(is_exact ? -1 : &run - axes[axis].runs.data());
  }
  return kinds;
}

/// Axes whose remainders may be cut by a smaller tile, those with the most bodies first.
std::vector<std::size_t> axes_with_remainders(const std::vector<GridAxis>& axes) {
  std::vector<std::size_t> found;
  for (std::size_t axis = 0; axis < axes.size(); ++axis)
    if (!axes[axis].reduced && exact_remainders(axes[axis]) > 3) found.push_back(axis);
  std::stable_sort(found.begin(), found.end(),
                   [&](std::size_t a, std::size_t b) { return exact_remainders(axes[a]) > exact_remainders(axes[b]); });
  return found;
}

/// A cell with masked runs, and the counts that its block was lowered for.
struct MaskedCell {
  const std::vector<GridAxis>& axes;
  const BlockCounts& remainder_steps;  ///< by axis
  std::size_t cell = 0;
  const BlockCounts &counts, &tiles;
};
using BlockLowering = std::function<std::shared_ptr<const Program>(const BlockCounts&)>;

/// A block for another number of positions along a masked axis.
struct OtherNumber {
  std::int64_t more = 0;  ///< positions
  std::shared_ptr<const Program> program;
};

/// The last number that a masked run serves, or the one before it, whose mask has room for all lanes: these are lowered
/// without a mask.
OtherNumber last_number(const MaskedCell& of, std::size_t axis, const HardwareModel& model,
                        const BlockLowering& lowered, const Block& block) {
  BlockCounts counts = of.counts;
  const std::int64_t sample = counts[axis], last = run_of(of.axes, of.cell, axis).high;
  const std::int64_t before = last - of.remainder_steps[axis];
  const auto at = [&](std::int64_t count) {
    counts[axis] = count;
    return OtherNumber{count - sample, lowered(counts)};
  };
  if (before <= sample) return at(last);
  OtherNumber other = at(before);
  if (other.program && masked_room(block.program, *other.program, other.more, model) >= last - sample) return other;
  return at(last);
}

/// Every number that a masked run serves gives the same block but for extents. `ambiguous`: not known which ones.
bool add_masks(const MaskedCell& of, const HardwareModel& model, const BlockLowering& lowered, Block& block,
               bool& ambiguous) {
  for (std::size_t axis = 0; axis < of.axes.size(); ++axis) {
    const DimRun& run = run_of(of.axes, of.cell, axis);
    if (of.tiles[axis] > 0 || run.low == run.high) continue;
    const std::int64_t step = of.remainder_steps[axis], sample = of.counts[axis];
    // The ends; numbers between them were compared for the run. From one step on the last number tells enough: few
    // lanes are found in other ways, and a mask of fewer lanes computes fewer.
    const bool from_first = run.low == step;
    std::vector<OtherNumber> others;
    if (sample != run.high) others.push_back(last_number(of, axis, model, lowered, block));
    if (from_first ? others.empty() : sample != run.low) {
      BlockCounts counts = of.counts;
      counts[axis] = from_first ? sample - step : run.low;
      others.push_back({counts[axis] - sample, lowered(counts)});
    }
    for (const OtherNumber& other : others) {
      const auto extents = other.program ? masked_extents(block.program, *other.program, other.more) : std::nullopt;
      if (!extents) {
        // All lanes, lowered without a mask, tell no extents; another sample does.
        ambiguous = other.program && (sample + step == run.high ||
                                      differing_extents(block.program, *other.program, other.more).has_value());
        return false;
      }
      for (const std::int64_t extent : *extents) {
        const std::pair<int, std::int64_t> from{static_cast<int>(axis), sample - extent};
        if (from.second >= run.low) return false;  // no lanes at the least number
        ambiguous = block.masked.emplace(extent, from).first->second != from;
        if (ambiguous) return false;
      }
    }
  }
  return true;
}

/// Positions of some tiles: below the next larger one of the tiles of the schedule, whose loop is gone then.
std::int64_t walked(const BlockCounts& of_schedule, std::int64_t tile, std::int64_t steps) {
  std::int64_t count = steps * tile;
  for (const std::int64_t larger : of_schedule)
    if (larger > tile && larger % tile == 0) count = std::min(count, larger);
  return count;
}

std::string dims_of(const std::vector<GridAxis>& axes) {
  std::string dims;
  for (const GridAxis& axis : axes) dims += (dims.empty() ? "" : ", ") + axis.dim;
  return dims;
}

/// Few lanes are found in other ways, and copies of few rows made by other moves: a mask of fewer lanes serves them,
/// too, where it has as many as there are positions. `extents`: of calls under the mask, at the least of its numbers.
void serve_fewer(std::vector<DimRun>& runs, std::int64_t step, const std::set<std::int64_t>& extents) {
  const std::int64_t least = runs.back().low;
  const auto is_one_number = [](const DimRun& run) { return run.low == run.high; };
  if (extents != std::set{least} || !std::all_of(runs.begin(), runs.end() - 1, is_one_number)) return;
  runs.erase(runs.begin(), runs.end() - 1);
  runs.back().low = step;
}

/// Runs for what a tile leaves where no lanes are along the axis: each number has loops and calls of its own. Where the
/// least or the largest does not lower, position by position.
std::vector<DimRun> exact_runs(std::int64_t tile, std::int64_t step,
                               const std::function<std::shared_ptr<const Program>(std::int64_t remainder)>& lowered) {
  std::vector<DimRun> runs;
  for (std::int64_t remainder = step; remainder < tile; remainder += step) runs.push_back({0, remainder, remainder});
  if (runs.empty() || (lowered(runs.front().low) && lowered(runs.back().low))) return runs;
  return {{1, 0, 0}};
}

/// Runs for what a tile leaves, multiples of a step: one for several numbers where only masks differ. Where one does
/// not lower, position by position.
std::vector<DimRun> remainder_runs(std::int64_t tile, std::int64_t step,
                                   const std::function<std::shared_ptr<const Program>(std::int64_t remainder)>& lowered,
                                   const HardwareModel& model) {
  std::vector<DimRun> runs;
  std::shared_ptr<const Program> last;
  std::int64_t room = 0;  // lanes that the mask of the last run has left
  for (std::int64_t remainder = step; remainder < tile; remainder += step) {
    if (last && room > 2 * step && runs.back().low < runs.back().high) {
      // The same code under a mask of all lanes but one serves what lies between, too.
      const std::int64_t far = std::min(remainder + room - 2 * step, (tile - 1) / step * step);
      const auto program = lowered(far);
      if (program && differing_extents(*last, *program, far - (remainder - step))) {
        room -= far - (remainder - step);
        runs.back().high = remainder = far;
        last = program;
        continue;
      }
    }
    std::shared_ptr<const Program> program = lowered(remainder);
    if (!program) return {{1, 0, 0}};
    if (const auto extents = last ? differing_extents(*last, *program, step) : std::nullopt) {
      runs.back().high = remainder;
      serve_fewer(runs, step, *extents);
      room = masked_room(*last, *program, step, model) - step;
    } else if (last && runs.back().low < runs.back().high && room >= step) {
      runs.back().high = remainder;  // all lanes of the mask
      last.reset();
      continue;
    } else {
      runs.push_back({0, remainder, remainder});
    }
    last = std::move(program);
  }
  return runs;
}

/// The schedules of these lists, the cheapest first where the other axes have their likely extents.
std::vector<const Schedule*> cheapest_first(const std::vector<const std::vector<Schedule>*>& lists, const Grid& grid,
                                            std::size_t cell, const BlockCounts& remainder_steps,
                                            LoweredBlocks& lowered) {
  std::vector<const Schedule*> schedules;
  for (const std::vector<Schedule>* list : lists)
    for (const Schedule& schedule : *list) schedules.push_back(&schedule);
  const PricedCell at = priced_cell(grid, cell, remainder_steps, lowered.model());
  return cheapest_first(std::move(schedules), grid, at.counts, at.before, lowered.costs());
}

/// A cell of a grid, of which a block is made.
struct GridCell {
  const Grid& grid;
  const std::vector<BlockCounts>& of_schedule;  ///< tiles by axis
  const BlockCounts& remainder_steps;           ///< by axis
  std::size_t cell = 0;
  const BlockCounts& tiles;
  bool adding = false;
};

/// Its block by a schedule; nothing: it does not lower, or serves other numbers of positions in another way.
std::optional<Block> lowered_cell(const GridCell& of, const Schedule& schedule, LoweredBlocks& lowered) {
  const GridShape& shape = of.grid.shape;
  const HardwareModel& model = lowered.model();
  for (const std::int64_t steps : sampled_block_steps) {
    bool ambiguous = true;
    for (int shift = 0; ambiguous && shift < shifted_samples; ++shift) {
      BlockCounts counts;
      for (std::size_t axis = 0; axis < shape.axes.size(); ++axis)
        counts.push_back(of.tiles[axis] > 0
                             ? walked(of.of_schedule[axis], of.tiles[axis], steps)
                             : sample_of(run_of(shape.axes, of.cell, axis), of.remainder_steps[axis], shift));
      const auto program = lowered.of(shape, schedule, counts, of.adding);
      if (!program) break;
      auto loops = tile_loops(*program, model, shape, counts, of.tiles);
      if (!loops) break;
      Block block{*program, schedule, std::move(loops->loops), std::move(loops->grown), {}};
      ambiguous = false;
      const auto again = [&](const BlockCounts& other) { return lowered.of(shape, schedule, other, of.adding); };
      const MaskedCell masked{shape.axes, of.remainder_steps, of.cell, counts, of.tiles};
      if (!add_masks(masked, model, again, block, ambiguous)) continue;
      if (!mask_ends(block, shape, model) || !end_moves(block, shape, loops->partial, model)) return std::nullopt;
      return block;
    }
  }
  return std::nullopt;
}

/// Without those that are served by the short tiles of another one, if that is worth it.
std::vector<std::size_t> cells_of_their_own(const Grid& grid) {
  std::vector<std::size_t> cells;
  for (std::size_t cell = 0; cell < block_count(grid); ++cell)
    if (cell_of_short_tiles(grid, cell).value_or(cell) == cell) cells.push_back(cell);
  return cells;
}

/// Cells, and whether they add to sums, in the order of their blocks: those that start sums first.
std::vector<std::pair<std::size_t, bool>> cells_of(const Grid& grid) {
  std::vector<std::pair<std::size_t, bool>> found;
  for (const bool adding : {false, true})
    for (std::size_t cell = 0; (!adding || has_adding_cells(grid.shape.axes)) && cell < block_count(grid); ++cell)
      found.emplace_back(cell, adding);
  return found;
}

/// By schedules of remainders? Others are tried where none of these lowers.
bool has_lanes_along(const GridAxis& axis, const std::vector<Schedule>& remainders) {
  return std::any_of(remainders.begin(), remainders.end(),
                     [&](const Schedule& schedule) { return is_in_lanes(schedule, axis.dim); });
}

/// By the first schedule for remainders that lowers; null: none does.
std::shared_ptr<const Program> first_lowered(const GridShape& shape, const GridSchedules& schedules,
                                             const BlockCounts& counts, LoweredBlocks& lowered) {
  std::shared_ptr<const Program> program;
  for (const auto* list : {&schedules.remainders, &schedules.others})
    for (std::size_t n = 0; n < list->size() && !program; ++n) program = lowered.of(shape, (*list)[n], counts, false);
  return program;
}

/// Has the schedule a block whose axes all are walked, with these tiles? `of_schedule`: all of its tiles, by axis.
bool walks(const GridShape& shape, const std::vector<BlockCounts>& of_schedule, const BlockCounts& tiles,
           const Schedule& schedule, LoweredBlocks& lowered) {
  for (const std::int64_t steps : sampled_block_steps) {
    BlockCounts counts;
    for (std::size_t axis = 0; axis < tiles.size(); ++axis)
      counts.push_back(walked(of_schedule[axis], tiles[axis], steps));
    const auto program = lowered.of(shape, schedule, counts, false);
    if (program && tile_loops(*program, lowered.model(), shape, counts, tiles)) return true;
  }
  return false;
}

class GridBuilder {
 public:
  /// `ends`: moves and loads may end with sums that are rounded up.
  GridBuilder(const GridShape& shape, LoweredBlocks& lowered, const GridSchedules& schedules, bool ends)
      : model_(lowered.model()), lowered_(lowered), schedules_(schedules), ends_(ends) {
    grid_.shape = shape;
    grid_.schedule = schedules.main;
  }

  Result<Grid> with_blocks() {
    if (!find_runs()) return std::move(why_);
    make_ahead();
    for (const auto& [cell, adding] : cells_of(grid_))
      if (!add_block(cell, adding)) return std::move(why_);
    return std::move(grid_);
  }

  /// With the schedules of blocks that cells have at these sizes.
  Result<Grid> expected(const std::vector<Bindings>& sizes) {
    if (!find_runs()) return std::move(why_);
    std::set<std::size_t> reached;
    for (const Bindings& at : sizes) reached.merge(blocks_at(grid_, at));
    for (const auto& [cell, adding] : cells_of(grid_))
      grid_.blocks.push_back(expected_block(cell, adding, reached.contains(grid_.blocks.size())));
    return std::move(grid_);
  }

 private:
  bool find_runs() {
    for (std::size_t axis = 0; axis < axes().size(); ++axis)
      tiles_.push_back(tiles_of(grid_.schedule, axes()[axis].dim));
    if (!find_tiles()) return false;
    round_up_sums(grid_, ends_, lowered_);
    for (std::size_t axis = 0; axis < axes().size(); ++axis)
      remainder_steps_.push_back(remainder_step_of(axes()[axis]));
    for (std::size_t axis = 0; axis < axes().size(); ++axis)
      if (!add_remainders(axis)) return false;
    fit_code();
    for (GridAxis& axis : axes()) axis.runs = reachable_runs(axis);
    if (block_count(grid_) * 2 > most_blocks) {
      refused(fmt::format("its tiles leave {} blocks of remainders; at most {} are made", block_count(grid_),
                          most_blocks / 2));
      return false;
    }
    grid_.order = order_of(grid_.schedule, axes());
    return true;
  }

  std::vector<GridAxis>& axes() { return grid_.shape.axes; }
  const std::vector<GridAxis>& axes() const { return grid_.shape.axes; }
  void refused(const std::string& why) { why_ = {error(why)}; }

  /// A block whose axes all are walked, with these tiles.
  bool walks(const BlockCounts& tiles, const Schedule& schedule) const {
    return ::isamap::walks(grid_.shape, tiles_, tiles, schedule, lowered_);
  }

  /// Runs of tiles: for each axis the largest tile that is walked, and the smallest.
  bool find_tiles() {
    const auto has_loops = [&](const GridAxis& axis) { return has_loop_over(grid_.schedule, axis.dim); };
    BlockCounts largest;
    for (const BlockCounts& tiles : tiles_)
      largest.push_back(
          std::accumulate(tiles.begin(), tiles.end(), std::int64_t{1}, [](auto a, auto b) { return std::lcm(a, b); }));
    if (!std::all_of(axes().begin(), axes().end(), has_loops) || !walks(largest, grid_.schedule)) {
      refused("no loops of the schedule take any number of tiles of " + dims_of(axes()));
      return false;
    }
    for (std::size_t axis = 0; axis < axes().size(); ++axis) {
      std::int64_t smallest = largest[axis];
      for (const std::int64_t tile : tiles_[axis]) {
        BlockCounts tried = largest;
        tried[axis] = tile;
        if (tile < smallest && walks(tried, grid_.schedule)) smallest = tile;
      }
      axes()[axis].runs = {{largest[axis], 0, 0}};
      if (smallest != largest[axis]) axes()[axis].runs.push_back({smallest, 0, 0});
    }
    return true;
  }

  /// Blocks for what the smallest tile of an axis leaves.
  bool add_remainders(std::size_t axis) {
    std::vector<DimRun>& runs = axes()[axis].runs;
    const std::int64_t tile = runs.back().tile;
    if (tile - 1 > most_block_remainders) {
      refused(fmt::format("tiles of {} positions along {} leave too many remainders", tile, axes()[axis].dim));
      return false;
    }
    const auto lowered_remainder = [&](std::int64_t remainder) { return remainder_program(axis, remainder); };
    const std::vector<DimRun> left = has_lanes_along(axes()[axis], schedules_.remainders)
                                         ? remainder_runs(tile, remainder_steps_[axis], lowered_remainder, model_)
                                         : exact_runs(tile, remainder_steps_[axis], lowered_remainder);
    runs.insert(runs.end(), left.begin(), left.end());
    return true;
  }
  /// By the first schedule that lowers; none: the scalar one alone does.
  std::shared_ptr<const Program> remainder_program(std::size_t axis, std::int64_t remainder) const {
    BlockCounts counts = walked_counts(axes());
    counts[axis] = remainder;
    return first_lowered(grid_.shape, schedules_, counts, lowered_);
  }
  /// Smaller tiles along the axes with the most bodies, until the code of all blocks fits.
  void fit_code() {
    const auto tiles = lowered_.of(grid_.shape, grid_.schedule, walked_counts(axes()), false);
    const bool in_lanes = sums_tiles_in_lanes(schedules_.main, axes());
    const double most = in_lanes ? std::min(schedules_.most_code, most_lane_code) : schedules_.most_code;
    for (const std::size_t axis : axes_with_remainders(axes())) {
      const std::int64_t step = remainder_steps_[axis], tile = axes()[axis].runs.back().high + step;
      if (in_lanes && has_tiles_of_parts(schedules_.main, axes()[axis]))
        for (const std::int64_t smaller : {smaller_tile(tile, step, false), step}) cut_remainders(axis, smaller);
      else if (tiles && code_of(*tiles, axes()) > most)
        cut_remainders(axis, smaller_tile(tile, step, in_lanes));
    }
  }
  /// What tiles leave along an axis is cut by a smaller tile, if a schedule for remainders has one.
  void cut_remainders(std::size_t axis, std::int64_t smaller) {
    BlockCounts tiles = first_tiles(axes());
    tiles[axis] = smaller;
    std::vector<Schedule> cut;
    for (const std::vector<Schedule>* list : {&schedules_.remainders, &std::as_const(smaller_)})
      for (const Schedule& one : *list) {
        const Schedule tried = with_tile(one, axes()[axis].dim, smaller);
        if (tried != one && walks(tiles, tried)) cut.push_back(tried);
      }
    if (cut.empty()) return;
    smaller_.insert(smaller_.end(), cut.begin(), cut.end());
    add_smaller_tile(axes()[axis].runs, smaller);
  }
  const DimRun& run_of(std::size_t cell, std::size_t axis) const { return ::isamap::run_of(axes(), cell, axis); }
  /// Of a block that is not lowered yet. A block with short tiles serves all cells that may share it.
  const Schedule& expected_schedule(std::size_t cell) {
    const std::size_t shared = cell_of_short_tiles(grid_, cell).value_or(cell);
    for (const Schedule* schedule : schedules_of(shared, tiles_at(axes(), shared)))
      if (is_expected_to_lower(shared, *schedule)) return *schedule;
    for (const Schedule& schedule : schedules_.others)
      if (is_expected_to_lower(shared, schedule)) return schedule;
    return schedules_.scalar;
  }
  Block expected_block(std::size_t cell, bool adding, bool is_reached) {
    Block block;
    if (is_reached) block.schedule = expected_schedule(cell);
    const auto shared = cell_of_short_tiles(grid_, cell);
    block.repeated = shared && is_expected_to_share(cell) && !shared_.emplace(*shared, adding).second;
    return block;
  }
  /// Does it lower for the first cell that was asked about with the same kind of run along each axis?
  bool is_expected_to_lower(std::size_t cell, const Schedule& schedule) {
    const auto [known, is_new] = lowers_.try_emplace({kinds_of(axes(), cell), &schedule});
    if (is_new) known->second = block_of(cell, tiles_at(axes(), cell), false, schedule).has_value();
    return known->second;
  }
  /// Does a block with short tiles serve the first cell that was asked about with the same kinds?
  bool is_expected_to_share(std::size_t cell) {
    const auto [known, is_new] = shares_.try_emplace(kinds_of(axes(), cell));
    if (is_new) known->second = short_blocks_.serving(cell, false).has_value();
    return known->second;
  }
  /// The blocks that are needed in any case, side by side: those that short tiles share, and of cells that share none,
  /// each by the schedule that is tried first.
  void make_ahead() {
    const std::vector<std::size_t> cells = cells_of_their_own(grid_);
    auto prices =
        for_each_in_parallel(lowered_.workers(), cells.size(), [&](std::size_t n) { return priced(cells[n]); });
    for (std::size_t n = 0; n < cells.size(); ++n) by_price_.try_emplace(cells[n], std::move(prices[n]));
    std::vector<BlockOfCell> asked;
    for (const bool adding : {false, true})
      for (const std::size_t cell : cells) {
        if (adding && only_starts(axes(), cell)) continue;
        const auto schedules = schedules_of(cell, tiles_at(axes(), cell));
        if (!schedules.empty()) asked.emplace_back(cell, adding, schedules.front());
      }
    auto blocks = for_each_in_parallel(lowered_.workers(), asked.size(), [&](std::size_t n) {
      const auto& [cell, adding, schedule] = asked[n];
      return block_of(cell, tiles_at(axes(), cell), adding, *schedule);
    });
    for (std::size_t n = 0; n < asked.size(); ++n) ahead_.emplace(asked[n], std::move(blocks[n]));
  }
  bool add_block(std::size_t cell, bool adding) {
    if (adding && only_starts(axes(), cell)) {
      grid_.blocks.emplace_back();
      return true;
    }
    if (auto block = short_blocks_.serving(cell, adding)) {
      grid_.blocks.push_back(std::move(*block));
      return true;
    }
    BlockCounts tiles = tiles_at(axes(), cell);
    for (const Schedule* schedule : schedules_of(cell, tiles))
      if (add_block(cell, tiles, adding, *schedule)) return true;
    for (const Schedule& schedule : schedules_.others)
      if (add_block(cell, tiles, adding, schedule)) return true;
    // Loops over single elements may have any trip, also where other blocks have masks.
    for (std::size_t axis = 0; axis < axes().size(); ++axis)
      if (const DimRun& run = run_of(cell, axis); run.low != run.high) tiles[axis] = 1;
    if (add_block(cell, tiles, adding, schedules_.scalar)) return true;
    refused("a block of remainders does not lower");
    return false;
  }
  /// In the order in which they are tried. Copies are worth their time where all axes have many positions.
  std::vector<const Schedule*> schedules_of(std::size_t cell, const BlockCounts& tiles) {
    std::vector<const Schedule*> schedules = by_price(cell);
    const bool all_tiles = std::find(tiles.begin(), tiles.end(), 0) == tiles.end();
    if (all_tiles) schedules.insert(schedules.begin(), &grid_.schedule);
    return schedules;
  }
  /// The schedules for remainders, the cheapest first.
  const std::vector<const Schedule*>& by_price(std::size_t cell) {
    const auto [known, is_new] = by_price_.try_emplace(cell);
    if (is_new) known->second = priced(cell);
    return known->second;
  }
  std::vector<const Schedule*> priced(std::size_t cell) const {
    return cheapest_first({&schedules_.remainders, &smaller_}, grid_, cell, remainder_steps_, lowered_);
  }
  CellWork cell_work() {
    return {[this](std::size_t cell) { return by_price(cell); },
            [this](std::size_t cell, bool adding, const Schedule& schedule) {
              return block_of(cell, tiles_at(axes(), cell), adding, schedule);
            },
            [this](std::size_t cell) { return priced_cell(grid_, cell, remainder_steps_, model_); }, lowered_.costs()};
  }
  bool add_block(std::size_t cell, const BlockCounts& tiles, bool adding, const Schedule& schedule) {
    auto block = block_of(cell, tiles, adding, schedule);
    if (block) grid_.blocks.push_back(std::move(*block));
    return block.has_value();
  }
  std::optional<Block> block_of(std::size_t cell, const BlockCounts& tiles, bool adding,
                                const Schedule& schedule) const {
    if (const auto made = ahead_.find({cell, adding, &schedule}); made != ahead_.end()) return made->second;
    return lowered_cell({grid_, tiles_, remainder_steps_, cell, tiles, adding}, schedule, lowered_);
  }

  const HardwareModel& model_;
  LoweredBlocks& lowered_;
  const GridSchedules& schedules_;
  const bool ends_;
  Grid grid_;
  std::vector<BlockCounts> tiles_;
  BlockCounts remainder_steps_;    ///< by axis: remainders are multiples of it
  std::vector<Schedule> smaller_;  ///< for blocks of remainders, with the smaller tiles of axes
  std::map<std::size_t, std::vector<const Schedule*>> by_price_;                    ///< by cell
  std::map<BlockOfCell, std::optional<Block>> ahead_;                               ///< by `make_ahead`
  std::map<std::pair<std::vector<std::ptrdiff_t>, const Schedule*>, bool> lowers_;  ///< by kinds of runs
  std::map<std::vector<std::ptrdiff_t>, bool> shares_;                              ///< by kinds of runs
  std::set<std::pair<std::size_t, bool>> shared_;  ///< cells whose blocks serve others; adding ones
  ShortBlocks short_blocks_{grid_, model_, cell_work()};
  Diagnostics why_;
};

}  // namespace

std::shared_ptr<const Program> LoweredBlocks::of(const GridShape& shape, const Schedule& schedule,
                                                 const std::vector<std::int64_t>& counts, bool adds) {
  return known_.of(block_key(shape, schedule, counts, adds),
                   [&] { return lowered_block(shape, schedule, counts, adds, model_, options_); });
}

namespace {

/// Moves and loads end with sums that are rounded up, unless that makes no grid, or scalar blocks.
Result<Grid> made_grid(const GridShape& shape, LoweredBlocks& lowered, const GridSchedules& schedules,
                       const std::function<Result<Grid>(GridBuilder&)>& make) {
  const auto is_summed = [&](const GridAxis& axis) { return is_in_sum_lanes(schedules.main, axis); };
  const bool in_lanes = std::any_of(shape.axes.begin(), shape.axes.end(), is_summed);
  if (in_lanes || has_narrow_operands(shape)) {
    GridBuilder builder(shape, lowered, schedules, true);
    auto grid = make(builder);
    const auto ends = [](const GridAxis& axis) { return axis.end.has_value(); };
    const auto is_scalar = [&](const Block& block) { return block.schedule == schedules.scalar; };
    const bool fails = !grid || (!in_lanes && std::any_of(grid->shape.axes.begin(), grid->shape.axes.end(), ends) &&
                                 std::any_of(grid->blocks.begin(), grid->blocks.end(), is_scalar));
    if (!fails) return grid;
  }
  GridBuilder builder(shape, lowered, schedules, false);
  return make(builder);
}

}  // namespace

Result<Grid> build_grid(const GridShape& shape, LoweredBlocks& lowered, const GridSchedules& schedules) {
  return made_grid(shape, lowered, schedules, [](GridBuilder& builder) { return builder.with_blocks(); });
}

Result<Grid> expected_grid(const GridShape& shape, LoweredBlocks& lowered, const GridSchedules& schedules,
                           const std::vector<Bindings>& sizes) {
  return made_grid(shape, lowered, schedules, [&](GridBuilder& builder) { return builder.expected(sizes); });
}

double code_of(const Grid& grid) {
  double code = 0;
  for (const Block& block : grid.blocks) code += code_of(block.program.body);
  return code;
}

double text_of(const Grid& grid, LoweredBlocks& lowered) {
  const std::vector<GridAxis>& axes = grid.shape.axes;
  const auto tiles = lowered.of(grid.shape, grid.schedule, walked_counts(axes), false);
  const double of_tiles = tiles ? code_of(tiles->body) : function_text;
  const std::size_t cells = block_count(grid);
  double text = 0;
  for (std::size_t b = 0; b < grid.blocks.size(); ++b) {
    const Block& block = grid.blocks[b];
    const bool is_lowered = !block.program.buffers.empty();
    if (block.repeated || (!is_lowered && b >= cells && only_starts(axes, b % cells))) continue;
    double code = is_lowered ? code_of(block.program.body) : of_tiles;
    for (std::size_t axis = 0; !is_lowered && axis < axes.size(); ++axis) {
      const DimRun& run = run_of(axes, b % cells, axis);
      code *= static_cast<double>(std::max(run.tile, run.high)) / static_cast<double>(axes[axis].runs.front().tile);
    }
    text += function_text + code;
  }
  return text;
}

std::vector<std::int64_t> likely_counts(const GridShape& shape) {
  const IterationDomain& likely = shape.kernel.statements[0].domain;
  std::vector<std::int64_t> counts;
  for (const GridAxis& axis : shape.axes)
    counts.push_back(likely.dims[static_cast<std::size_t>(likely.find(axis.dim))].extent);
  return counts;
}

namespace {

/// The runs that have positions at some extent from `least` on. Beyond two of the longest ones they repeat.
std::set<std::size_t> reached_runs(const GridAxis& axis, std::int64_t least) {
  std::set<std::size_t> reached;
  if (axis.reduced) reached.insert(0);  // of no terms, too
  std::int64_t longest = 1;
  for (const DimRun& run : axis.runs) longest = std::max({longest, run.tile, run.high});
  std::int64_t last = std::max(least, 2 * longest) + longest;
  if (axis.most >= 0) last = std::min(last, axis.most);
  for (std::int64_t extent = least; extent <= last; ++extent)
    for (const auto& [run, count] : runs_at(axis, extent)) reached.insert(run);
  return reached;
}

void drop_unreached(Grid& grid, const std::vector<std::int64_t>& least) {
  const std::vector<GridAxis>& axes = grid.shape.axes;
  const std::size_t cells = block_count(grid);
  std::size_t inner = cells;  // cells of one run of the axis
  for (std::size_t a = 0; a < axes.size(); ++a) {
    inner /= axes[a].runs.size();
    const std::set<std::size_t> reached = reached_runs(axes[a], least[a]);
    for (std::size_t b = 0; b < grid.blocks.size(); ++b)
      if (!reached.contains(b % cells / inner % axes[a].runs.size())) grid.blocks[b] = {};
  }
}

}  // namespace

Grid limited_to(const Grid& grid, const std::vector<std::int64_t>& least, const std::vector<std::int64_t>& most) {
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
  drop_unreached(limited, least);
  return limited;
}

}  // namespace isamap
