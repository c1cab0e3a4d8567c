// SPDX-License-Identifier: Apache-2.0
#include "lab/optima.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "isamap/search.h"
#include "scheduler/cost/hierarchy/problems.h"
#include "scheduler/search/exact/branch_and_bound.h"

namespace isamap::lab {

namespace {

constexpr std::int64_t heuristic_evaluations = 3000;

using Progress = std::function<bool(std::int64_t evaluations, double best)>;

/// Accumulates the progress of another search.
Progress counted_from(const Optimum& before, const Progress& progress) {
  if (!progress) return {};
  const double best = before.value.value_or(HUGE_VAL);
  return [&progress, best, evaluations = before.evaluations](std::int64_t here, double own) {
    return progress(evaluations + here, std::min(best, own));
  };
}

Found searched(const SearchSpace& space, const std::string& strategy, std::uint64_t seed, const LoopOptions& loop) {
  auto made = strategy_named(strategy, space, {}, seed);
  if (!made) return {};
  return search(space, **made, make_cost_model_closed_form, loop);
}

void keep_less(Optimum& best, const Found& found) {
  best.evaluations += found.evaluations;
  best.stopped = best.stopped || found.stopped;
  if (found.best && (!best.value || found.best->objective < *best.value)) best.value = found.best->objective;
}

/// Branch and bound over all mappings; nothing: the machine does not have the per-memory form.
std::optional<Optimum> by_branch_and_bound(const Instance& instance, std::int64_t nodes, const Progress& progress) {
  const auto problems =
      hierarchy::problems_of(instance.kernel, instance.statement, instance.mapped.mappings, *instance.model);
  if (!problems) return {};
  hierarchy::ExactOptions options;
  options.objective = instance.objective;
  options.dividing = instance.space.dividing;
  options.keep_all = instance.space.keep_all;
  options.double_buffered = instance.space.double_buffered;
  options.max_nodes = nodes;
  Optimum best;
  best.proof = "branch and bound";
  for (const hierarchy::MappedProblem& mapped : *problems) {
    if (const Progress own = counted_from(best, progress))
      options.stop = [&best, own](std::int64_t evaluations, double value) {
        return best.stopped = best.stopped || !own(evaluations, value);  // polled again while it unwinds
      };
    const hierarchy::Exact found = search_exact(mapped.problem, options);
    best.evaluations += found.counts.evaluations;
    if (!found.finished) best.proof.clear();
    if (found.best && (!best.value || found.value < *best.value)) best.value = found.value;
    if (best.stopped) best.proof.clear();
    if (best.stopped) break;
  }
  return best;
}

}  // namespace

Optimum optimum_of(const Instance& instance, std::int64_t evaluations, int jobs, const Progress& progress) {
  Optimum best;
  const auto exact = by_branch_and_bound(instance, 10 * evaluations, progress);
  if (exact && (!exact->proof.empty() || exact->stopped)) return *exact;
  if (exact) best = *exact;
  const SearchSpace space = instance.search_space();
  LoopOptions loop;
  loop.objective = instance.objective;
  loop.max_evaluations = evaluations;
  loop.jobs = jobs;
  if (!exact && space.size() <= 4e8) {
    loop.progress = counted_from(best, progress);
    const Found all = searched(space, "exhaustive", 0, loop);
    keep_less(best, all);
    if (all.exhausted) {
      best.proof = fmt::format("all {} points", all.evaluations);
      return best;
    }
  }
  loop.max_evaluations = heuristic_evaluations;
  for (const char* strategy : {"hill_climbing", "genetic", "annealing"})
    for (std::uint64_t seed = 0; seed < 3 && !best.stopped; ++seed) {
      loop.progress = counted_from(best, progress);
      keep_less(best, searched(space, strategy, 1000 + seed, loop));
    }
  return best;
}

std::string contradiction(const Instance& instance, const Optimum& found) {
  if (!instance.optimum || !found.value) return "";
  const double stated = *instance.optimum;
  if (*found.value < stated * (1 - equal_enough))
    return fmt::format("{}: the optimum is stated as {}, but {} was found", instance.name, stated, *found.value);
  if (!found.proof.empty() && std::abs(*found.value - stated) > equal_enough * stated)
    return fmt::format("{}: the optimum is stated as {}, but it is {} ({})", instance.name, stated, *found.value,
                       found.proof);
  return "";
}

}  // namespace isamap::lab
