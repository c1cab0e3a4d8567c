// SPDX-License-Identifier: Apache-2.0
#include "driver/symbolic/edge_grids.h"

#include <algorithm>

#include "driver/symbolic/grid_plan.h"
#include "program/edge_shapes.h"
#include "program/skipped_terms.h"
#include "scheduler/nest/out_of_bounds.h"
#include "scheduler/side_by_side.h"
#include "support/threads.h"

namespace isamap {
namespace {

constexpr std::int64_t edge_evaluations = 60;  // of a search: edges are few positions, with few choices
/// Loops and calls of all grids at edges together: g++ compiles as many in about twice the time of the headers
/// (fitted). Smaller tiles cost little where positions are few; where they do not help, edges read a padded copy.
constexpr double most_edge_code = 2000;

/// A sum of products that skips terms takes the inputs for finite.
void assume_finite(Program& program, const Computation& statement) {
  const Assumption finite = finite_products();
  const auto is_stated = [&](const Assumption& one) { return one.kind == finite.kind && one.text == finite.text; };
  if (assumes_finite(statement) && std::none_of(program.assumptions.begin(), program.assumptions.end(), is_stated))
    program.assumptions.push_back(finite);
}

/// The grid of one edge by a schedule that is searched for it; nothing: none lowers.
/// `most_code`: of its blocks.
std::optional<Grid> edge_grid(const GridShape& shape, double most_code, const HardwareModel& model,
                              CompileOptions options) {
  options.schedule.max_evaluations = std::min(options.schedule.max_evaluations, edge_evaluations);
  const Compilation compiled = compile(block_kernel(shape, likely_counts(shape), false), model, options);
  if (!compiled.scheduled) return std::nullopt;
  LoweredBlocks lowered(model, options);
  for (const Schedule& schedule : schedules_to_plan(shape, compiled.scheduled->schedule, model)) {
    PlannedGrid plan = planned_grid(shape, schedule, {}, model);
    for (GridSchedules& one : plan.next) one.most_code = most_code;
    complete(plan, shape, lowered);
    if (is_refused(plan)) continue;
    for (Block& block : plan.grid.blocks) assume_finite(block.program, shape.kernel.statements[0]);
    return std::move(plan.grid);
  }
  return std::nullopt;
}

/// Empty: one has no schedule that lowers, or their code does not fit.
std::vector<Grid> edge_grids(const std::vector<GridShape>& shapes, const HardwareModel& model,
                             const CompileOptions& options) {
  std::vector<Grid> edges;
  double code = 0;
  const auto made = [&](std::size_t n) {
    return edge_grid(shapes[n], most_edge_code / static_cast<double>(shapes.size()), model, options);
  };
  const auto add = [&](std::optional<Grid> edge) {
    if (!edge || (code += code_of(*edge)) > most_edge_code) return false;
    edges.push_back(std::move(*edge));
    return true;
  };
  if (shapes.empty() || !add(made(0))) return {};  // where one fails, most others would, too
  const bool side_by_side = options.schedule.workers && may_run_side_by_side(options.schedule);
  std::vector<std::optional<Grid>> others;
  if (side_by_side)
    others = for_each_in_parallel(*options.schedule.workers, shapes.size() - 1, [&](auto n) { return made(n + 1); });
  for (std::size_t n = 1; n < shapes.size(); ++n)
    if (!add(side_by_side ? std::move(others[n - 1]) : made(n))) return {};
  return edges;
}

/// The shape with as many positions as any of the grids has: one set of edges serves all versions.
GridShape widest(GridShape shape, const std::vector<Grid>& grids) {
  for (const Grid& grid : grids)
    for (std::size_t a = 0; a < shape.axes.size(); ++a) {
      std::int64_t& most = shape.axes[a].most;
      const std::int64_t other = grid.shape.axes[a].most;
      most = most < 0 || other < 0 ? -1 : std::max(most, other);  // -1: any number
    }
  return shape;
}

/// Of a tensor that is read twice a term vanishes where one of the reads lies outside, or only a part of it does.
bool is_read_once(const GridShape& shape, TensorId tensor) {
  const auto& reads = shape.kernel.statements[0].reads;
  return std::count_if(reads.begin(), reads.end(), [&](const Access& read) { return read.tensor == tensor; }) == 1;
}

/// Where positions have no zones, the loops over terms of a padded tensor skip what lies outside.
void skip_terms(Grid& grid, const SymbolicKernel& kernel, const HardwareModel& model) {
  for (const auto& [tensor, copy] : grid.shape.padded) {
    const std::size_t whole = grid.shape.tensors[tensor.index()].index();
    if (!grid.shape.first.empty() || !is_read_once(grid.shape, tensor) ||
        !may_skip(kernel.sample, kernel.sample.statements[0], grid.shape.tensors[tensor.index()]))
      continue;
    for (Block& block : grid.blocks) {
      auto found = skipped_terms(block.program, model, tensor);
      std::erase_if(found, [&](const auto& one) {
        const std::size_t d = one.second.dim;
        return copy.low[d] == 0 && copy.extents[d] == kernel.shapes[whole][d];
      });
      if (found.empty()) continue;
      block.skipped.merge(found);
      assume_finite(block.program, grid.shape.kernel.statements[0]);
    }
  }
}

}  // namespace

void add_edges(SymbolicProgram& program, const HardwareModel& model, const CompileOptions& options) {
  const Kernel& kernel = program.kernel.sample;
  if (options.strict_float || options.hand_written || !options.versions.empty() || kernel.statements.size() != 1)
    return;
  std::vector<Grid> known;  // of the version before
  if (program.grids.empty() || program.grids.front().loops) return;
  const GridShape all = widest(program.grids.front().shape, program.grids);
  for (Grid& grid : program.grids) {
    const auto zones = padding_zones(grid.shape, program.kernel);
    if (!zones) skip_terms(grid, program.kernel, model);
    if (!zones || !is_read_once(grid.shape, zones->tensor) ||
        !may_skip(kernel, kernel.statements[0], grid.shape.tensors[zones->tensor.index()]))
      continue;
    if (known.empty() && (known = edge_grids(edge_shapes(all, program.kernel, *zones), model, options)).empty()) return;
    grid.edges = known;
  }
}

}  // namespace isamap
