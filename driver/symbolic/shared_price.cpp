// SPDX-License-Identifier: Apache-2.0
#include "driver/symbolic/shared_price.h"

#include <fmt/format.h>

#include <algorithm>

#include "driver/symbolic/grid_builder.h"
#include "hwdesc/model/one_thread.h"
#include "program/cell_shares.h"
#include "program/shared_copies.h"
#include "program/strip_groups.h"

namespace isamap {
namespace {

double rounded(double cycles) { return std::stod(fmt::format("{:.3g}", cycles)); }

/// Inputs of which cells share a copy that calls pack.
std::set<TensorId> copied_inputs(const Grid& grid) {
  std::set<TensorId> copied;
  for (const Block& block : grid.blocks)
    for (const SharedCopy& copy : shared_copies(block, grid.shape))
      if (!is_kept_constant(grid.shape, copy.tensor)) copied.insert(copy.tensor);
  return copied;
}

void multiply(SizeProduct& product, const SizeProduct& by) {
  product.number *= by.number;
  product.factors.insert(product.factors.end(), by.factors.begin(), by.factors.end());
}

SizeProduct points_of(const GridShape& shape) {
  SizeProduct points;
  for (const Dim& dim : shape.kernel.statements[0].domain.dims) {
    const auto axis =
        std::find_if(shape.axes.begin(), shape.axes.end(), [&](const GridAxis& one) { return one.dim == dim.name; });
    if (axis == shape.axes.end()) {
      points.number *= dim.extent;
      continue;
    }
    multiply(points, axis->extent);
  }
  return points;
}

SizeProduct elements_of(const GridShape& shape, TensorId tensor) {
  SizeProduct elements;
  if (shape.extents[tensor.index()].empty()) {  // fused dims are an axis
    const std::vector<AxisMove>& moves = shape.moves[tensor.index()];
    for (std::size_t d = 0; d < moves.size(); ++d)
      if (moves[d].axis < 0)
        elements.number *= shape.kernel.tensors[tensor.index()].shape[d];
      else
        multiply(elements, shape.axes[static_cast<std::size_t>(moves[d].axis)].extent);
  }
  for (const AffineExpr& extent : shape.extents[tensor.index()])
    if (extent.is_constant())
      elements.number *= extent.constant();
    else
      elements.factors.push_back(extent);
  return elements;
}

/// Cycles at the likely sizes.
struct LikelyCycles {
  double of_a_point = 0, of_a_copied_element = 0;
};

std::optional<LikelyCycles> likely_cycles(const Grid& grid, const std::set<TensorId>& copied, BlockCosts& costs) {
  std::vector<std::int64_t> counts = likely_counts(grid.shape);
  const auto once = costs.of(grid.shape, grid.schedule, counts, false);
  if (!once) return std::nullopt;
  const Kernel kernel = block_kernel(grid.shape, counts, false);
  double points = 1, copies = 0, elements = 0;
  for (const Dim& dim : kernel.statements[0].domain.dims) points *= static_cast<double>(dim.extent);
  if (points < 1) return std::nullopt;
  const std::vector<bool> shared = shared_axes(grid.schedule, grid.shape, costs.model());
  if (const auto axis = std::find(shared.begin(), shared.end(), true); axis != shared.end()) {
    const auto number = static_cast<int>(axis - shared.begin());
    for (const TensorId tensor : copied) {
      const std::vector<int> axes = axes_of(grid.shape, tensor);
      if (std::find(axes.begin(), axes.end(), number) == axes.end())
        elements += static_cast<double>(element_count(kernel.tensors[tensor.index()]));
    }
    counts[static_cast<std::size_t>(number)] *= 2;
    const auto twice = costs.of(grid.shape, grid.schedule, counts, false);
    if (twice && elements > 0) copies = std::clamp(2 * once->cycles - twice->cycles, 0.0, once->cycles);
  }
  return LikelyCycles{rounded((once->cycles - copies) / points), elements > 0 ? rounded(copies / elements) : 0};
}

CellShares cell_shares(const Grid& grid, BlockCosts& costs, std::int64_t threads, double start) {
  CellShares shares;
  const std::vector<GridAxis>& axes = grid.shape.axes;
  std::set<int> parallel;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    if (axes[a].reduced || axes[a].runs.empty() || axes[a].runs[0].tile == 0) continue;
    shares.tiles[static_cast<int>(a)] = axes[a].runs[0].tile;
    parallel.insert(static_cast<int>(a));
  }
  if (grid.loops || parallel.empty()) return {};
  const std::set<TensorId> copied = copied_inputs(grid);
  const auto cycles = likely_cycles(grid, copied, costs);
  if (!cycles) return {};
  shares.threads = threads;
  shares.start = start;
  shares.costs.push_back({cycles->of_a_point, points_of(grid.shape), parallel});
  for (const TensorId tensor : copied) {
    SharedCost copy{cycles->of_a_copied_element, elements_of(grid.shape, tensor), {}};
    for (const int axis : axes_of(grid.shape, tensor))
      if (parallel.contains(axis)) copy.axes.insert(axis);
    if (copy.cycles > 0) shares.costs.push_back(std::move(copy));
  }
  return shares;
}

/// The runs of each axis of a share, counted along the first axis fastest.
std::vector<CountedRuns> runs_of_share(const Grid& grid, const std::vector<CountedRuns>& runs,
                                       const std::vector<std::int64_t>& shares, std::int64_t number) {
  std::vector<CountedRuns> own;
  for (std::size_t a = 0; a < runs.size(); ++a) {
    own.push_back(shares[a] > 1 ? stretch_of(runs[a], grid.shape.axes[a], number % shares[a], shares[a]) : runs[a]);
    number /= shares[a];
  }
  return own;
}

/// Of a statement alone.
Result<Cost> cost_of_statement(const Grid& grid, BlockCosts& costs, const Bindings& sizes) {
  auto whole = cost_of(grid, costs, sizes);
  if (!whole || grid.loops) return whole;
  const std::vector<std::int64_t> shares = shares_at(grid, sizes);
  std::int64_t count = 1;
  for (const std::int64_t along : shares) count *= along;
  if (count < 2) return whole;
  std::vector<CountedRuns> runs;
  for (const GridAxis& axis : grid.shape.axes) runs.push_back(runs_at(axis, evaluate(axis.extent, sizes)));
  double longest = 0;
  for (std::int64_t number = 0; number < count; ++number) {
    const auto own = cost_of_runs(grid, costs, runs_of_share(grid, runs, shares, number));
    if (!own) return own.diagnostics();
    longest = std::max(longest, own->cycles);
  }
  whole->cycles = longest + grid.shares.start;
  return whole;
}

/// Of statements in strips, which are distributed together.
void distribute_strips(Cost& cost, const StripGroup& group, const std::vector<const Grid*>& grids,
                       const SymbolicKernel& kernel, const Bindings& sizes) {
  const std::int64_t threads = threads_of_strips(group, grids);
  if (threads < 2) return;
  double cycles = 0;
  for (std::size_t s = group.first; s < group.first + group.count; ++s)
    cycles += cycles_at(grids[s]->shares.costs.front(), sizes);
  const double start = grids[group.first]->shares.start;
  const std::int64_t rows = evaluate(group.extent, sizes), strip = strip_rows(group, kernel, sizes);
  const std::int64_t strips = (rows + strip - 1) / strip;
  const std::int64_t count = shares_of(strips, cycles, threads, start);
  if (count < 2) return;
  cost.cycles *= static_cast<double>((strips + count - 1) / count) / static_cast<double>(strips);
  cost.cycles += start;
}

}  // namespace

void share_cells(SymbolicProgram& program, const HardwareModel& machine, const CostModelFactory& costs) {
  const auto unit = threads_of_programs(machine);
  if (!unit) return;
  const HardwareModel one = on_one_thread(machine);
  const double start = machine.unit(*unit).threads.start;
  const auto share = [&](Grid& grid) {
    BlockCosts blocks(one, costs);
    grid.shares = cell_shares(grid, blocks, thread_count(machine), start);
  };
  for (Grid& grid : program.grids) {
    share(grid);
    for (Grid& edge : grid.edges) share(edge);
  }
}

std::vector<BlockCosts> costs_of_statements(const SymbolicProgram& program, const HardwareModel& one_thread,
                                            const CostModelFactory& costs) {
  std::vector<BlockCosts> all;
  for (std::size_t s = 0; s < program.kernel.sample.statements.size(); ++s) all.emplace_back(one_thread, costs);
  return all;
}

Result<Cost> cost_on_threads(const SymbolicProgram& program, std::size_t version, const Bindings& sizes,
                             std::vector<BlockCosts>& costs) {
  const std::size_t statements = program.kernel.sample.statements.size();
  std::vector<const Grid*> grids;
  for (std::size_t s = 0; s < statements; ++s) grids.push_back(&program.grids[version * statements + s]);
  std::vector<Cost> all;
  for (const StripGroup& group : strip_groups(program.kernel, grids)) {
    std::vector<Cost> of_group;
    for (std::size_t s = group.first; s < group.first + group.count; ++s) {
      auto cost = group.count > 1 ? cost_of(*grids[s], costs[s], sizes) : cost_of_statement(*grids[s], costs[s], sizes);
      if (!cost) return cost.diagnostics();
      of_group.push_back(std::move(*cost));
    }
    all.push_back(sum_of(of_group));
    if (group.count > 1) distribute_strips(all.back(), group, grids, program.kernel, sizes);
  }
  return sum_of(all);
}

}  // namespace isamap
