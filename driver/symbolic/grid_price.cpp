// SPDX-License-Identifier: Apache-2.0
#include "driver/symbolic/grid_price.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "driver/symbolic/grid_builder.h"
#include "isamap/scheduler.h"
#include "program/shared_copies.h"

namespace isamap {
namespace {

using CellCounts = std::vector<std::int64_t>;

/// Does each tile of registers have a copy of the output of its own?
bool copies_output_by_tile(const GridShape& shape, const Schedule& schedule, const HardwareModel& model) {
  const Computation& statement = shape.kernel.statements[0];
  const std::string& output = shape.kernel.tensors[statement.write.tensor.index()].name;
  const auto is_copy = [&](const Line& line) {
    const auto* stage = std::get_if<Stage>(&line.is);
    const auto memory = stage != nullptr && stage->tensor == output ? model.find_memory(stage->memory) : std::nullopt;
    return memory && !stage->layout.empty() && model.memory(*memory).kind != MemoryKind::register_file;
  };
  return std::any_of(schedule.nests.begin(), schedule.nests.end(),
                     [&](const Nest& nest) { return std::any_of(nest.lines.begin(), nest.lines.end(), is_copy); });
}

/// Of a sum in lanes with one round along this axis; 0: it has more, or no lanes.
std::int64_t single_round(const GridAxis& axis, std::int64_t count, const Schedule& schedule) {
  for (const VectorizedReduction& lanes : schedule.lanes)
    if (const std::int64_t width = lanes.lanes * lanes.depth; lanes.dim == axis.dim && count / width == 1) return width;
  return 0;
}

double points_of(const Kernel& kernel) {
  double points = 1;
  for (const Dim& dim : kernel.statements[0].domain.dims) points *= static_cast<double>(dim.extent);
  return points;
}

/// What `rounded_up` changes in a shape.
std::string rounding_of(const GridShape& shape) {
  std::string text;
  for (const GridAxis& axis : shape.axes)
    text += print(axis.extent) + (axis.end ? " to " + print(*axis.end) : "") + ";";
  for (const auto& [tensor, copy] : shape.padded) text += fmt::format(" {}", tensor.index());
  return text;
}

/// Do both begin with the same copies? Loops behind them may have other tiles.
bool packs_alike(const Schedule& one, const Schedule& other) {
  if (one.nests.empty() || other.nests.empty()) return false;
  const auto &lines = one.nests[0].lines, &others = other.nests[0].lines;
  const auto is_stage = [](const Line& line) { return std::holds_alternative<Stage>(line.is); };
  const auto end = std::find_if_not(lines.begin(), lines.end(), is_stage);
  const auto other_end = std::find_if_not(others.begin(), others.end(), is_stage);
  return std::equal(lines.begin(), end, others.begin(), other_end);
}

class CellCosts {
 public:
  CellCosts(const Grid& grid, BlockCosts& costs) : grid_(grid), costs_(costs) {}

  /// A block has a loop over rounds of lanes, a kernel of one round has none that the schedule could name: what a round
  /// costs is told from two and three of them. `panels`: it reads the copy of the block before it (`Block::panels`).
  Result<Cost> cost(const Schedule& schedule, CellCounts counts, bool adds,
                    const std::optional<PositionsBefore>& before, bool panels = false) const {
    for (std::size_t axis = 0; axis < counts.size(); ++axis) {
      const std::int64_t round = single_round(grid_.shape.axes[axis], counts[axis], schedule);
      if (round == 0) continue;
      counts[axis] += round;
      auto two = cost(schedule, counts, adds, before, panels);
      counts[axis] += round;
      const auto three = cost(schedule, counts, adds, before, panels);
      if (!two || !three) return two ? three.diagnostics() : two.diagnostics();
      const auto less_one = [](double of_two, double of_three) { return std::max(of_two / 2, 2 * of_two - of_three); };
      two->cycles = less_one(two->cycles, three->cycles);
      two->energy_pJ = less_one(two->energy_pJ, three->energy_pJ);
      two->bytes = less_one(two->bytes, three->bytes);
      return two;
    }
    return cost_of_rounds(schedule, counts, adds, before, panels);
  }

 private:
  Result<Cost> cost_of_rounds(const Schedule& schedule, const CellCounts& counts, bool adds,
                              const std::optional<PositionsBefore>& before, bool panels) const {
    auto own = costs_.of(grid_.shape, schedule, counts, adds);
    if (!own) return own.diagnostics();
    if (before && (panels || packs_alike(schedule, grid_.schedule)))
      own->cycles = std::min(own->cycles, cycles_after(panels ? grid_.schedule : schedule, counts, adds, *before));
    return own;
  }
  double cycles_after(const Schedule& schedule, CellCounts counts, bool adds, const PositionsBefore& before) const {
    counts[before.axis] += before.count;
    const auto& both = costs_.estimated(grid_.shape, schedule, counts, adds);
    counts[before.axis] = before.count;
    const auto& first = costs_.estimated(grid_.shape, schedule, counts, adds);
    return both && first ? std::max(0.0, both->cycles - first->cycles) : std::numeric_limits<double>::infinity();
  }

  const Grid& grid_;
  BlockCosts& costs_;
};

/// One run of an axis in a cell.
struct RunOfCell {
  std::size_t at = 0;   ///< among those that have positions
  std::size_t run = 0;  ///< among all of the axis
  std::int64_t count = 0;
};
using RunsOfCell = std::vector<RunOfCell>;  // by axis

RunsOfCell runs_of_cell(const std::vector<CountedRuns>& runs, std::size_t cell) {
  RunsOfCell own(runs.size());
  for (std::size_t a = runs.size(); a-- > 0; cell /= runs[a].size()) {
    const std::size_t at = cell % runs[a].size();
    own[a] = {at, runs[a][at].first, runs[a][at].second};
  }
  return own;
}

/// Not of the first run along a summed axis: it adds to what other cells have summed up.
bool is_adding(const Grid& grid, const RunsOfCell& cell) {
  for (std::size_t a = 0; a < cell.size(); ++a)
    if (grid.shape.axes[a].reduced && cell[a].at > 0) return true;
  return false;
}

/// The number of its block.
std::size_t block_of(const Grid& grid, const RunsOfCell& cell) {
  std::size_t number = 0;
  for (std::size_t a = 0; a < cell.size(); ++a) number = number * grid.shape.axes[a].runs.size() + cell[a].run;
  return number + (is_adding(grid, cell) ? block_count(grid) : 0);
}

std::size_t cell_count(const std::vector<CountedRuns>& runs) {
  std::size_t cells = 1;
  for (const CountedRuns& of_axis : runs) cells *= of_axis.size();
  return cells;
}

std::vector<CountedRuns> runs_at(const Grid& grid, const Bindings& sizes) {
  std::vector<CountedRuns> runs;
  for (const GridAxis& axis : grid.shape.axes) runs.push_back(runs_at(axis, evaluate(axis.extent, sizes)));
  return runs;
}

CellCounts counts_of(const RunsOfCell& cell) {
  CellCounts counts;
  for (const RunOfCell& run : cell) counts.push_back(run.count);
  return counts;
}

/// Of scalar code at the sample sizes, for each point.
Result<Cost> cost_of_loops(const Grid& grid, BlockCosts& costs, const Bindings& sizes) {
  auto sampled = evaluate(grid.schedule, grid.shape.kernel, costs.model(), costs.factory());
  if (!sampled) return sampled.diagnostics();
  double points = 1;
  for (const AffineExpr& extent : grid.loops->extents) points *= static_cast<double>(evaluate(extent, sizes));
  const double factor = points / std::max(points_of(grid.shape.kernel), 1.0);
  Cost cost = std::move(sampled->total);
  for (double* const value : {&cost.cycles, &cost.scalar_cycles, &cost.energy_pJ, &cost.bytes}) *value *= factor;
  return cost;
}

}  // namespace

CountedRuns runs_at(const GridAxis& axis, std::int64_t extent) {
  CountedRuns runs;
  std::int64_t left = extent, tile = 0;
  const auto add = [&](std::size_t run, std::int64_t count) {
    if (count > 0) runs.emplace_back(run, count);
    left -= count;
  };
  for (std::size_t r = 0; r < axis.runs.size(); ++r) {
    const DimRun& run = axis.runs[r];
    if (run.tile > 0) {
      tile = run.tile;
      const bool is_last = r + 1 == axis.runs.size() || axis.runs[r + 1].tile == 0;
      const bool halved = is_last && halves_remainders(axis) && is_halved(left, tile);
      add(r, left / tile * tile - (halved ? tile : 0));
      if (left > tile) add(r + static_cast<std::size_t>((left + 1) / 2), (left + 1) / 2);
    } else if (run.low <= left && left <= run.high) {
      add(r, left);
    }
  }
  return runs;
}

Kernel kernel_with_constants(const GridShape& shape, const std::vector<std::int64_t>& counts, const Kernel& like) {
  Kernel kernel = block_kernel(shape, counts, false);
  for (std::size_t t = 0; t < kernel.tensors.size(); ++t) kernel.tensors[t].constant = like.tensors[t].constant;
  return kernel;
}

std::string block_key(const GridShape& shape, const Schedule& schedule, const std::vector<std::int64_t>& counts,
                      bool adds) {
  return fmt::format("{} {} {}\n{}", rounding_of(shape), fmt::join(counts, ","), adds, print(schedule));
}

bool BlockCosts::is_legal(const GridShape& shape, const Schedule& schedule, const std::vector<std::int64_t>& counts) {
  if (!estimated(shape, schedule, counts, false)) return false;
  if (schedule.nests.size() == 1) return true;  // what else is checked are tiles that nests share
  return legal_.of(block_key(shape, schedule, counts, false),
                   [&] { return !has_errors(verify(schedule, block_kernel(shape, counts, false), model_)); });
}

const Result<Cost>& BlockCosts::estimated(const GridShape& shape, const Schedule& schedule,
                                          const std::vector<std::int64_t>& counts, bool adds) {
  return known_.of(block_key(shape, schedule, counts, adds), [&]() -> Result<Cost> {
    const PricedBlock block = priced_block(shape, counts, adds, schedule);
    auto cost = evaluate(block.schedule, block.kernel, model_, costs_);
    return cost ? Result<Cost>(std::move(cost->total)) : cost.diagnostics();
  });
}

Result<Cost> BlockCosts::of(const GridShape& shape, const Schedule& schedule, const std::vector<std::int64_t>& counts,
                            bool adds) {
  auto own = estimated(shape, schedule, counts, adds);
  if (!own || !copies_output_by_tile(shape, schedule, model_)) return own;
  const std::vector<std::int64_t> likely = likely_counts(shape);
  const double points = points_of(block_kernel(shape, counts, adds));
  const double likely_points = points_of(block_kernel(shape, likely, false));
  if (points <= likely_points) return own;
  if (const auto& tiles = estimated(shape, schedule, likely, false))
    own->cycles = std::min(own->cycles, tiles->cycles * points / likely_points);
  return own;
}

PricedBlock priced_block(const GridShape& shape, const std::vector<std::int64_t>& counts, bool adds,
                         const Schedule& schedule) {
  PricedBlock block{block_kernel(shape, counts, adds), schedule};
  for (std::size_t t = 0; t < block.kernel.tensors.size(); ++t) {
    if (!is_kept_constant(shape, make_id<TensorId>(t))) continue;
    for (Nest& nest : block.schedule.nests)
      for (Line& line : nest.lines) {
        auto* stage = std::get_if<Stage>(&line.is);
        if (stage == nullptr) break;  // copies before all loops are kept
        if (stage->tensor != block.kernel.tensors[t].name || stage->layout.empty()) continue;
        stage->ahead_of_time = block.kernel.tensors[t].constant = true;
      }
  }
  return block;
}

std::vector<bool> shared_axes(const Schedule& schedule, const GridShape& shape, const HardwareModel& model) {
  std::vector<bool> shared(shape.axes.size(), false);
  const Kernel& kernel = shape.kernel;
  for (const Line& line : schedule.nests.empty() ? std::vector<Line>{} : schedule.nests[0].lines) {
    const auto* stage = std::get_if<Stage>(&line.is);
    if (stage == nullptr) break;
    if (stage->ahead_of_time) continue;
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

double cell_cycles(const Schedule& schedule, const Grid& grid, const std::vector<std::int64_t>& counts,
                   const std::optional<PositionsBefore>& before, BlockCosts& costs) {
  constexpr double illegal = std::numeric_limits<double>::infinity();
  if (!costs.is_legal(grid.shape, schedule, counts)) return illegal;
  const auto cost = CellCosts(grid, costs).cost(schedule, counts, false, before);
  return cost ? cost->cycles : illegal;
}

std::vector<const Schedule*> cheapest_first(std::vector<const Schedule*> schedules, const Grid& grid,
                                            const std::vector<std::int64_t>& counts,
                                            const std::optional<PositionsBefore>& before, BlockCosts& costs) {
  if (schedules.size() < 2) return schedules;
  std::map<const Schedule*, double> cycles;
  for (const Schedule* schedule : schedules) cycles[schedule] = cell_cycles(*schedule, grid, counts, before, costs);
  std::stable_sort(schedules.begin(), schedules.end(),
                   [&](const Schedule* a, const Schedule* b) { return cycles.at(a) < cycles.at(b); });
  return schedules;
}

bool has_single_round(const Grid& grid, const Bindings& sizes) {
  for (const GridAxis& axis : grid.shape.axes)
    for (const auto& [run, count] : runs_at(axis, evaluate(axis.extent, sizes)))
      if (!axis.end && single_round(axis, count, grid.schedule) > 0) return true;
  return false;
}

Result<Cost> cost_of(const Grid& grid, BlockCosts& costs, const Bindings& sizes) {
  if (grid.loops) return cost_of_loops(grid, costs, sizes);
  return cost_of_runs(grid, costs, runs_at(grid, sizes));
}

std::set<std::size_t> blocks_at(const Grid& grid, const Bindings& sizes) {
  const std::vector<CountedRuns> runs = runs_at(grid, sizes);
  std::set<std::size_t> blocks;
  for (std::size_t cell = 0; cell < cell_count(runs); ++cell) blocks.insert(block_of(grid, runs_of_cell(runs, cell)));
  return blocks;
}

Result<Cost> cost_of_runs(const Grid& grid, BlockCosts& costs, const std::vector<CountedRuns>& runs) {
  const std::size_t cells = cell_count(runs);
  std::vector<Cost> all;
  const CellCosts prices(grid, costs);
  const std::vector<bool> shared = shared_axes(grid.schedule, grid.shape, costs.model());
  for (std::size_t cell = 0; cell < cells; ++cell) {
    const RunsOfCell own = runs_of_cell(runs, cell);
    const Block& block = grid.blocks[block_of(grid, own)];
    std::optional<PositionsBefore> before;
    for (std::size_t a = 0; a < own.size() && !before; ++a) {
      if (!shared[a] || own[a].at == 0) continue;
      RunsOfCell first = own;
      first[a] = {0, runs[a][0].first, runs[a][0].second};
      if (runs[a][0].first == 0 || packs_alike(grid.blocks[block_of(grid, first)].schedule, grid.schedule))
        before = PositionsBefore{a, runs[a][0].second};
    }
    auto cost = prices.cost(block.schedule, counts_of(own), is_adding(grid, own), before, !block.panels.empty());
    if (!cost) return cost.diagnostics();
    all.push_back(std::move(*cost));
  }
  Cost sum = sum_of(all);
  sum.cycles += costs.model().timing.block_call * static_cast<double>(cells);
  return sum;
}

}  // namespace isamap
