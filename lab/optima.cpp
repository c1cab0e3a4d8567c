// SPDX-License-Identifier: Apache-2.0
#include "lab/optima.h"

#include <fmt/format.h>

#include <cmath>

#include "scheduler/levelled/exact.h"
#include "scheduler/levelled/problems.h"
#include "scheduler/search_loop.h"

namespace isamap::lab {

namespace {

constexpr std::int64_t heuristic_evaluations = 3000;

Found searched(const Instance& instance, const SearchSpace& space, const std::string& strategy, std::uint64_t seed,
               std::int64_t evaluations, int threads) {
  auto made = strategy_named(strategy, space, {}, seed);
  if (!made) return {};
  LoopOptions loop;
  loop.objective = instance.objective;
  loop.max_evaluations = evaluations;
  loop.threads = threads;
  return search(space, **made, make_cost_model_closed_form, loop);
}

void keep_less(Optimum& best, const Found& found) {
  best.evaluations += found.evaluations;
  if (found.best && (!best.value || found.best->objective < *best.value)) best.value = found.best->objective;
}

/// Where the machine has the levelled form: branch and bound over all mappings. Nothing: it has not.
std::optional<Optimum> by_branch_and_bound(const Instance& instance, std::int64_t nodes) {
  const auto problems =
      levelled::problems_of(instance.kernel, instance.statement, instance.mapped.mappings, *instance.model);
  if (!problems) return {};
  levelled::ExactOptions options;
  options.objective = instance.objective;
  options.dividing = instance.space.dividing;
  options.keep_all = instance.space.keep_all;
  options.double_buffered = instance.space.double_buffered;
  options.max_nodes = nodes;
  Optimum best;
  best.proof = "branch and bound";
  for (const levelled::MappedProblem& mapped : *problems) {
    const levelled::Exact found = search_exact(mapped.problem, options);
    best.evaluations += found.counts.evaluations;
    if (!found.finished) best.proof.clear();
    if (found.best && (!best.value || found.value < *best.value)) best.value = found.value;
  }
  return best;
}

}  // namespace

Optimum optimum_of(const Instance& instance, std::int64_t evaluations, int threads) {
  Optimum best;
  const auto exact = by_branch_and_bound(instance, 10 * evaluations);
  if (exact && !exact->proof.empty()) return *exact;
  if (exact) best = *exact;
  const SearchSpace space = instance.search_space();
  if (!exact && space.size() <= 4e8) {
    const Found all = searched(instance, space, "exhaustive", 0, evaluations, threads);
    keep_less(best, all);
    if (all.exhausted) {
      best.proof = fmt::format("all {} points", all.evaluations);
      return best;
    }
  }
  for (const char* strategy : {"hill_climbing", "genetic", "annealing"})
    for (std::uint64_t seed = 0; seed < 3; ++seed)
      keep_less(best, searched(instance, space, strategy, 1000 + seed, heuristic_evaluations, threads));
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
