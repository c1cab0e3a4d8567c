#include "lab/optima.h"

#include <fmt/format.h>

#include <cmath>

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

}  // namespace

Optimum optimum_of(const Instance& instance, std::int64_t evaluations, int threads) {
  const SearchSpace space = instance.search_space();
  Optimum best;
  if (space.size() <= 4e8) {
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
