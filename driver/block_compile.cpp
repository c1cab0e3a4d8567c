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

using BlockCounts = std::vector<std::int64_t>;

/// Where schedules are searched: the extents at these sizes, and at least so many positions.
struct SearchPoint {
  Bindings sizes;
  std::int64_t least = 1;
};

/// The grids of all statements by the schedules found at one search point.
struct GridCandidate {
  std::vector<const Grid*> grids;
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
    if (options_.most_versions < 2 || is_written()) return;
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
  std::vector<Schedule> schedules_of(std::size_t s, const std::function<bool(const Schedule&)>& enough) {
    if (is_written()) return written_schedules(s);
    const GridShape& shape = shapes_[s];
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

  bool is_written() const { return options_.hand_written || !options_.versions.empty(); }

  /// By version.
  std::vector<Schedule> written_schedules(std::size_t s) const {
    std::vector<Schedule> schedules;
    for (const ScheduleVersion& version : options_.versions) schedules.push_back(version.schedules[s]);
    if (!options_.hand_written) return schedules;
    schedules.push_back(*options_.hand_written);
    if (schedules[0].nests.size() == shapes_.size() && schedules[0].splits.empty() && schedules[0].lanes.empty())
      schedules[0].nests = {schedules[0].nests[s]};
    return schedules;
  }

  /// The grids of a schedule file: one for each version.
  bool build_written(std::size_t s) {
    const std::vector<Schedule> schedules = written_schedules(s);
    for (std::size_t v = 0; v < schedules.size(); ++v) {
      auto grid = grid_of(shapes_[s], schedules[v], schedules);
      if (!grid) {
        Diagnostic why = no_program(fmt::format("of version {}", v + 1));
        why.where = options_.versions[v].where;
        refused(Exit::wrong_input, {why});
        return false;
      }
      grids_[s].push_back(std::move(*grid));
    }
    return true;
  }

  /// False: there is none, and `result_` says why.
  bool find_grids(std::size_t s) {
    const GridShape& shape = shapes_[s];
    std::vector<Grid>& grids = grids_.emplace_back();
    if (!options_.versions.empty()) return build_written(s);
    std::vector<Grid> scalar;
    const auto add = [&](const Schedule& schedule, const std::vector<Schedule>& all) {
      auto grid = grid_of(shape, schedule, all);
      if (!grid) return;
      const auto alike = [&](const Grid& one) { return one.schedule == grid->schedule; };
      std::vector<Grid>& list = is_scalar(grid->schedule) ? scalar : grids;
      if (std::none_of(list.begin(), list.end(), alike)) list.push_back(std::move(*grid));
    };
    const bool one = options_.most_versions < 2;
    const std::vector<Schedule> schedules = schedules_of(s, [&](const Schedule& schedule) {
      if (one) add(schedule, {});
      return one && !grids.empty();
    });
    if (!one || options_.hand_written)
      for (const Schedule& schedule : schedules) add(schedule, schedules);
    if (grids.empty()) grids = std::move(scalar);
    if (!grids.empty()) return true;
    if (options_.hand_written || result_.problems.empty())
      refused(Exit::limit, {no_program(options_.hand_written ? "of this file" : "that was found")});
    return false;
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
  std::optional<Grid> grid_of(const GridShape& shape, const Schedule& schedule, const std::vector<Schedule>& all) {
    const Schedule copies = reduced(schedule, false), plain = reduced(schedule, true);
    GridSchedules with{schedule, {plain, copies, schedule}, {}, scalar_schedule(shape, schedule)};
    for (const Schedule& other : all)
      if (other != schedule && with.others.size() < kMostOtherSchedules) with.others.push_back(reduced(other, false));
    std::vector<GridSchedules> tried{with};
    const auto add = [&](const Schedule& main, std::vector<Schedule> rests) {
      tried.push_back({main, std::move(rests), with.others, with.scalar});
    };
    add(copies, {plain, copies});
    add(plain, {plain});
    for (const std::int64_t tile : kAddedTiles)
      for (const Schedule& one : {copies, plain})
        if (const Schedule more = with_loops(shape, one, tile); more != one)
          add(more, {with_loops(shape, plain, tile), more});
    add(with.scalar, {});
    for (const GridSchedules& one : tried) {
      auto grid = build_grid(shape, model_, options_, one);
      if (grid) return std::move(*grid);
      if (why_.empty()) why_ = grid.diagnostics();
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

  // Versions
  // -----------------------------------------------------------------------------------------------------------

  /// Candidate n has the n-th grid of each statement, or its first one.
  void find_candidates() {
    std::size_t most = 0;
    for (const auto& grids : grids_) most = std::max(most, grids.size());
    for (std::size_t n = 0; n < most; ++n) {
      GridCandidate& candidate = candidates_.emplace_back();
      for (const auto& grids : grids_) candidate.grids.push_back(&grids[n < grids.size() ? n : 0]);
    }
    result_.candidates = candidates_.size();
  }

  double price(std::size_t candidate, const Bindings& sizes) const {
    double cycles = 0;
    for (const Grid* grid : candidates_[candidate].grids) {
      const auto cost = cost_of(*grid, model_, options_.schedule.costs, sizes);
      if (!cost) return std::numeric_limits<double>::infinity();
      cycles += cost->cycles;
    }
    return cycles;
  }

  void choose() {
    VersionQuestion question;
    question.costs.resize(candidates_.size());
    for (const Bindings& sizes : sample_sizes(kernel_)) {
      std::vector<double> costs;
      for (std::size_t c = 0; c < candidates_.size(); ++c) costs.push_back(price(c, sizes));
      const double best = *std::min_element(costs.begin(), costs.end());
      if (!(best > 0) || best == std::numeric_limits<double>::infinity()) continue;
      question.samples.push_back(sizes);
      for (std::size_t c = 0; c < costs.size(); ++c) question.costs[c].push_back(costs[c]);
    }
    for (const GridCandidate& candidate : candidates_) {
      double& blocks = question.blocks.emplace_back();
      for (const Grid* grid : candidate.grids) blocks += static_cast<double>(grid->blocks.size());
    }
    for (const GridShape& shape : shapes_)
      for (const GridAxis& axis : shape.axes)
        if (std::find(question.measures.begin(), question.measures.end(), axis.extent) == question.measures.end())
          question.measures.push_back(axis.extent);
    question.price = [&](std::size_t c, const Bindings& sizes) { return price(c, sizes); };
    std::vector<GuardedSchedule> versions;
    for (std::size_t v = 0; v < options_.versions.size(); ++v) versions.push_back({v, options_.versions[v].when});
    if (versions.empty())
      versions = question.samples.empty() ? std::vector<GuardedSchedule>{{0}}
                                          : choose_versions(question, options_.most_versions);
    for (std::size_t s = 0; s < question.samples.size(); ++s) {
      SizeSample sample{question.samples[s], std::numeric_limits<double>::max(), 0,
                        serving(versions, question.samples[s])};
      for (const auto& costs : question.costs) sample.best = std::min(sample.best, costs[s]);
      sample.cycles = question.costs[versions[sample.version].schedule][s];
      result_.samples.push_back(std::move(sample));
    }
    link(versions);
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
      program.versions.push_back({version.when, {}});
      result_.found_at.push_back(0);
      for (const Grid* grid : candidates_[version.schedule].grids) {
        result_.schedules.push_back(grid->schedule);
        program.grids.push_back(limited_to(*grid, largest_extents(*grid, version.when)));
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
  std::vector<GridShape> shapes_;         ///< by statement
  std::vector<std::vector<Grid>> grids_;  ///< by statement
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
