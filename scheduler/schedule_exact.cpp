// SPDX-License-Identifier: Apache-2.0
#include "scheduler/schedule_exact.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "scheduler/cost/hierarchy/levels_text.h"
#include "scheduler/cost/hierarchy/problems.h"
#include "scheduler/nest/resolved_nest.h"

namespace isamap {

namespace {

using hierarchy::Problem;

/// A minimal set of tiles that must be in one memory together and do not fit, even with single elements, largest first.
Diagnostics conflict(const Problem& problem, const SpaceOptions& space) {
  const double buffers = space.double_buffered ? 2 : 1;
  for (std::size_t l = 1; l < problem.levels.size(); ++l) {
    const hierarchy::Level& level = problem.levels[l];
    std::vector<std::pair<double, std::string>> elements;
    double all = 0;
    for (std::size_t a = 0; a < problem.operands.size(); ++a) {
      if (!space.keep_all && (level.must_keep >> a & 1U) == 0) continue;
      elements.emplace_back(buffers * problem.operands[a].bytes, problem.operands[a].name);
      all += elements.back().first;
    }
    if (level.capacity <= 0 || all <= level.capacity) continue;
    std::stable_sort(elements.begin(), elements.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    double needed = 0;
    std::string parts;
    for (const auto& [bytes, name] : elements) {
      if (needed > level.capacity) break;
      needed += bytes;
      parts += fmt::format("{}tile of {} with 1 element{}, {} bytes", parts.empty() ? "" : "; ", name,
                           space.double_buffered ? " in two buffers" : "", bytes);
    }
    return {error(fmt::format("no schedule exists: memory {}: {} bytes needed, {} available ({})", level.name, needed,
                              level.capacity, parts),
                  "these tiles are needed at once and none can be smaller")};
  }
  return {error("no schedule exists")};
}

hierarchy::ExactOptions search_options(const ScheduleOptions& options, const ExactLimits& limits) {
  hierarchy::ExactOptions search;
  search.objective = options.objective;
  search.dividing = options.space.dividing;
  search.keep_all = options.space.keep_all;
  search.double_buffered = options.space.double_buffered;
  search.max_evaluations = limits.max_evaluations;
  search.max_nodes = limits.max_nodes;
  return search;
}

/// The best schedule of all problems, and what is proved for all of them together.
struct BestOfProblems {
  std::optional<hierarchy::Exact> best;  ///< nothing: none has a legal schedule within the limits
  std::size_t problem = 0;               ///< of the best
  double lower_bound = 0;
  bool finished = true;  ///< every search was exhaustive
  hierarchy::ExactCounts counts;
};

/// `stopped`: set by `search.stop`, when the problems left only report their bounds.
BestOfProblems search_problems(const std::vector<hierarchy::MappedProblem>& problems, hierarchy::ExactOptions search,
                               const bool& stopped) {
  BestOfProblems all;
  for (std::size_t p = 0; p < problems.size(); ++p) {
    if (stopped) search.max_nodes = 1;
    hierarchy::Exact found = search_exact(problems[p].problem, search);
    all.lower_bound = p == 0 ? found.lower_bound : std::min(all.lower_bound, found.lower_bound);
    all.finished = all.finished && found.finished;
    all.counts.nodes += found.counts.nodes;
    all.counts.evaluations += found.counts.evaluations;
    all.counts.by_bound += found.counts.by_bound;
    all.counts.by_room += found.counts.by_room;
    all.counts.by_growth += found.counts.by_growth;
    if (!found.best || (all.best && found.value >= all.best->value)) continue;
    all.best = std::move(found);
    all.problem = p;
  }
  return all;
}

/// A point of a problem as a schedule, with its cost.
Result<Scheduled> schedule_of(const Kernel& kernel, const HardwareModel& model, const hierarchy::MappedProblem& mapped,
                              const hierarchy::LevelPoint& point) {
  const Nest nest = nest_of(mapped.problem, point, do_line(mapped.mapping, kernel, model));
  auto cost = make_cost_model_closed_form()->estimate({&kernel, mapped.mapping.statement, &model, nest});
  if (!cost) return cost.diagnostics();
  Scheduled scheduled;
  scheduled.schedule.name = kernel.name;
  scheduled.schedule.kernel = kernel.name;
  scheduled.schedule.target = model.name;
  scheduled.schedule.sizes = model.sizes();
  scheduled.schedule.nests = {nest};
  scheduled.statement_costs = {*cost};
  scheduled.cost = std::move(*cost);
  scheduled.mappings = {mapped.mapping};
  return scheduled;
}

}  // namespace

Diagnostics exact_search_refusal(const Kernel& kernel, const MapResult& mappings, const HardwareModel& model) {
  if (kernel.statements.size() != 1) return {error("the exact search requires a kernel of one statement")};
  if (!kernel.repeats.empty()) return {error("the exact search does not support recurrences")};
  if (mappings.mappings.empty()) return {error("no instruction computes the statement")};
  constexpr std::int64_t longest = 1 << 24;  // the search loops over all tile sizes
  for (const Dim& dim : kernel.statements[0].domain.dims)
    if (dim.extent > longest)
      return {error(
          fmt::format("the exact search supports dims of up to {} points; {} has {}", longest, dim.name, dim.extent),
          "leave --strategy exact out")};
  return hierarchy::problems_of(kernel, StatementId{0}, mappings.mappings, model).diagnostics();
}

Result<ExactSchedule> schedule_exactly(const Kernel& kernel, const MapResult& mappings, const HardwareModel& model,
                                       const ScheduleOptions& options, const ExactLimits& limits, bool* proved) {
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  const auto problems = hierarchy::problems_of(kernel, StatementId{0}, mappings.mappings, model);
  if (!problems) return problems.diagnostics();
  bool stopped = false;
  hierarchy::ExactOptions search = search_options(options, limits);
  if (limits.max_seconds > 0 || options.progress)
    search.stop = [&](std::int64_t evaluations, double best) {
      stopped = stopped || (options.progress && !options.progress(evaluations, best));
      return stopped || (limits.max_seconds > 0 && seconds() > limits.max_seconds);
    };
  const BestOfProblems all = search_problems(*problems, search, stopped);
  const bool certified = all.finished && !mappings.limit_reached;
  *proved = certified && !all.best;
  if (!all.best) {
    if (*proved) return conflict(problems->front().problem, options.space);
    return error("no legal schedule was found within the budget");
  }
  const hierarchy::MappedProblem& chosen = (*problems)[all.problem];
  auto scheduled = schedule_of(kernel, model, chosen, *all.best->best);
  if (!scheduled) return scheduled.diagnostics();
  ExactSchedule result{std::move(*scheduled), "", 0, certified, all.counts};
  result.scheduled.stopped = stopped;
  result.scheduled.evaluations = all.counts.evaluations;
  result.scheduled.exhausted = certified;
  result.scheduled.curve = all.best->curve;
  result.scheduled.seconds = seconds();
  result.text = levels_text(chosen.problem, *all.best->best, result.scheduled.schedule);
  // Rounding may lift a bound above the cost that it bounds.
  result.lower_bound = std::min(all.lower_bound, value(result.scheduled.cost, options.objective));
  return result;
}

}  // namespace isamap
