// SPDX-License-Identifier: Apache-2.0
#include "driver/symbolic/block_compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <tuple>

#include "driver/symbolic/edge_grids.h"
#include "driver/symbolic/grid_plan.h"
#include "driver/symbolic/grid_price.h"
#include "driver/symbolic/grid_versions.h"
#include "driver/symbolic/shared_price.h"
#include "driver/symbolic/statement_loops.h"
#include "driver/symbolic/symbolic_arguments.h"
#include "driver/symbolic/tiles_of_nests.h"
#include "hwdesc/model/one_thread.h"
#include "ir/symbolic/facts.h"
#include "ir/symbolic/refusal.h"
#include "isamap/scheduler.h"
#include "program/packed_constants.h"
#include "scheduler/side_by_side.h"
#include "support/threads.h"

namespace isamap {
namespace {

constexpr std::int64_t least_positions[] = {1, 192, 509};  // along each dim, where schedules are searched
constexpr std::int64_t most_positions = 2048;
constexpr std::int64_t least_evaluations = 200;  // of searches after the first

constexpr double masked_runs = 3;       // of an axis in lanes: tiles, and masks of a half and of a whole vector
constexpr double usual_text = 85;       // of a function (`text_of`): versions count their code in these
constexpr double unknown_regret = 1.2;  // of blocks that are not lowered yet

constexpr double illegal_price = std::numeric_limits<double>::infinity();  // cycles

using BlockCounts = std::vector<std::int64_t>;

/// Where schedules are searched: the extents at these sizes, and at least so many positions.
struct SearchPoint {
  Bindings sizes;
  std::int64_t least = 1;
};

/// The grids of all statements by the schedules found at one search point.
struct GridCandidate {
  std::vector<PlannedGrid*> grids;
  bool legal = true;
};

/// Of several search points: the extents of `kernel.at`, and few positions along one dim or all.
std::vector<SearchPoint> search_points(const SymbolicKernel& kernel, const std::vector<std::int64_t>& few_positions,
                                       bool several) {
  std::vector<SearchPoint> points;
  for (const std::int64_t least : least_positions) points.push_back({kernel.at, least});
  if (!several) return points;
  for (const std::int64_t few : few_positions) {
    Bindings all;
    for (const SymbolicSize& size : kernel.facts.sizes) all[size.name] = few;
    for (const SymbolicSize& size : kernel.facts.sizes) {
      Bindings sizes = kernel.at;
      sizes[size.name] = few;
      const bool is_less = few < kernel.at.at(size.name);  // more than the likely ones have a point of their own
      if (kernel.facts.sizes.size() > 1 && is_less) points.push_back({sizes, 1});
    }
    if (few == few_positions.front()) points.push_back({all, 1});
  }
  return points;
}
BlockCounts counts_at(const GridShape& shape, const SearchPoint& point) {
  BlockCounts counts;
  for (const GridAxis& axis : shape.axes)
    counts.push_back(
        std::max(point.least, std::clamp<std::int64_t>(evaluate(axis.extent, point.sizes), 1, most_positions)));
  return counts;
}

/// The tiles of a dim in the loops of a schedule, the outermost first.
std::vector<std::int64_t> loop_tiles(const Schedule& schedule, const std::string& dim) {
  std::vector<std::int64_t> tiles;
  for (const Nest& nest : schedule.nests)
    for (const Line& line : nest.lines)
      if (const auto* loop = std::get_if<For>(&line.is); loop != nullptr && !loop->unroll)
        for (const TiledLoop& tiled : loop->loops)
          if (tiled.dim == dim) tiles.push_back(tiled.tile);
  return tiles;
}

/// Of a grid that is not lowered yet: along each axis the tiles, and what they leave.
double likely_cells(const Grid& grid, const BlockCounts& counts) {
  double cells = 1;
  for (std::size_t a = 0; a < counts.size(); ++a) {
    const std::vector<std::int64_t> tiles = loop_tiles(grid.schedule, grid.shape.axes[a].dim);
    if (!tiles.empty() && counts[a] > tiles.front() && counts[a] % tiles.front() != 0) cells *= 2;
  }
  return cells;
}

std::set<std::string> dims_of(const GridShape& shape) {
  std::set<std::string> dims;
  for (const GridAxis& axis : shape.axes) dims.insert(axis.dim);
  return dims;
}

/// Has an instruction dim a symbolic dim beside others? No loop walks it then.
bool fuses_axes(const Schedule& schedule, const GridShape& shape) {
  const std::set<std::string> dims = dims_of(shape);
  for (const Nest& nest : schedule.nests)
    for (const Line& line : nest.lines)
      if (const auto* instruction = std::get_if<Do>(&line.is))
        for (const auto& [name, digits] : instruction->dims)
          if (fuses_any(digits, dims)) return true;
  return false;
}

/// Of a grid without runs: along each axis a block of tiles, and one for each number of positions they leave.
double likely_blocks(const Grid& grid) {
  double blocks = 1;
  for (const GridAxis& axis : grid.shape.axes) {
    if (axis.reduced) continue;  // their remainders are summed up one by one, or rounded up
    const std::vector<std::int64_t> tiles = loop_tiles(grid.schedule, axis.dim);
    if (is_in_lanes(grid.schedule, axis.dim))
      blocks *= masked_runs;
    else if (!tiles.empty())
      blocks *= static_cast<double>(tiles.back());
  }
  return blocks;
}

/// Functions of a usual size with as much text.
double blocks_of(const PlannedGrid& plan) {
  return plan.stage == GridStage::planned ? likely_blocks(plan.grid) : plan.text / usual_text;
}

/// Of a grid without runs: of its schedule for these very sizes, which is less.
double price_of_whole(const Grid& grid, const Bindings& sizes, BlockCosts& costs) {
  BlockCounts counts;
  for (const GridAxis& axis : grid.shape.axes) {
    counts.push_back(evaluate(axis.extent, sizes));
    if (counts.back() == 0) return 0;
  }
  if (!costs.is_legal(grid.shape, grid.schedule, counts)) return illegal_price;
  const auto cost = costs.of(grid.shape, grid.schedule, counts, false);
  return cost ? cost->cycles + costs.model().timing.block_call * likely_cells(grid, counts) : illegal_price;
}

/// By axis, under the guard of a version.
std::vector<std::int64_t> largest_extents(const Grid& grid, const std::vector<SizeFact>& when) {
  std::vector<std::int64_t> most;
  for (const GridAxis& axis : grid.shape.axes) {
    most.push_back(axis.most);
    for (const SizeFact& fact : when)
      if (const auto extent = affine_extent(axis); extent && (fact.nonnegative + *extent).is_constant()) {
        const std::int64_t bound = (fact.nonnegative + *extent).constant();
        most.back() = most.back() < 0 ? bound : std::min(most.back(), bound);
      }
  }
  return most;
}

/// By axis, of a version that is asked after those before it. Strips and zones of a dim may have less.
std::vector<std::int64_t> least_extents(const Grid& grid, const SymbolicKernel& kernel,
                                        const std::vector<SizeFact>& when) {
  std::vector<std::int64_t> least(grid.shape.axes.size(), 0);
  if (kernel.sample.statements.size() > 1 || !grid.shape.padded.empty()) return least;
  for (std::size_t a = 0; a < least.size(); ++a) {
    const auto extent = affine_extent(grid.shape.axes[a]);
    if (!extent) continue;
    if (const auto range = Facts(kernel.facts).interval(*extent)) least[a] = std::max<std::int64_t>(range->low, 0);
    for (const SizeFact& fact : when)
      if (const AffineExpr bound = fact.nonnegative - *extent; bound.is_constant())
        least[a] = std::max(least[a], -bound.constant());
  }
  return least;
}

/// What holds where version `v` serves: its guard, and that those before it do not, of which those of one condition
/// have a negation that is one.
std::vector<SizeFact> facts_of_version(const std::vector<GuardedSchedule>& versions, std::size_t v) {
  std::vector<SizeFact> facts = versions[v].when;
  for (std::size_t before = 0; before < v; ++before)
    if (const auto& when = versions[before].when; when.size() == 1) facts.push_back({"", -when[0].nonnegative - 1, {}});
  return facts;
}

/// Without the blocks that no size of the version needs.
Grid limited_to(const Grid& grid, const SymbolicKernel& kernel, const std::vector<SizeFact>& facts) {
  return limited_to(grid, least_extents(grid, kernel, facts), largest_extents(grid, facts));
}

/// What guards compare for an axis: its extent, or those of the dims that were fused.
std::vector<AffineExpr> measures_of(const GridAxis& axis) {
  if (const auto extent = affine_extent(axis)) return {*extent};
  return axis.extent.factors;
}

bool is_refused(const std::vector<PlannedGrid>& plans) {
  return std::all_of(plans.begin(), plans.end(), [](const PlannedGrid& plan) { return is_refused(plan); });
}

double price_of(const PlannedGrid& plan, const Bindings& sizes, BlockCosts& costs) {
  if (is_refused(plan)) return illegal_price;
  if (plan.stage == GridStage::planned) return price_of_whole(plan.grid, sizes, costs);
  // Samples are multiples of lanes, mostly: what wide lanes leave is not in their prices. Softmax of 52 to 82 columns
  // took 1.5 to 2.1 times as long by lanes of 32 that were chosen by the price of one round.
  if (has_single_round(plan.grid, sizes)) return illegal_price;
  const auto cost = cost_of(plan.grid, costs, sizes);
  return cost ? cost->cycles : illegal_price;
}

/// The stage of the grid that is made least.
GridStage stage_of(const GridCandidate& candidate) {
  GridStage least = GridStage::printable;
  for (const PlannedGrid* plan : candidate.grids) least = std::min(least, plan->stage);
  return least;
}

/// Without samples where nothing is computed or none is legal. A schedule that is illegal at a sample may have blocks
/// that serve it; before they are known they are thought to be worse than the best.
VersionQuestion comparable(VersionQuestion question, const std::vector<GridCandidate>& candidates) {
  for (std::size_t s = question.samples.size(); s-- > 0;) {
    double best = illegal_price;
    for (const auto& costs : question.costs) best = std::min(best, costs[s]);
    if (best > 0 && best < illegal_price) {
      for (std::size_t c = 0; c < candidates.size(); ++c)
        if (question.costs[c][s] == illegal_price && candidates[c].legal &&
            stage_of(candidates[c]) == GridStage::planned)
          question.costs[c][s] = unknown_regret * best;
      continue;
    }
    question.begins_likely = question.begins_likely && s > 0;
    question.samples.erase(question.samples.begin() + static_cast<std::ptrdiff_t>(s));
    for (auto& costs : question.costs) costs.erase(costs.begin() + static_cast<std::ptrdiff_t>(s));
  }
  return question;
}

/// What grids cost at the samples; kept until more of a grid is made.
class SampledPrices {
 public:
  /// `lowered`: by statement.
  SampledPrices(std::vector<Bindings> samples, std::vector<LoweredBlocks>& lowered)
      : samples_(std::move(samples)), lowered_(lowered) {}

  const std::vector<Bindings>& samples() const { return samples_; }
  double at(std::size_t statement, const PlannedGrid& plan, std::size_t sample) {
    const auto [known, is_new] = prices_.try_emplace(key_of(plan, sample));
    if (is_new) known->second = price_of(plan, samples_[sample], lowered_[statement].costs());
    return known->second;
  }
  std::vector<double> of(const GridCandidate& candidate) {
    std::vector<double> costs(samples_.size(), candidate.legal ? 0 : illegal_price);
    for (std::size_t sample = 0; sample < samples_.size(); ++sample)
      for (std::size_t s = 0; s < candidate.grids.size(); ++s) costs[sample] += at(s, *candidate.grids[s], sample);
    return costs;
  }
  /// Of all grids that are planned, side by side.
  void add(const std::vector<std::vector<PlannedGrid>>& statements, Workers& workers) {
    for (std::size_t s = 0; s < statements.size(); ++s) {
      const auto prices = for_each_in_parallel(workers, statements[s].size() * samples_.size(), [&](std::size_t n) {
        return price_of(statements[s][n / samples_.size()], samples_[n % samples_.size()], lowered_[s].costs());
      });
      for (std::size_t n = 0; n < prices.size(); ++n)
        prices_.try_emplace(key_of(statements[s][n / samples_.size()], n % samples_.size()), prices[n]);
    }
  }
  /// At any sizes, of grids with all their blocks.
  double at(const GridCandidate& candidate, const Bindings& sizes) {
    ISAMAP_CHECK(!candidate.legal || stage_of(candidate) == GridStage::printable, "versions have their blocks");
    double cycles = candidate.legal ? 0 : illegal_price;
    for (std::size_t s = 0; s < candidate.grids.size(); ++s)
      cycles += price_of(*candidate.grids[s], sizes, lowered_[s].costs());
    return cycles;
  }

 private:
  /// A grid, its schedules that are left, stage, and sample.
  using Key = std::tuple<const PlannedGrid*, std::size_t, GridStage, std::size_t>;
  static Key key_of(const PlannedGrid& plan, std::size_t sample) {
    return {&plan, plan.next.size(), plan.stage, sample};
  }

  std::vector<Bindings> samples_;
  std::vector<LoweredBlocks>& lowered_;
  std::map<Key, double> prices_;
};

/// Candidate n has the n-th grid of each statement, or its first one; the others have the cheapest ones at a sample.
std::vector<GridCandidate> find_candidates(std::vector<std::vector<PlannedGrid>>& statements, SampledPrices& prices) {
  std::vector<GridCandidate> candidates;
  std::size_t most = 0;
  for (const auto& grids : statements) most = std::max(most, grids.size());
  for (std::size_t n = 0; n < most; ++n) {
    GridCandidate& candidate = candidates.emplace_back();
    for (auto& grids : statements) candidate.grids.push_back(&grids[n < grids.size() ? n : 0]);
  }
  for (std::size_t sample = 0; statements.size() > 1 && sample < prices.samples().size(); ++sample) {
    GridCandidate candidate;
    for (std::size_t s = 0; s < statements.size(); ++s)
      candidate.grids.push_back(&*std::min_element(
          statements[s].begin(), statements[s].end(),
          [&](const auto& a, const auto& b) { return prices.at(s, a, sample) < prices.at(s, b, sample); }));
    const auto is_it = [&](const GridCandidate& one) { return one.grids == candidate.grids; };
    if (std::none_of(candidates.begin(), candidates.end(), is_it)) candidates.push_back(std::move(candidate));
  }
  for (GridCandidate& candidate : candidates)
    candidate.legal = std::none_of(candidate.grids.begin(), candidate.grids.end(),
                                   [](const PlannedGrid* plan) { return is_refused(*plan); });
  return candidates;
}

std::vector<GuardedSchedule> written_versions(const CompileOptions& options) {
  std::vector<GuardedSchedule> versions;
  for (std::size_t v = 0; v < options.versions.size(); ++v) versions.push_back({v, options.versions[v].when});
  return versions;
}

std::vector<GuardedSchedule> any_version(const std::vector<GridCandidate>& candidates) {
  const auto legal = std::find_if(candidates.begin(), candidates.end(), [](const auto& one) { return one.legal; });
  return {{static_cast<std::size_t>(legal - candidates.begin())}};
}

/// `best` is 0 where the schedules are given and no others were searched.
std::vector<SizeSample> samples_of(const VersionQuestion& question, const std::vector<GuardedSchedule>& versions,
                                   bool given) {
  std::vector<SizeSample> samples;
  for (std::size_t s = 0; s < question.samples.size(); ++s) {
    SizeSample sample{question.samples[s], given ? 0 : std::numeric_limits<double>::max(), 0,
                      serving(versions, question.samples[s])};
    for (const auto& costs : question.costs) sample.best = std::min(sample.best, costs[s]);
    sample.cycles = question.costs[versions[sample.version].schedule][s];
    samples.push_back(std::move(sample));
  }
  return samples;
}

/// Of a schedule file, by version.
std::vector<Schedule> written_schedules(const CompileOptions& options, std::size_t s, std::size_t statements) {
  std::vector<Schedule> schedules;
  for (const ScheduleVersion& version : options.versions) schedules.push_back(version.schedules[s]);
  if (!options.hand_written) return schedules;
  schedules.push_back(*options.hand_written);
  if (schedules[0].nests.size() == statements && schedules[0].splits.empty() && schedules[0].lanes.empty())
    schedules[0].nests = {schedules[0].nests[s]};
  return schedules;
}

/// A written schedule names the dims that it is for, fused ones or those of the kernel.
bool is_written_for(const GridShape& shape, const CompileOptions& options, const HardwareModel& model) {
  const auto is_for_dims = [&](const ScheduleVersion& version) {
    return !has_errors(verify(version.schedules[0], shape.kernel, model));
  };
  return options.hand_written || std::any_of(options.versions.begin(), options.versions.end(), is_for_dims);
}

/// `problems`: the first reasons against a grid.
Diagnostic no_program(const std::string& which, const Diagnostics& problems) {
  const std::string why = problems.empty() ? "" : ": " + problems.front().message;
  return error(
      refused_for_all_sizes(fmt::format("no loops of the schedule {} take every symbolic dim in tiles{}", which, why)),
      "bind sizes with --sizes");
}

/// The points at which schedules of a statement are searched, those with other positions.
std::vector<BlockCounts> searched_counts(const GridShape& shape, const std::vector<SearchPoint>& points) {
  std::vector<BlockCounts> all;
  for (const SearchPoint& point : points) {
    BlockCounts counts = counts_at(shape, point);
    if (std::find(all.begin(), all.end(), counts) == all.end()) all.push_back(std::move(counts));
  }
  return all;
}

/// With symbolic dims fused to no others where the cheapest schedule would fuse them.
Compilation searched_at(const GridShape& shape, const BlockCounts& counts, const HardwareModel& model,
                        CompileOptions options) {
  const Kernel kernel = kernel_with_constants(shape, counts, shape.kernel);
  Compilation compiled = compile(kernel, model, options);
  if (!compiled.scheduled || !fuses_axes(with_separate_lanes(compiled.scheduled->schedule), shape)) return compiled;
  options.map.unfused = dims_of(shape);
  Compilation unfused = compile(kernel, model, options);
  return unfused.scheduled ? std::move(unfused) : std::move(compiled);
}

/// What grids are after their next stage.
using AdvancedGrids = std::map<const PlannedGrid*, PlannedGrid>;

/// What candidates cost at the sample that suits them best, by the cheapest one there.
std::vector<double> least_regrets(const VersionQuestion& question) {
  std::vector<double> regrets(question.costs.size(), illegal_price);
  for (std::size_t s = 0; s < question.samples.size(); ++s) {
    double best = illegal_price;
    for (const auto& costs : question.costs) best = std::min(best, costs[s]);
    for (std::size_t c = 0; c < regrets.size() && best > 0 && best < illegal_price; ++c)
      regrets[c] = std::min(regrets[c], question.costs[c][s] / best);
  }
  return regrets;
}

/// The candidates of these versions at a stage, and others with the least regret for workers that would be idle: most
/// of them get runs before the choice stands. None: there is nothing to be made.
std::vector<const GridCandidate*> made_together(const std::vector<GuardedSchedule>& versions,
                                                const std::vector<GridCandidate>& candidates, GridStage stage,
                                                const VersionQuestion& question, int jobs, const AdvancedGrids& ahead) {
  const auto is_open = [&](std::size_t c) {
    const GridCandidate& one = candidates[c];
    return one.legal && stage_of(one) == stage && !ahead.contains(one.grids.front());
  };
  std::set<std::size_t> chosen;
  for (const GuardedSchedule& version : versions)
    if (is_open(version.schedule)) chosen.insert(version.schedule);
  std::vector<std::size_t> others;
  for (std::size_t c = 0; c < candidates.size() && !chosen.empty() && stage == GridStage::planned; ++c)
    if (is_open(c)) others.push_back(c);
  const std::vector<double> regrets = least_regrets(question);
  std::stable_sort(others.begin(), others.end(), [&](auto a, auto b) { return regrets[a] < regrets[b]; });
  for (const std::size_t c : others)
    if (chosen.size() < static_cast<std::size_t>(jobs)) chosen.insert(c);
  std::vector<const GridCandidate*> together;
  for (const std::size_t c : chosen) together.push_back(&candidates[c]);
  return together;
}

/// Adds the grids of several candidates that are at a stage, made side by side; of one alone, its blocks are made so.
/// `shapes`, `lowered`: by statement. `sizes`: where they are priced.
void advance_ahead(const std::vector<const GridCandidate*>& candidates, GridStage stage,
                   const std::vector<GridShape>& shapes, std::vector<LoweredBlocks>& lowered,
                   const std::vector<Bindings>& sizes, AdvancedGrids& ahead) {
  std::vector<std::pair<const PlannedGrid*, std::size_t>> plans;  // and their statements
  for (const GridCandidate* one : candidates)
    for (std::size_t s = 0; s < one->grids.size() && one->legal; ++s) {
      const std::pair<const PlannedGrid*, std::size_t> plan{one->grids[s], s};
      if (plan.first->stage == stage && !ahead.contains(plan.first) &&
          std::find(plans.begin(), plans.end(), plan) == plans.end())
        plans.push_back(plan);
    }
  if (plans.size() < 2) return;
  auto advanced = for_each_in_parallel(lowered[0].workers(), plans.size(), [&](std::size_t n) {
    PlannedGrid plan = *plans[n].first;
    advance(plan, shapes[plans[n].second], lowered[plans[n].second], sizes);
    return plan;
  });
  for (std::size_t n = 0; n < plans.size(); ++n) ahead.emplace(plans[n].first, std::move(advanced[n]));
}

/// What guards compare: those of all axes, each once.
std::vector<AffineExpr> measures_of(const std::vector<GridShape>& shapes) {
  std::vector<AffineExpr> all;
  for (const GridShape& shape : shapes)
    for (const GridAxis& axis : shape.axes)
      for (const AffineExpr& extent : measures_of(axis))
        if (std::find(all.begin(), all.end(), extent) == all.end()) all.push_back(extent);
  return all;
}

class BlockCompiler {
 public:
  BlockCompiler(const SymbolicKernel& kernel, const HardwareModel& model, const CompileOptions& options)
      : kernel_(kernel),
        model_(model),
        options_(options),
        versions_({.most = options.most_versions}),
        prices_(sample_sizes(kernel, versions_), lowered_) {}

  SymbolicCompilation run() {
    for (std::size_t s = 0; s < kernel_.sample.statements.size(); ++s) {
      auto shape = grid_shape(kernel_, s);
      if (!shape && !may_be_loops(kernel_, s, options_)) {
        refused(Exit::no_answer, shape.diagnostics());
        return std::move(result_);
      }
      why_no_grid_.push_back(shape ? std::nullopt : std::optional(shape.diagnostics().front()));
      lowered_.emplace_back(model_, options_);
      shapes_.push_back(shape ? std::move(*shape) : shape_without_axes(kernel_, s));
    }
    // Strips of several statements are rows of one dim.
    if (shapes_.size() == 1 && !why_no_grid_[0] && !is_written_for(shapes_[0], options_, model_))
      shapes_[0] = fused_dims(shapes_[0]).value_or(shapes_[0]);
    points_ = search_points(kernel_, versions_.few, options_.most_versions >= 2 && !is_written());
    for (std::size_t s = 0; s < shapes_.size(); ++s)
      if (!find_grids(s)) return std::move(result_);
    if (options_.versions.empty()) prices_.add(grids_, workers());
    candidates_ = find_candidates(grids_, prices_);
    result_.candidates = candidates_.size();
    choose();
    return std::move(result_);
  }

 private:
  bool refused(Exit code, const Diagnostics& problems) {
    result_.code = code;
    result_.problems = problems;
    return false;
  }

  Workers& workers() const { return *options_.schedule.workers; }

  /// The schedules of a statement at the search points, without equal ones; a hand-written one is the only one. Points
  /// are searched side by side, or one after the other until `enough`.
  std::vector<Schedule> schedules_of(std::size_t s, const std::function<bool(const Schedule&)>& enough = {}) {
    if (is_written()) return written_schedules(options_, s, shapes_.size());
    const GridShape& shape = shapes_[s];
    const std::vector<BlockCounts> counts = searched_counts(shape, points_);
    CompileOptions later = options_;
    later.schedule.max_evaluations = std::min(later.schedule.max_evaluations, least_evaluations);
    const auto searched = [&](std::size_t n) {
      return searched_at(shape, counts[n], model_, n == 0 ? options_ : later);
    };
    std::vector<Compilation> ahead;
    if (!enough && may_run_side_by_side(options_.schedule))
      ahead = for_each_in_parallel(workers(), counts.size(), searched);
    std::vector<Schedule> schedules;
    for (std::size_t n = 0; n < counts.size(); ++n) {
      const Compilation compiled = ahead.empty() ? searched(n) : std::move(ahead[n]);
      if (!compiled.scheduled) {
        refused(compiled.code, compiled.problems);
        continue;
      }
      const Schedule kept = with_kept_copies(shape, compiled.scheduled->schedule);
      const Schedule found = with_tiles_as_found(shape, kept, counts[n], model_);
      if (std::find(schedules.begin(), schedules.end(), found) != schedules.end()) continue;
      schedules.push_back(found);
      if (enough && enough(found)) break;
    }
    return schedules;
  }

  bool is_written() const { return options_.hand_written || !options_.versions.empty(); }

  /// The grids of a schedule file: one for each version.
  bool build_written(std::size_t s) {
    const std::vector<Schedule> schedules = written_schedules(options_, s, shapes_.size());
    for (std::size_t v = 0; v < schedules.size(); ++v) {
      PlannedGrid grid = planned_grid(shapes_[s], schedules[v], schedules, model_);
      grid.next.erase(grid.next.begin() + 1, grid.next.end());  // as it is written, or not at all
      if (!complete(s, grid)) {
        Diagnostic why = no_program(fmt::format("of version {}", v + 1), why_);
        why.where = options_.versions[v].where;
        refused(Exit::wrong_input, {why});
        return false;
      }
      grids_[s].push_back(std::move(grid));
    }
    return true;
  }

  /// False: there is none, and `result_` says why.
  bool find_grids(std::size_t s) {
    const GridShape& shape = shapes_[s];
    std::vector<PlannedGrid>& grids = grids_.emplace_back();
    if (why_no_grid_[s]) {
      const std::size_t versions = std::max<std::size_t>(options_.versions.size(), 1);
      grids.assign(versions, plain_loops(kernel_, s, model_, options_, *why_no_grid_[s]));
      return true;
    }
    if (!options_.versions.empty()) return build_written(s);
    if (options_.most_versions < 2 || options_.hand_written) {
      find_one(s, grids);
    } else {
      const std::vector<Schedule> schedules = schedules_of(s);
      for (const Schedule& schedule : schedules)
        for (const Schedule& one : schedules_to_plan(shape, schedule, model_))
          if (std::none_of(grids.begin(), grids.end(),
                           [&](const PlannedGrid& known) { return known.grid.schedule == one; }))
            grids.push_back(planned_grid(shape, one, schedules, model_));
    }
    if (!grids.empty()) return true;
    const bool nothing_maps = result_.problems.empty() || result_.code == Exit::no_answer;
    if (nothing_maps && !options_.hand_written && may_be_loops(kernel_, s, options_)) {
      const Diagnostic why = result_.problems.empty() ? no_program("that was found", why_) : result_.problems.front();
      grids.push_back(plain_loops(kernel_, s, model_, options_, why));
      refused(Exit::ok, {});
      return true;
    }
    if (options_.hand_written || result_.problems.empty())
      refused(Exit::limit, {no_program(options_.hand_written ? "of this file" : "that was found", why_)});
    return false;
  }
  /// The first schedule that makes a grid; one of instructions rather than a scalar one.
  void find_one(std::size_t s, std::vector<PlannedGrid>& grids) {
    const GridShape& shape = shapes_[s];
    std::vector<PlannedGrid> scalar;
    const auto try_one = [&](const Schedule& schedule) {
      PlannedGrid grid = planned_grid(shape, schedule, {}, model_);
      if (options_.hand_written && !uses_no_instruction(schedule)) grid.next.pop_back();  // no scalar code instead
      if (complete(s, grid)) (uses_no_instruction(grid.grid.schedule) ? scalar : grids).push_back(std::move(grid));
      return !grids.empty();
    };
    for (const Schedule& schedule : schedules_of(s, try_one))
      if (options_.hand_written) try_one(schedule);
    if (grids.empty()) grids = std::move(scalar);
  }
  /// Lowers the blocks of a grid; false: none of its schedules allows that.
  bool complete(std::size_t s, PlannedGrid& plan) {
    isamap::complete(plan, shapes_[s], lowered_[s]);
    if (why_.empty()) why_ = plan.why_not;
    return !is_refused(plan);
  }

  // Versions

  VersionQuestion question() {
    VersionQuestion question;
    question.samples = prices_.samples();
    question.remainders = sizes_with_remainders(kernel_);
    question.costs.resize(candidates_.size());
    question.blocks.resize(candidates_.size());
    for (std::size_t c = 0; c < candidates_.size(); ++c) ask_about(c, question);
    question.measures = measures_of(shapes_);
    question.price = [this](std::size_t c, const Bindings& sizes) { return prices_.at(candidates_[c], sizes); };
    return question;
  }
  void ask_about(std::size_t candidate, VersionQuestion& question) {
    question.costs[candidate] = prices_.of(candidates_[candidate]);
    question.blocks[candidate] = 0;
    for (const PlannedGrid* plan : candidates_[candidate].grids) question.blocks[candidate] += blocks_of(*plan);
  }
  /// Only the grids of versions are made, stage by stage; where that changes what they cost, the choice is made again.
  bool choose() {
    VersionQuestion all = question();
    if (!options_.versions.empty()) return link(comparable(all, candidates_), written_versions(options_));
    while (std::any_of(candidates_.begin(), candidates_.end(), [](const GridCandidate& one) { return one.legal; })) {
      const VersionQuestion asked = comparable(all, candidates_);
      auto versions = choose_versions(asked, versions_);
      const auto is_legal = [&](const GuardedSchedule& version) { return candidates_[version.schedule].legal; };
      if (asked.samples.empty() || !std::all_of(versions.begin(), versions.end(), is_legal))
        versions = any_version(candidates_);
      const bool changed = advance(versions, all);
      if (changed && shapes_.size() > 1) {  // the cheapest grids of statements may be others now
        candidates_ = find_candidates(grids_, prices_);
        all = question();
      }
      if (changed) continue;
      return link(asked, at_crossovers(std::move(versions), asked));
    }
    refused(Exit::limit, {no_program("that was found", why_)});
    return false;
  }
  /// The grids of these versions that are made least get their next stage; false: all have the last one.
  bool advance(const std::vector<GuardedSchedule>& versions, VersionQuestion& question) {
    GridStage least = GridStage::printable;
    for (const GuardedSchedule& version : versions)
      if (const GridCandidate& one = candidates_[version.schedule]; one.legal) least = std::min(least, stage_of(one));
    if (least == GridStage::printable) return false;
    advance_ahead(made_together(versions, candidates_, least, question, workers().jobs(), ahead_), least, shapes_,
                  lowered_, prices_.samples(), ahead_);
    for (const GuardedSchedule& version : versions) advance(version.schedule, least, question);
    return true;
  }
  void advance(std::size_t candidate, GridStage stage, VersionQuestion& question) {
    GridCandidate& one = candidates_[candidate];
    for (std::size_t s = 0; s < one.grids.size() && one.legal; ++s) {
      PlannedGrid& plan = *one.grids[s];
      if (plan.stage == stage) {
        if (auto made = ahead_.extract(&plan))
          plan = std::move(made.mapped());
        else
          isamap::advance(plan, shapes_[s], lowered_[s], prices_.samples());
      }
      if (why_.empty()) why_ = plan.why_not;
      if (is_refused(plan) && !is_written() && is_refused(grids_[s]) && may_be_loops(kernel_, s, options_))
        plan = plain_loops(kernel_, s, model_, options_, no_program("that was found", why_));
      one.legal = !is_refused(plan);
    }
    ask_about(candidate, question);
  }
  bool link(const VersionQuestion& question, const std::vector<GuardedSchedule>& versions) {
    result_.samples = samples_of(question, versions, is_written());
    SymbolicProgram program;
    program.kernel = kernel_;
    for (std::size_t v = 0; v < versions.size(); ++v) {
      program.versions.push_back({versions[v].when, {}});
      result_.found_at.push_back(0);
      for (const PlannedGrid* plan : candidates_[versions[v].schedule].grids) {
        result_.schedules.push_back(plan->grid.schedule);
        program.grids.push_back(plan->grid.loops ? plan->grid
                                                 : limited_to(plan->grid, kernel_, facts_of_version(versions, v)));
      }
    }
    add_edges(program, model_, options_);
    program.arguments = symbolic_arguments(kernel_.sample);
    share_packed_constants(program);
    ISAMAP_CHECK(!uncovered_sizes(program), "the versions do not cover all sizes");
    result_.code = Exit::ok;
    if (!versions.empty()) result_.problems = scalar_warnings(kernel_, candidates_[versions.back().schedule].grids);
    result_.program = std::move(program);
    return true;
  }

  const SymbolicKernel& kernel_;
  const HardwareModel& model_;
  const CompileOptions& options_;
  VersionOptions versions_;
  std::vector<SearchPoint> points_;
  std::vector<GridShape> shapes_;                       ///< by statement
  std::vector<LoweredBlocks> lowered_;                  ///< by statement
  std::vector<std::optional<Diagnostic>> why_no_grid_;  ///< by statement: it is plain loops
  std::vector<std::vector<PlannedGrid>> grids_;         ///< by statement
  std::vector<GridCandidate> candidates_;
  SampledPrices prices_;
  AdvancedGrids ahead_;
  Diagnostics why_;  ///< the first reason against a grid
  SymbolicCompilation result_;
};

}  // namespace

SymbolicCompilation compile_blocks(const SymbolicKernel& kernel, const HardwareModel& model,
                                   const CompileOptions& options) {
  const HardwareModel one = on_one_thread(model);
  std::mutex lock;  // factories and observers of users are called by one thread at a time
  std::atomic<bool> stopped{false};
  CompileOptions side_by_side = options;
  ScheduleOptions& schedule = side_by_side.schedule;
  if (!schedule.workers) schedule.workers = std::make_shared<Workers>(schedule.jobs);
  schedule.costs = one_at_a_time(options.schedule.costs, lock);
  if (schedule.progress) schedule.progress = one_at_a_time(options.schedule.progress, lock, stopped);
  SymbolicCompilation compiled = BlockCompiler(kernel, one, side_by_side).run();
  if (!compiled.program || thread_count(model) < 2) return compiled;
  share_cells(*compiled.program, model, options.schedule.costs);
  auto costs = costs_of_statements(*compiled.program, one, options.schedule.costs);
  for (SizeSample& sample : compiled.samples)
    if (const auto cost = cost_on_threads(*compiled.program, sample.version, sample.sizes, costs))
      sample.on_threads = cost->cycles;
  return compiled;
}

}  // namespace isamap
