// SPDX-License-Identifier: Apache-2.0
#include "driver/block_compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "driver/grid_builder.h"
#include "driver/grid_versions.h"
#include "isamap/scheduler.h"

namespace isamap {
namespace {

constexpr std::int64_t kLeastPositions[] = {1, 192, 509};  // along each dim, where schedules are searched
constexpr std::int64_t kFewPositions = 8;
constexpr std::int64_t kMostPositions = 2048;
constexpr std::int64_t kAddedTiles[] = {64, 32, 16, 8};  // of dims without a loop
constexpr std::int64_t kLeastEvaluations = 200;          // of searches after the first
constexpr std::size_t kMostOtherSchedules = 4;           // for blocks that none of a grid's own schedules lowers to

constexpr double kLikelyBlocks = 50;  // of a grid that is not lowered yet
constexpr double kGridCycles = 100;   // of the calls of some cells

using BlockCounts = std::vector<std::int64_t>;

/// Where schedules are searched: the extents at these sizes, and at least so many positions.
struct SearchPoint {
  Bindings sizes;
  std::int64_t least = 1;
};

/// A grid whose blocks are found and lowered once a version needs them.
struct PlannedGrid {
  Grid grid;  ///< only a shape and a schedule at first
  bool lowered = false;
  std::vector<GridSchedules> next = {};  ///< to be tried in order
};

/// The grids of all statements by the schedules found at one search point.
struct GridCandidate {
  std::vector<PlannedGrid*> grids;
  bool legal = true;
};

class BlockCompiler {
 public:
  BlockCompiler(const SymbolicKernel& kernel, const HardwareModel& model, const CompileOptions& options)
      : kernel_(kernel), model_(model), options_(options) {}

  SymbolicCompilation run() {
    for (std::size_t s = 0; s < kernel_.sample.statements.size(); ++s) {
      auto shape = grid_shape(kernel_, s);
      if (!shape) return refused(Exit::no_answer, shape.diagnostics());
      shapes_.push_back(std::move(*shape));
    }
    find_points();
    for (std::size_t s = 0; s < shapes_.size(); ++s)
      if (!find_grids(s)) return std::move(result_);
    find_candidates();
    choose();
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

  void find_points() {
    for (const std::int64_t least : kLeastPositions) points_.push_back({kernel_.at, least});
    if (options_.most_versions < 2 || options_.hand_written) return;
    Bindings few;
    for (const SymbolicSize& size : kernel_.facts.sizes) few[size.name] = kFewPositions;
    for (const SymbolicSize& size : kernel_.facts.sizes) {
      Bindings sizes = kernel_.at;
      sizes[size.name] = kFewPositions;
      if (kernel_.facts.sizes.size() > 1) points_.push_back({sizes, 1});
    }
    points_.push_back({few, 1});
  }
  BlockCounts counts_at(const GridShape& shape, const SearchPoint& point) const {
    BlockCounts counts;
    for (const GridAxis& axis : shape.axes)
      counts.push_back(
          std::max(point.least, std::clamp<std::int64_t>(evaluate(axis.extent, point.sizes), 1, kMostPositions)));
    return counts;
  }

  /// The schedules of a statement at the search points, without equal ones, until `enough`; a hand-written one is the
  /// only one.
  std::vector<Schedule> schedules_of(const GridShape& shape, const std::function<bool(const Schedule&)>& enough) {
    if (options_.hand_written) return {*options_.hand_written};
    std::vector<Schedule> schedules;
    std::vector<BlockCounts> searched;
    for (const SearchPoint& point : points_) {
      const BlockCounts counts = counts_at(shape, point);
      if (std::find(searched.begin(), searched.end(), counts) != searched.end()) continue;
      CompileOptions options = options_;
      if (!searched.empty())
        options.schedule.max_evaluations = std::min(options.schedule.max_evaluations, kLeastEvaluations);
      searched.push_back(counts);
      const Compilation compiled = compile(block_kernel(shape, counts, false), model_, options);
      if (!compiled.scheduled) {
        refused(compiled.code, compiled.problems);
        continue;
      }
      const Schedule& found = compiled.scheduled->schedule;
      if (std::find(schedules.begin(), schedules.end(), found) != schedules.end()) continue;
      schedules.push_back(found);
      if (enough(found)) break;
    }
    return schedules;
  }

  /// False: there is none, and `result_` says why.
  bool find_grids(std::size_t s) {
    const GridShape& shape = shapes_[s];
    std::vector<PlannedGrid>& grids = grids_.emplace_back();
    if (options_.most_versions < 2 || options_.hand_written) {
      find_one(shape, grids);
    } else {
      const std::vector<Schedule> schedules = schedules_of(shape, [](const Schedule&) { return false; });
      for (const Schedule& schedule : schedules)
        for (const Schedule& one : {schedule, with_early_copies(shape, schedule)})
          if (std::none_of(grids.begin(), grids.end(),
                           [&](const PlannedGrid& known) { return known.grid.schedule == one; }))
            grids.push_back(grid_of(shape, one, schedules));
    }
    if (!grids.empty()) return true;
    if (options_.hand_written || result_.problems.empty())
      refused(Exit::limit, {no_program(options_.hand_written ? "of this file" : "that was found")});
    return false;
  }
  /// The first schedule that makes a grid; one of instructions rather than a scalar one.
  void find_one(const GridShape& shape, std::vector<PlannedGrid>& grids) {
    std::vector<PlannedGrid> scalar;
    schedules_of(shape, [&](const Schedule& schedule) {
      PlannedGrid grid = grid_of(shape, schedule, {});
      if (complete(shape, grid)) (is_scalar(grid.grid.schedule) ? scalar : grids).push_back(std::move(grid));
      return !grids.empty();
    });
    if (options_.hand_written) {
      PlannedGrid grid = grid_of(shape, *options_.hand_written, {});
      if (complete(shape, grid)) grids.push_back(std::move(grid));
    }
    if (grids.empty()) grids = std::move(scalar);
  }
  Diagnostic no_program(const std::string& which) const {
    std::string why = why_.empty() ? "" : ": " + why_.front().message;
    return error(fmt::format("no program for all sizes: no loops of the schedule {} take every symbolic dim in tiles{}",
                             which, why),
                 "bind sizes with --sizes");
  }

  static bool is_scalar(const Schedule& schedule) {
    return std::all_of(schedule.nests.begin(), schedule.nests.end(), [](const Nest& nest) {
      return std::all_of(nest.lines.begin(), nest.lines.end(), [](const Line& line) {
        const auto* instruction = std::get_if<Do>(&line.is);
        return instruction == nullptr || instruction->instruction.empty();
      });
    });
  }

  /// The schedule as it is, or with less in it. `all`: schedules of other sizes, for blocks of rests.
  PlannedGrid grid_of(const GridShape& shape, const Schedule& schedule, const std::vector<Schedule>& all) const {
    const Schedule copies = reduced(schedule, false), plain = reduced(schedule, true);
    GridSchedules with{schedule, without_equal({plain, copies, schedule}), {}, scalar_schedule(shape, schedule)};
    for (const Schedule& other : all)
      if (other != schedule && with.others.size() < kMostOtherSchedules) with.others.push_back(reduced(other, false));
    std::vector<GridSchedules> tried{with};
    const auto add = [&](const Schedule& main, const std::vector<Schedule>& rests) {
      tried.push_back({main, without_equal(rests), with.others, with.scalar});
    };
    add(copies, {plain, copies});
    add(plain, {plain});
    for (const std::int64_t tile : kAddedTiles)
      for (const Schedule& one : {copies, plain})
        if (const Schedule more = with_loops(shape, one, tile); more != one)
          add(more, {with_loops(shape, plain, tile), more});
    add(with.scalar, {});
    PlannedGrid found;
    found.grid.shape = shape;
    found.grid.schedule = schedule;
    found.next = std::move(tried);
    return found;
  }
  static std::vector<Schedule> without_equal(const std::vector<Schedule>& schedules) {
    std::vector<Schedule> found;
    for (const Schedule& one : schedules)
      if (std::find(found.begin(), found.end(), one) == found.end()) found.push_back(one);
    return found;
  }
  /// Plans the grid and lowers its blocks; false: none of its schedules allows that.
  bool complete(const GridShape& shape, PlannedGrid& plan) {
    while (!plan.lowered && !plan.next.empty()) {
      const GridSchedules schedules = std::move(plan.next.front());
      plan.next.erase(plan.next.begin());
      auto grid = build_grid(shape, model_, options_, schedules);
      plan.lowered = static_cast<bool>(grid);
      if (grid)
        plan.grid = std::move(*grid);
      else if (why_.empty())
        why_ = grid.diagnostics();
    }
    return plan.lowered;
  }
  /// Copies of inputs are packed before all loops: cells of the grid share those (program/shared_copies.h).
  Schedule with_early_copies(const GridShape& shape, Schedule schedule) const {
    for (Nest& nest : schedule.nests) {
      std::vector<Line> early;
      std::erase_if(nest.lines, [&](const Line& line) {
        const auto* stage = std::get_if<Stage>(&line.is);
        if (stage == nullptr || stage->ahead > 0 || stage->slide || stage->buffers > 1 || stage->layout.empty())
          return false;
        const auto memory = model_.find_memory(stage->memory);
        const auto& tensors = shape.kernel.tensors;
        const auto tensor =
            std::find_if(tensors.begin(), tensors.end(), [&](const Tensor& one) { return one.name == stage->tensor; });
        if (!memory || model_.memory(*memory).kind == MemoryKind::register_file || tensor == tensors.end())
          return false;
        if (role_of(shape.kernel, make_id<TensorId>(static_cast<std::size_t>(tensor - tensors.begin()))) != Role::input)
          return false;
        early.push_back(line);
        return true;
      });
      nest.lines.insert(nest.lines.begin(), early.begin(), early.end());
    }
    return schedule;
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

  // Versions
  // -----------------------------------------------------------------------------------------------------------

  /// Candidate n has the n-th grid of each statement, or its first one.
  void find_candidates() {
    std::size_t most = 0;
    for (const auto& grids : grids_) most = std::max(most, grids.size());
    for (std::size_t n = 0; n < most; ++n) {
      GridCandidate& candidate = candidates_.emplace_back();
      for (auto& grids : grids_) candidate.grids.push_back(&grids[n < grids.size() ? n : 0]);
    }
    result_.candidates = candidates_.size();
  }

  double price(std::size_t candidate, const Bindings& sizes) const {
    double cycles = candidates_[candidate].legal ? 0 : std::numeric_limits<double>::infinity();
    for (const PlannedGrid* plan : candidates_[candidate].grids) {
      if (!plan->lowered) {
        cycles += price_of_whole(plan->grid, sizes);
        continue;
      }
      const auto cost = cost_of(plan->grid, model_, options_.schedule.costs, sizes);
      if (!cost) return std::numeric_limits<double>::infinity();
      cycles += cost->cycles;
    }
    return cycles;
  }
  /// Of a grid that is not lowered yet: of its schedule for these very sizes, which is less.
  double price_of_whole(const Grid& grid, const Bindings& sizes) const {
    BlockCounts counts;
    for (const GridAxis& axis : grid.shape.axes) {
      counts.push_back(evaluate(axis.extent, sizes));
      if (counts.back() == 0) return 0;
    }
    const Kernel kernel = block_kernel(grid.shape, counts, false);
    if (has_errors(verify(grid.schedule, kernel, model_))) return std::numeric_limits<double>::infinity();
    const auto cost = isamap::evaluate(grid.schedule, kernel, model_, options_.schedule.costs);
    return cost ? cost->total.cycles + kGridCycles : std::numeric_limits<double>::infinity();
  }

  VersionQuestion question() const {
    VersionQuestion question;
    question.samples = sample_sizes(kernel_);
    question.costs.resize(candidates_.size());
    question.blocks.resize(candidates_.size());
    for (std::size_t c = 0; c < candidates_.size(); ++c) ask_about(c, question);
    for (const GridShape& shape : shapes_)
      for (const GridAxis& axis : shape.axes)
        if (std::find(question.measures.begin(), question.measures.end(), axis.extent) == question.measures.end())
          question.measures.push_back(axis.extent);
    question.price = [this](std::size_t c, const Bindings& sizes) { return price(c, sizes); };
    return question;
  }
  void ask_about(std::size_t candidate, VersionQuestion& question) const {
    question.costs[candidate].clear();
    for (const Bindings& sizes : question.samples) question.costs[candidate].push_back(price(candidate, sizes));
    question.blocks[candidate] = 0;
    for (const PlannedGrid* plan : candidates_[candidate].grids)
      question.blocks[candidate] += plan->lowered ? static_cast<double>(plan->grid.blocks.size()) : kLikelyBlocks;
  }
  /// Without samples where nothing is computed or none is legal.
  static VersionQuestion comparable(VersionQuestion question) {
    for (std::size_t s = question.samples.size(); s-- > 0;) {
      double best = std::numeric_limits<double>::infinity();
      for (const auto& costs : question.costs) best = std::min(best, costs[s]);
      if (best > 0 && best < std::numeric_limits<double>::infinity()) continue;
      question.samples.erase(question.samples.begin() + static_cast<std::ptrdiff_t>(s));
      for (auto& costs : question.costs) costs.erase(costs.begin() + static_cast<std::ptrdiff_t>(s));
    }
    return question;
  }

  /// Only the grids of versions are lowered; where that changes what they cost, the choice is made again.
  bool choose() {
    VersionQuestion all = question();
    while (std::any_of(candidates_.begin(), candidates_.end(), [](const GridCandidate& one) { return one.legal; })) {
      const VersionQuestion asked = comparable(all);
      auto versions = choose_versions(asked, options_.most_versions);
      const auto is_legal = [&](const GuardedSchedule& version) { return candidates_[version.schedule].legal; };
      if (asked.samples.empty() || !std::all_of(versions.begin(), versions.end(), is_legal)) versions = any_version();
      bool changed = false;
      for (const GuardedSchedule& version : versions) changed = complete(version.schedule, all) || changed;
      if (changed) continue;
      take_samples(asked, versions);
      link(versions);
      return true;
    }
    refused(Exit::limit, {no_program("that was found")});
    return false;
  }
  std::vector<GuardedSchedule> any_version() const {
    const auto legal = std::find_if(candidates_.begin(), candidates_.end(), [](const auto& one) { return one.legal; });
    return {{static_cast<std::size_t>(legal - candidates_.begin())}};
  }
  /// True: a grid had to be lowered, and its costs may have changed.
  bool complete(std::size_t candidate, VersionQuestion& question) {
    GridCandidate& one = candidates_[candidate];
    bool changed = false;
    for (std::size_t s = 0; s < one.grids.size(); ++s) {
      if (one.grids[s]->lowered) continue;
      changed = true;
      one.legal = one.legal && complete(shapes_[s], *one.grids[s]);
    }
    if (changed) ask_about(candidate, question);
    return changed;
  }
  void take_samples(const VersionQuestion& question, const std::vector<GuardedSchedule>& versions) {
    for (std::size_t s = 0; s < question.samples.size(); ++s) {
      SizeSample sample{question.samples[s], std::numeric_limits<double>::max(), 0,
                        serving(versions, question.samples[s])};
      for (const auto& costs : question.costs) sample.best = std::min(sample.best, costs[s]);
      sample.cycles = question.costs[versions[sample.version].schedule][s];
      result_.samples.push_back(std::move(sample));
    }
  }

  /// By axis, under the guard of a version.
  static std::vector<std::int64_t> largest_extents(const Grid& grid, const std::vector<SizeFact>& when) {
    std::vector<std::int64_t> most;
    for (const GridAxis& axis : grid.shape.axes) {
      most.push_back(axis.most);
      for (const SizeFact& fact : when)
        if (const AffineExpr bound = fact.nonnegative + axis.extent; bound.is_constant())
          most.back() = most.back() < 0 ? bound.constant() : std::min(most.back(), bound.constant());
    }
    return most;
  }

  void link(const std::vector<GuardedSchedule>& versions) {
    SymbolicProgram program;
    program.kernel = kernel_;
    for (const GuardedSchedule& version : versions) {
      program.versions.push_back({-1, {}, version.when});
      result_.found_at.push_back(0);
      for (const PlannedGrid* plan : candidates_[version.schedule].grids) {
        result_.schedules.push_back(plan->grid.schedule);
        program.grids.push_back(limited_to(plan->grid, largest_extents(plan->grid, version.when)));
      }
    }
    program.arguments = arguments_of(kernel_.sample);
    ISAMAP_CHECK(!uncovered_sizes(program), "the versions do not cover all sizes");
    result_.code = Exit::ok;
    result_.problems.clear();
    result_.program = std::move(program);
  }

  const SymbolicKernel& kernel_;
  const HardwareModel& model_;
  const CompileOptions& options_;
  std::vector<SearchPoint> points_;
  std::vector<GridShape> shapes_;                ///< by statement
  std::vector<std::vector<PlannedGrid>> grids_;  ///< by statement
  std::vector<GridCandidate> candidates_;
  Diagnostics why_;  ///< the first reason against a grid
  SymbolicCompilation result_;
};

}  // namespace

SymbolicCompilation compile_blocks(const SymbolicKernel& kernel, const HardwareModel& model,
                                   const CompileOptions& options) {
  return BlockCompiler(kernel, model, options).run();
}

}  // namespace isamap
