// SPDX-License-Identifier: Apache-2.0
// Heuristics: the same for any number of threads, better than chance, open to what is known, strict about options.

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <set>

#include "isamap/scheduler.h"
#include "scheduler/cost/regression.h"
#include "scheduler/search/strategy_coroutine.h"
#include "support/stop.h"
#include "tests/scheduler/support.h"

namespace isamap {
namespace {

using testing_support::formula;
using testing_support::machine;

struct Searched {
  Kernel kernel = formula("Z[m,n] += A[m,k] * B[k,n]", "m=24,n=20,k=9", "A=s16,B=s16,Z=s16");
  HardwareModel model = machine("a1");
  MapResult mapped = [this] {
    auto found = enumerate_mappings(kernel, model, {});
    EXPECT_TRUE(found);
    return found ? *found : MapResult{};
  }();
  SearchSpace space{kernel, StatementId{0}, mapped.mappings, model, {}};
};

const Searched& searched() {
  static const Searched only;
  return only;
}

std::vector<std::string> heuristics() {
  std::vector<std::string> names;
  for (const auto& [name, make] : strategies())
    if (name != "exhaustive" && name != "external" && name != "extension" && name != "exact") names.push_back(name);
  return names;
}

/// Everything that is told, in order.
using Story = std::vector<std::pair<std::vector<int>, std::optional<double>>>;

Story story(const std::string& name, std::uint64_t seed, int threads, std::vector<Point> known = {},
            StrategyOptions options = {}, std::int64_t evaluations = 300) {
  auto strategy = strategy_named(name, searched().space, options, seed);
  EXPECT_TRUE(strategy) << render(strategy.diagnostics());
  Story told;
  if (!strategy) return told;
  LoopOptions loop;
  loop.max_evaluations = evaluations;
  loop.jobs = threads;
  loop.known = std::move(known);
  loop.watch = [&](const Trial& trial) { told.emplace_back(trial.point->choice, trial.objective); };
  search(searched().space, **strategy, make_cost_model_closed_form, loop);
  return told;
}

double best_of(const Story& told) {
  double best = std::numeric_limits<double>::infinity();
  for (const auto& [point, objective] : told) best = std::min(best, objective.value_or(best));
  return best;
}

TEST(Heuristics, RepeatForASeedAndForAnyNumberOfThreads) {
  for (const std::string& name : heuristics()) {
    const Story once = story(name, 7, 1);
    EXPECT_EQ(once, story(name, 7, 1)) << name;
    EXPECT_EQ(once, story(name, 7, 4)) << name;
    EXPECT_FALSE(once.empty()) << name;
  }
}

TEST(Heuristics, SeedsDiffer) {
  for (const std::string& name : heuristics()) {
    if (name == "greedy") continue;
    EXPECT_NE(story(name, 1, 1), story(name, 2, 1)) << name;
  }
}

TEST(Heuristics, NothingIsAskedForTwice) {
  for (const std::string& name : heuristics()) {
    std::set<std::vector<int>> seen;
    for (const auto& [point, objective] : story(name, 3, 1)) EXPECT_TRUE(seen.insert(point).second) << name;
  }
}

TEST(Heuristics, AreBetterThanChance) {
  double chance = 0;
  for (std::uint64_t seed = 0; seed < 3; ++seed) chance += std::log(best_of(story("random", seed, 1, {}, {}, 600))) / 3;
  for (const std::string& name : heuristics()) {
    if (name == "random") continue;
    double mean = 0;
    for (std::uint64_t seed = 0; seed < 3; ++seed) mean += std::log(best_of(story(name, seed, 1, {}, {}, 600))) / 3;
    EXPECT_LT(mean, chance) << name;
  }
}

TEST(Heuristics, BeginWithWhatIsKnown) {
  const Story first = story("hill_climbing", 11, 1);
  const auto best = std::min_element(first.begin(), first.end(), [](const auto& a, const auto& b) {
    return a.second.value_or(1e300) < b.second.value_or(1e300);
  });
  for (const std::string& name : heuristics()) {
    const Story again = story(name, 1, 1, {Point{best->first}});
    ASSERT_FALSE(again.empty()) << name;
    EXPECT_EQ(again.front(), *best) << name;
    EXPECT_LE(best_of(again), *best->second) << name;
  }
}

TEST(Heuristics, OptionsAreReadAndUnknownOnesAreRefusedWithTheList) {
  const auto wrong = strategy_named("genetic", searched().space, {{"poplation", "3"}}, 0);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(render(wrong.diagnostics()),
            "genetic has no option 'poplation'\n  hint: its options: starts, patience, population, tournament, elite, "
            "renewals, mutation\n");
  const auto range = strategy_named("annealing", searched().space, {{"cooling", "2"}}, 0);
  ASSERT_FALSE(range);
  EXPECT_NE(render(range.diagnostics()).find("option cooling of annealing is a number from 0.1 to 0.999999, found '2'"),
            std::string::npos);
  const auto digits = strategy_named("beam", searched().space, {{"width", "4x"}}, 0);
  EXPECT_FALSE(digits);
  EXPECT_NE(story("genetic", 1, 1), story("genetic", 1, 1, {}, {{"population", "8"}, {"elite", "2"}}));
}

TEST(Heuristics, SayWhenTheBuildHasNoBoostedTrees) {
  const auto made = strategy_named("learned", searched().space, {{"model", "xgboost"}}, 0);
  EXPECT_EQ(static_cast<bool>(made), has_boosted_trees()) << render(made.diagnostics());
  if (!has_boosted_trees()) return;
  const StrategyOptions trees{{"model", "xgboost"}};
  EXPECT_EQ(story("learned", 5, 1, {}, trees), story("learned", 5, 4, {}, trees));
}

TEST(Points, MutationChangesThePointAndStaysInTheSpace) {
  const SearchSpace& space = searched().space;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Point point = space.repair(space.random(seed));
    const Point other = space.mutate(point, seed);
    EXPECT_NE(point, other);
    EXPECT_EQ(space.repair(other), other);
    EXPECT_EQ(other, space.mutate(point, seed)) << "the same seed";
  }
}

/// In the normal form, that is: in the per-memory form repair may have to shrink what a child has from both.
TEST(Points, ChildrenHaveEveryChoiceFromAParent) {
  const Kernel kernel = formula("C[i,j] += s32(A[i,k]) * s32(B[k,j])", "i=40,j=33,k=50", "A=s8,B=s8,C=s32");
  const HardwareModel model = machine("npu16");
  const auto mapped = enumerate_mappings(kernel, model, {});
  ASSERT_TRUE(mapped);
  const SearchSpace space(kernel, StatementId{0}, mapped->mappings, model, {});
  int both = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Point a = space.repair(space.random(2 * seed)), b = space.repair(space.random(2 * seed + 1));
    const Point child = space.crossover(a, b, seed);
    EXPECT_EQ(space.repair(child), child);
    for (std::size_t d = 0; d < child.choice.size(); ++d)
      EXPECT_TRUE(child.choice[d] == a.choice[d] || child.choice[d] == b.choice[d]);
    both += !(child == a) && !(child == b) ? 1 : 0;
  }
  EXPECT_GT(both, 150);
}

TEST(Points, FeaturesHaveNamesAndTellPointsApart) {
  const SearchSpace& space = searched().space;
  const std::vector<std::string> names = space.feature_names();
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Point point = space.repair(space.random(seed));
    const std::vector<double> values = space.features(point);
    ASSERT_EQ(values.size(), names.size());
    for (std::size_t d = 0; d < point.choice.size(); ++d) {
      const Decision& decision = space.decisions()[d];
      const auto at = std::find(names.begin(), names.end(), "log2 " + decision.name);
      if (at == names.end()) continue;
      const double label = std::stod(decision.labels[static_cast<std::size_t>(point.choice[d])]);
      EXPECT_LE(values[static_cast<std::size_t>(at - names.begin())], std::log2(label) + 1e-12);
    }
  }
}

TEST(Regression, RidgeFindsAPlane) {
  Random random(3);
  std::vector<std::vector<double>> rows;
  std::vector<double> targets;
  for (int i = 0; i < 200; ++i) {
    rows.push_back({random.unit(), 10 * random.unit(), random.unit()});
    targets.push_back(5 + 2 * rows.back()[0] - 0.5 * rows.back()[1]);
  }
  const auto ridge = make_ridge(1e-9);
  ridge->fit(rows, targets);
  EXPECT_NEAR(ridge->predict({0.5, 4, 0.9}), 5 + 1 - 2, 1e-6);
  EXPECT_NEAR(ridge->predict({0, 0, 0}), 5, 1e-6);
  const auto stiff = make_ridge(1e12);  // everything is the mean
  stiff->fit(rows, targets);
  double mean = 0;
  for (const double target : targets) mean += target / 200;
  EXPECT_NEAR(stiff->predict({0.5, 4, 0.9}), mean, 1e-3);
}

/// Ctrl-C while a strategy trains.
TEST(Regression, TrainingLeavesWhenAsked) {
  const std::vector<std::vector<double>> rows(20, std::vector<double>{1, 2, 3});
  const std::vector<double> targets(20, 1);
  const std::function<bool()> yes = [] { return true; };
  const StopWhen scope(yes);
  EXPECT_THROW(make_ridge(0.1)->fit(rows, targets), EndedEarly);
  if (has_boosted_trees()) {
    EXPECT_THROW(make_boosted_trees(1)->fit(rows, targets), EndedEarly);
  }
}

/// A tree of decisions ends when all its leaves are known, not before.
TEST(Heuristics, TreeSearchSeesAWholeSpace) {
  const Kernel kernel = formula("Z[m] += A[m] * B[m]", "m=2", "A=s16,B=s16,Z=s16");
  const HardwareModel model = machine("a1");
  const auto mapped = enumerate_mappings(kernel, model, {});
  ASSERT_TRUE(mapped);
  const SearchSpace space(kernel, StatementId{0}, mapped->mappings, model, {});
  const auto points_of = [&](const std::string& name) {
    auto strategy = strategy_named(name, space, {}, 3);
    EXPECT_TRUE(strategy) << render(strategy.diagnostics());
    std::set<std::vector<int>> seen;
    LoopOptions loop;
    loop.max_evaluations = 100000;
    loop.watch = [&](const Trial& trial) { seen.insert(trial.point->choice); };
    search(space, **strategy, make_cost_model_closed_form, loop);
    return seen;
  };
  EXPECT_EQ(points_of("mcts").size(), points_of("exhaustive").size());
}

TEST(Regression, BoostedTreesFindAStep) {
  if (!has_boosted_trees()) GTEST_SKIP() << "XGBoost is missing (Debian: apt-get install libxgboost-dev)";
  std::vector<std::vector<double>> rows;
  std::vector<double> targets;
  for (int i = 0; i < 100; ++i) rows.push_back({i / 100.0, 1}), targets.push_back(i < 50 ? 1 : 3);
  const auto trees = make_boosted_trees(1);
  trees->fit(rows, targets);
  EXPECT_NEAR(trees->predict({0.2, 1}), 1, 0.05);
  EXPECT_NEAR(trees->predict({0.8, 1}), 3, 0.05);
}

}  // namespace
}  // namespace isamap
