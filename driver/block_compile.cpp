// SPDX-License-Identifier: Apache-2.0
#include "driver/block_compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "backends/cpp/block_unit.h"
#include "isamap/scheduler.h"
#include "program/masked_blocks.h"
#include "program/tile_loops.h"

namespace isamap {
namespace {

constexpr std::int64_t kLeastPositions[] = {1, 192, 509};  // along each dim, where schedules are searched
constexpr std::int64_t kMostPositions = 2048;
constexpr std::int64_t kAddedTiles[] = {64, 32, 16, 8};  // of dims without a loop
constexpr std::int64_t kBlockSteps[] = {32,
                                        8};  // of loops over tiles when they are lowered; more than compilers unroll
constexpr std::int64_t kLargestBlockTile = 4096;
constexpr std::int64_t kMostBlockRests = 128;  // positions that the smallest tile leaves
constexpr std::size_t kMostBlocks = 600;

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

/// One schedule for the grid of one statement; `for_rests`: schedules for the blocks of rests, the first that lowers;
/// the last one is scalar.
class GridBuilder {
 public:
  GridBuilder(const GridShape& shape, const HardwareModel& model, const CompileOptions& options, Schedule schedule,
              std::vector<Schedule> for_rests)
      : model_(model), options_(options), for_rests_(std::move(for_rests)) {
    grid_.shape = shape;
    grid_.schedule = std::move(schedule);
  }

  /// Nothing: the schedule has no tiles whose number may be any, or leaves too many rests.
  std::optional<Grid> run() {
    for (std::size_t axis = 0; axis < axes().size(); ++axis) tiles_.push_back(tiles_of(axis));
    if (!find_tiles()) return std::nullopt;
    for (std::size_t axis = 0; axis < axes().size(); ++axis)
      if (!add_rests(axis)) return std::nullopt;
    if (block_count(grid_) * 2 > kMostBlocks) return std::nullopt;
    const bool adds = std::any_of(axes().begin(), axes().end(),
                                  [](const GridAxis& axis) { return axis.reduced && axis.runs.size() > 1; });
    for (const bool adding : {false, true})
      for (std::size_t cell = 0; (!adding || adds) && cell < block_count(grid_); ++cell)
        if (!add_block(cell, adding)) return std::nullopt;
    grid_.order = order_of(grid_.schedule, axes());
    if (!unprintable_blocks(grid_, model_).empty()) return std::nullopt;
    return std::move(grid_);
  }

 private:
  std::vector<GridAxis>& axes() { return grid_.shape.axes; }
  const std::vector<GridAxis>& axes() const { return grid_.shape.axes; }

  /// Tiles of the axis in the schedule, the largest first.
  BlockCounts tiles_of(std::size_t axis) const {
    std::set<std::int64_t, std::greater<>> tiles{1};
    for (const VectorizedReduction& lanes : grid_.schedule.lanes)
      if (lanes.dim == axes()[axis].dim) tiles.insert(lanes.lanes * lanes.depth);
    for (const Nest& nest : grid_.schedule.nests)
      for (const Line& line : nest.lines)
        if (const auto* loop = std::get_if<For>(&line.is))
          for (const TiledLoop& tiled : loop->loops)
            if (tiled.dim == axes()[axis].dim && tiled.tile <= kLargestBlockTile) tiles.insert(tiled.tile);
    return {tiles.begin(), tiles.end()};
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
    if (!walks(largest)) return false;
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
  std::int64_t rest_step(std::size_t axis) const {
    const std::int64_t multiple = axes()[axis].multiple;
    for (const DimRun& run : axes()[axis].runs)
      if (run.tile % multiple != 0) return 1;
    return multiple;
  }

  /// Blocks for what the smallest tile of an axis leaves: one for several numbers where only masks differ.
  bool add_rests(std::size_t axis) {
    std::vector<DimRun>& runs = axes()[axis].runs;
    const std::int64_t tile = runs.back().tile;
    if (tile - 1 > kMostBlockRests) return false;
    const std::size_t tiles = runs.size();
    std::optional<Program> last;
    const std::int64_t step = rest_step(axis);
    for (std::int64_t rest = step; rest < tile; rest += step) {
      BlockCounts counts = walked_counts();
      counts[axis] = rest;
      std::optional<Program> program;
      for (std::size_t n = 0; n + 1 < for_rests_.size() && !program; ++n)
        program = lowered(for_rests_[n], counts, false);
      if (!program) {  // position by position
        runs.resize(tiles);
        runs.push_back({1, 0, 0});
        return true;
      }
      if (last && masked_extents(*last, *program, step))
        runs.back().high = rest;
      else
        runs.push_back({0, rest, rest});
      last = std::move(program);
    }
    return true;
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
    // Copies are worth their time where all axes have many positions.
    const bool all_tiles = std::find(tiles.begin(), tiles.end(), 0) == tiles.end();
    if (all_tiles && add_block(cell, tiles, adding, grid_.schedule)) return true;
    const auto rests = by_price(cell, tiles);
    return std::any_of(rests.begin(), rests.end(),
                       [&](const Schedule* schedule) { return add_block(cell, tiles, adding, *schedule); });
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
    std::vector<std::pair<double, const Schedule*>> priced;
    for (const Schedule& schedule : for_rests_) {
      const bool legal = !has_errors(verify(schedule, kernel, model_));
      const auto cost =
          legal ? evaluate(schedule, kernel, model_, options_.schedule.costs) : Result<Evaluation>(Diagnostics{});
      priced.emplace_back(cost ? cost->total.cycles : std::numeric_limits<double>::max(), &schedule);
    }
    std::stable_sort(priced.begin(), priced.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<const Schedule*> schedules;
    for (const auto& [cycles, schedule] : priced) schedules.push_back(schedule);
    return schedules;
  }

  bool add_block(std::size_t cell, const BlockCounts& tiles, bool adding, const Schedule& schedule) {
    for (const std::int64_t steps : kBlockSteps) {
      BlockCounts counts;
      for (std::size_t axis = 0; axis < axes().size(); ++axis)
        counts.push_back(tiles[axis] > 0 ? walked(axis, tiles[axis], steps)
                                         : sample_of(run_of(cell, axis), rest_step(axis)));
      auto program = lowered(schedule, counts, adding);
      if (!program) continue;
      auto loops = tile_loops(*program, model_, grid_.shape, counts, tiles);
      if (!loops) continue;
      Block block{std::move(*program), std::move(loops->loops), std::move(loops->grown), {}};
      if (!add_masks(cell, counts, adding, schedule, block)) return false;
      grid_.blocks.push_back(std::move(block));
      return true;
    }
    return false;
  }

  /// Of a run without tiles: the number of positions that its block is lowered for.
  static std::int64_t sample_of(const DimRun& run, std::int64_t step) {
    return run.low + (run.high - run.low) / 2 / step * step;
  }

  /// Every number that a masked run serves gives the same block but for extents.
  bool add_masks(std::size_t cell, const BlockCounts& counts, bool adding, const Schedule& schedule,
                 Block& block) const {
    for (std::size_t axis = 0; axis < axes().size(); ++axis) {
      const DimRun& run = run_of(cell, axis);
      if (run.tile > 0 || run.low == run.high) continue;
      const std::int64_t step = rest_step(axis), sample = sample_of(run, step);
      for (const std::int64_t rest : {run.low, run.low + step, run.high - step, run.high}) {
        // One lane alone may be found along another axis of one position; a mask of fewer lanes computes fewer.
        if (rest == sample || rest == 1) continue;
        BlockCounts other = counts;
        other[axis] = rest;
        const auto program = lowered(schedule, other, adding);
        const auto extents = program ? masked_extents(block.program, *program, rest - sample) : std::nullopt;
        if (!extents) return false;
        for (const std::int64_t extent : *extents) {
          const std::pair<int, std::int64_t> from{static_cast<int>(axis), sample - extent};
          if (block.masked.emplace(extent, from).first->second != from) return false;
        }
      }
    }
    return true;
  }

  const HardwareModel& model_;
  const CompileOptions& options_;
  Grid grid_;
  std::vector<Schedule> for_rests_;
  std::vector<BlockCounts> tiles_;
};

class BlockCompiler {
 public:
  BlockCompiler(const SymbolicKernel& kernel, const HardwareModel& model, const CompileOptions& options)
      : kernel_(kernel), model_(model), options_(options) {}

  SymbolicCompilation run() {
    SymbolicProgram program;
    program.kernel = kernel_;
    for (std::size_t s = 0; s < kernel_.sample.statements.size(); ++s) {
      auto shape = grid_shape(kernel_, s);
      if (!shape) return refused(Exit::no_answer, shape.diagnostics());
      auto grid = grid_of(*shape);
      if (!grid) return std::move(result_);
      result_.schedules.push_back(grid->schedule);
      program.grids.push_back(std::move(*grid));
    }
    program.versions.push_back({-1, {}});
    result_.found_at.push_back(0);
    program.arguments = arguments_of(kernel_.sample);
    result_.program = std::move(program);
    return std::move(result_);
  }

 private:
  SymbolicCompilation refused(Exit code, const Diagnostics& problems) {
    result_.code = code;
    result_.problems = problems;
    return std::move(result_);
  }

  Program arguments_of(const Kernel& kernel) const {
    Program program;
    program.name = kernel.name;
    program.kernel = kernel;
    for (const TensorId id : arguments(kernel)) {
      const Tensor& tensor = kernel.tensors[id.index()];
      Buffer buffer;
      buffer.name = tensor.name;
      buffer.dtype = tensor.dtype;
      buffer.extents = tensor.shape;
      buffer.strides = strides_of(tensor);
      buffer.align = bytes(tensor.dtype);
      buffer.role = BufferRole::argument;
      buffer.tensor = id;
      program.buffers.push_back(std::move(buffer));
    }
    return program;
  }

  std::optional<Grid> grid_of(const GridShape& shape) {
    if (options_.hand_written) {
      if (auto grid = grid_of(shape, *options_.hand_written)) return grid;
      refused(Exit::limit,
              {error("no program for all sizes: this schedule has no loops over tiles of every symbolic dim",
                     "bind sizes with --sizes")});
      return std::nullopt;
    }
    std::optional<Grid> scalar;
    for (const std::int64_t least : kLeastPositions) {
      BlockCounts counts;
      for (const GridAxis& axis : shape.axes)
        counts.push_back(std::max(least, std::min(evaluate(axis.extent, kernel_.at), kMostPositions)));
      const Kernel kernel = block_kernel(shape, counts, false);
      Compilation compiled = compile(kernel, model_, options_);
      if (!compiled.scheduled) {
        refused(compiled.code, compiled.problems);
        continue;
      }
      auto grid = grid_of(shape, compiled.scheduled->schedule);
      if (grid && !is_scalar(grid->schedule)) return grid;
      if (grid && !scalar) scalar = std::move(grid);
    }
    if (!scalar && result_.problems.empty())
      refused(Exit::limit, {error("no program for all sizes: no schedule was found whose loops walk every symbolic dim",
                                  "bind sizes with --sizes")});
    return scalar;
  }
  static bool is_scalar(const Schedule& schedule) {
    return std::all_of(schedule.nests.begin(), schedule.nests.end(), [](const Nest& nest) {
      return std::all_of(nest.lines.begin(), nest.lines.end(), [](const Line& line) {
        const auto* instruction = std::get_if<Do>(&line.is);
        return instruction == nullptr || instruction->instruction.empty();
      });
    });
  }

  /// The schedule as it is, or with less in it.
  std::optional<Grid> grid_of(const GridShape& shape, const Schedule& schedule) const {
    const Schedule copies = reduced(schedule, false), plain = reduced(schedule, true);
    std::vector<std::pair<Schedule, std::vector<Schedule>>> tried{
        {schedule, {plain, copies, schedule}}, {copies, {plain, copies}}, {plain, {plain}}};
    for (const std::int64_t tile : kAddedTiles)
      for (const Schedule& one : {copies, plain})
        if (const Schedule more = with_loops(shape, one, tile); more != one)
          tried.emplace_back(more, std::vector{with_loops(shape, plain, tile), more});
    const Schedule scalar = scalar_schedule(shape, schedule);
    tried.push_back({scalar, {}});
    for (auto& [main, rests] : tried) {
      rests.push_back(scalar);
      if (auto grid = GridBuilder(shape, model_, options_, main, rests).run()) return grid;
    }
    return std::nullopt;
  }
  static Schedule scalar_schedule(const GridShape& shape, Schedule schedule) {
    const Computation& statement = shape.kernel.statements[0];
    Nest nest;
    for (const Dim& dim : statement.domain.dims) {
      For loop;
      loop.loops = {{dim.name, 1}};
      nest.lines.push_back(Line{loop});
    }
    Do element;
    element.statement = statement.name;
    nest.lines.push_back(Line{element});
    schedule.splits.clear();
    schedule.lanes.clear();
    schedule.nests = {nest};
    return schedule;
  }
  /// Without prefetches and chosen moves; `all`: without copies in addressed memories, too.
  Schedule reduced(Schedule schedule, bool all) const {
    for (Nest& nest : schedule.nests) {
      std::erase_if(nest.lines, [&](const Line& line) {
        const auto* stage = std::get_if<Stage>(&line.is);
        const auto memory = stage != nullptr ? model_.find_memory(stage->memory) : std::nullopt;
        return stage != nullptr &&
               (stage->ahead > 0 || (all && memory && model_.memory(*memory).kind != MemoryKind::register_file));
      });
      for (Line& line : nest.lines)
        if (auto* stage = std::get_if<Stage>(&line.is)) stage->via.clear();
    }
    return schedule;
  }
  /// With an outer loop over each symbolic parallel dim that has none, and no tiles that leave many rests.
  static Schedule with_loops(const GridShape& shape, Schedule schedule, std::int64_t tile) {
    for (const GridAxis& axis : shape.axes)
      for (Nest& nest : schedule.nests) {
        for (Line& line : nest.lines)
          if (auto* loop = std::get_if<For>(&line.is); loop != nullptr && !loop->unroll)
            for (TiledLoop& tiled : loop->loops)
              if (tiled.dim == axis.dim && tiled.tile > 2 * tile) tiled.tile = tile;
        const bool has = std::any_of(nest.lines.begin(), nest.lines.end(), [&](const Line& line) {
          const auto* loop = std::get_if<For>(&line.is);
          return loop != nullptr && !loop->unroll &&
                 std::any_of(loop->loops.begin(), loop->loops.end(),
                             [&](const TiledLoop& tiled) { return tiled.dim == axis.dim; });
        });
        if (has || axis.reduced) continue;
        For loop;
        loop.loops = {{axis.dim, tile}};
        nest.lines.insert(nest.lines.begin(), Line{loop});
      }
    return schedule;
  }

  const SymbolicKernel& kernel_;
  const HardwareModel& model_;
  const CompileOptions& options_;
  SymbolicCompilation result_;
};

}  // namespace

SymbolicCompilation compile_blocks(const SymbolicKernel& kernel, const HardwareModel& model,
                                   const CompileOptions& options) {
  return BlockCompiler(kernel, model, options).run();
}

}  // namespace isamap
