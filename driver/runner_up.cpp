// SPDX-License-Identifier: Apache-2.0
#include "driver/runner_up.h"

#include <algorithm>

namespace isamap {
namespace {

constexpr double no_difference = 1e-12;

std::optional<RunnerUp> runner_up(Schedule schedule, std::size_t statement, Nest nest, double ratio,
                                  const Kernel& kernel, const HardwareModel& model) {
  schedule.nests[statement] = std::move(nest);
  auto explained = explain(schedule, kernel, model);
  if (!explained) return std::nullopt;
  return RunnerUp{print(schedule), ratio, std::move(*explained)};
}

std::vector<Nest> one_step_away(const Nest& nest, const Computation& statement) {
  std::vector<Nest> found;
  const auto add = [&](std::size_t line, std::optional<Line> instead) {
    Nest changed = nest;
    if (instead)
      changed.lines[line] = *instead;
    else
      changed.lines.erase(changed.lines.begin() + static_cast<std::ptrdiff_t>(line));
    found.push_back(std::move(changed));
  };
  for (std::size_t l = 0; l < nest.lines.size(); ++l) {
    if (l + 1 < nest.lines.size() && std::holds_alternative<For>(nest.lines[l].is) &&
        std::holds_alternative<For>(nest.lines[l + 1].is)) {
      Nest changed = nest;
      std::swap(changed.lines[l], changed.lines[l + 1]);
      found.push_back(std::move(changed));
    }
    if (std::holds_alternative<Stage>(nest.lines[l].is)) add(l, std::nullopt);
    const For* loop = std::get_if<For>(&nest.lines[l].is);
    if (!loop || loop->loops.size() != 1) continue;
    const int d = statement.domain.find(loop->loops.front().dim);
    const std::int64_t extent = d < 0 ? 1 : statement.domain.dims[static_cast<std::size_t>(d)].extent;
    std::vector<std::int64_t> divisors;
    for (std::int64_t t = 1; t <= extent && t <= (1 << 16); ++t)
      if (extent % t == 0) divisors.push_back(t);
    for (std::size_t i = 0; i < divisors.size(); ++i) {
      const bool below = i + 1 < divisors.size() && divisors[i + 1] == loop->loops.front().tile;
      const bool above = i > 0 && divisors[i - 1] == loop->loops.front().tile;
      if (!below && !above) continue;
      For other = *loop;
      other.loops.front().tile = divisors[i];
      add(l, Line{other});
    }
  }
  return found;
}

}  // namespace

void RunnerUpTracker::see(const Trial& trial) {
  if (!trial.objective || !trial.nest) return;
  if (statements_.size() <= trial.statement.index()) statements_.resize(trial.statement.index() + 1);
  Pair& pair = statements_[trial.statement.index()];
  const double value = *trial.objective;
  if (!pair.best || value < *pair.best * (1 - no_difference)) {
    pair.second = pair.best;
    pair.second_nest = std::move(pair.best_nest);
    pair.best = value;
    pair.best_nest = *trial.nest;
  } else if (value > *pair.best * (1 + no_difference) && (!pair.second || value < *pair.second)) {
    pair.second = value;
    pair.second_nest = *trial.nest;
  }
}

std::optional<RunnerUp> RunnerUpTracker::of(const Schedule& best, const Kernel& kernel,
                                            const HardwareModel& model) const {
  std::optional<std::size_t> least;
  const auto more = [&](std::size_t s) { return *statements_[s].second - *statements_[s].best; };
  for (std::size_t s = 0; s < statements_.size() && s < best.nests.size(); ++s)
    if (statements_[s].second && (!least || more(s) < more(*least))) least = s;
  if (!least) return std::nullopt;
  const Pair& pair = statements_[*least];
  return runner_up(best, *least, pair.second_nest, *pair.second / std::max(*pair.best, 1e-300), kernel, model);
}

std::optional<RunnerUp> best_neighbour(const Schedule& best, const Kernel& kernel, const HardwareModel& model,
                                       Objective objective) {
  const auto closed_form = make_cost_model_closed_form();
  std::optional<RunnerUp> found;
  for (std::size_t s = 0; s < best.nests.size(); ++s) {
    const auto id = make_id<StatementId>(s);
    const auto own = closed_form->estimate({&kernel, id, &model, best.nests[s]});
    if (!own) continue;
    const double least = value(*own, objective);
    std::optional<double> second;
    Nest nest;
    for (Nest& other : one_step_away(best.nests[s], kernel.statements[s])) {
      const auto cost = closed_form->estimate({&kernel, id, &model, other});
      if (!cost || value(*cost, objective) <= least * (1 + no_difference)) continue;
      if (second && value(*cost, objective) >= *second) continue;
      second = value(*cost, objective);
      nest = std::move(other);
    }
    if (second && (!found || *second / least < found->ratio))
      found = runner_up(best, s, std::move(nest), *second / std::max(least, 1e-300), kernel, model);
  }
  return found;
}

}  // namespace isamap
