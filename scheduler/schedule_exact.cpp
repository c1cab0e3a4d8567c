// SPDX-License-Identifier: Apache-2.0
#include "scheduler/schedule_exact.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>

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
  const auto made = hierarchy::problems_of(kernel, StatementId{0}, mappings.mappings, model);
  if (!made) return made.diagnostics();
  const std::vector<hierarchy::MappedProblem>& problems = *made;
  hierarchy::ExactOptions search;
  search.objective = options.objective;
  search.dividing = options.space.dividing;
  search.keep_all = options.space.keep_all;
  search.double_buffered = options.space.double_buffered;
  search.max_evaluations = limits.max_evaluations;
  search.max_nodes = limits.max_nodes;
  ExactSchedule result;
  if (limits.max_seconds > 0 || options.progress)
    search.stop = [&](std::int64_t evaluations, double best) {
      bool& stopped = result.scheduled.stopped;
      stopped = stopped || (options.progress && !options.progress(evaluations, best));
      return stopped || (limits.max_seconds > 0 && seconds() > limits.max_seconds);
    };
  result.certified = !mappings.limit_reached;
  std::optional<hierarchy::Exact> best;
  std::size_t chosen = 0;
  double lower_bound = 0;
  for (std::size_t p = 0; p < problems.size(); ++p) {
    if (result.scheduled.stopped) search.max_nodes = 1;  // the others only report their bounds
    hierarchy::Exact found = search_exact(problems[p].problem, search);
    lower_bound = p == 0 ? found.lower_bound : std::min(lower_bound, found.lower_bound);
    result.certified = result.certified && found.finished;
    result.counts.nodes += found.counts.nodes;
    result.counts.evaluations += found.counts.evaluations;
    result.counts.by_bound += found.counts.by_bound;
    result.counts.by_room += found.counts.by_room;
    result.counts.by_growth += found.counts.by_growth;
    if (!found.best || (best && found.value >= best->value)) continue;
    best = std::move(found);
    chosen = p;
  }
  *proved = result.certified && !best;
  if (!best) {
    if (*proved) return conflict(problems.front().problem, options.space);
    return error("no legal schedule was found within the budget");
  }
  const auto& [mapping, problem] = problems[chosen];
  const Nest nest = nest_of(problem, *best->best, do_line(mapping, kernel, model));
  auto cost = make_cost_model_closed_form()->estimate({&kernel, mapping.statement, &model, nest});
  if (!cost) return cost.diagnostics();
  Scheduled& scheduled = result.scheduled;
  scheduled.schedule.name = kernel.name;
  scheduled.schedule.kernel = kernel.name;
  scheduled.schedule.target = model.name;
  scheduled.schedule.sizes = model.sizes();
  scheduled.schedule.nests = {nest};
  scheduled.statement_costs = {*cost};
  scheduled.cost = std::move(*cost);
  scheduled.mappings = {mapping};
  scheduled.evaluations = result.counts.evaluations;
  scheduled.exhausted = result.certified;
  scheduled.curve = best->curve;
  scheduled.seconds = seconds();
  result.text = levels_text(problem, *best->best, scheduled.schedule);
  // Rounding may lift a bound above the cost that it bounds.
  result.lower_bound = std::min(lower_bound, value(scheduled.cost, options.objective));
  return result;
}

}  // namespace isamap
