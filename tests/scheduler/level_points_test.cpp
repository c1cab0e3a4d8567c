// SPDX-License-Identifier: Apache-2.0
// Points of the per-memory form as any strategy sees them: what repair makes is legal and canonical, what is priced
// without a nest is what the nest costs, and heuristics find the optima that the exact search proves.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "isamap/search.h"
#include "scheduler/cost/hierarchy/problems.h"
#include "scheduler/search/exact/branch_and_bound.h"
#include "scheduler/space/hierarchy/genome.h"
#include "tests/scheduler/hierarchy_support.h"
#include "tests/scratch.h"

namespace isamap {
namespace {

using testing_support::formula;

struct Case {
  Kernel kernel;
  HardwareModel model;
  MapResult mapped;
  SpaceOptions options;
  SearchSpace space() const { return SearchSpace(kernel, StatementId{0}, mapped.mappings, model, options); }
};

Case made(Kernel kernel, const std::string& machine, const SpaceOptions& options = {}) {
  Case c{std::move(kernel), {}, {}, options};
  auto loaded = load_hardware(machine, {std::string(ISAMAP_SOURCE_DIR) + "/hardware_models",
                                        std::string(ISAMAP_SOURCE_DIR) + "/tests/scheduler/data"});
  EXPECT_TRUE(loaded) << render(loaded.diagnostics());
  if (loaded) c.model = loaded->model;
  auto mapped = enumerate_mappings(c.kernel, c.model, MapOptions{});
  EXPECT_TRUE(mapped) << render(mapped.diagnostics());
  if (mapped) c.mapped = *mapped;
  return c;
}

Kernel gemm(const std::string& dims) { return formula("Z[m,n] += A[m,k] * B[k,n]", dims, "A=s16,B=s16,Z=s16"); }

/// row4, of which two links have one port.
std::string one_port() {
  const std::string file = scratch("one_port.yaml");
  std::filesystem::copy_file(std::string(ISAMAP_SOURCE_DIR) + "/tests/scheduler/data/row4.yaml", scratch("row4.yaml"),
                             std::filesystem::copy_options::overwrite_existing);
  std::ofstream(file) << "hardware: one_port\nextends: row4.yaml\nlinks:\n"
                         "  - {name: to_l1, bandwidth: 1B/cycle, port: bus}\n"
                         "  - {name: from_l1, bandwidth: 1B/cycle, port: bus}\n";
  return file;
}

std::vector<Case> cases() {
  SpaceOptions dividing, whole, two;
  dividing.dividing = true;
  whole.keep_all = whole.single_buffered = true;
  two.double_buffered = true;
  const Kernel window = formula("O[k,p] += I[c,2*p+r] * F[k,c,r]", "k=5,c=6,p=13,r=3", "I=s16,F=s16,O=s16");
  return {made(gemm("m=24,n=20,k=9"), "a1"),
          made(gemm("m=64,n=60,k=100"), "a1", dividing),
          made(gemm("m=1000,n=127,k=77"), "a1", whole),
          made(gemm("m=31,n=17,k=40"), "row4", two),
          made(gemm("m=16,n=1,k=32"), "row4"),
          made(gemm("m=31,n=17,k=40"), one_port()),
          made(window, "a1"),
          made(window, "row4", dividing),
          made(gemm("m=9,n=10,k=12"), "two_macs")};
}

TEST(LevelPoints, AreLegalAndCanonicalAfterRepair) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.model.name + " " + print(c.kernel));
    const SearchSpace space = c.space();
    const auto costs = make_cost_model_closed_form();
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      Point point = space.random(seed);
      Random random(seed);
      if (seed % 2 == 0)  // any numbers
        for (std::size_t d = 0; d < point.choice.size(); ++d)
          point.choice[d] = static_cast<int>(random.between(-1, static_cast<int>(space.decisions()[d].labels.size())));
      point = space.repair(point);
      ASSERT_EQ(space.repair(point), point) << space.describe(point) << "\n" << space.describe(space.repair(point));
      EXPECT_EQ(space.canonical(point), point);
      const auto tiled = space.hierarchy_point(point);
      ASSERT_TRUE(tiled);
      EXPECT_TRUE(evaluate(*tiled->problem, *tiled->tiles).fits) << space.describe(point);
      const auto nest = space.build(point);
      ASSERT_TRUE(nest);
      const auto cost = costs->estimate({&c.kernel, StatementId{0}, &c.model, *nest});
      ASSERT_TRUE(cost) << render(cost.diagnostics());
      const auto quick = costs->quick_estimate(*tiled);
      ASSERT_TRUE(quick);
      EXPECT_EQ(quick->cycles, cost->cycles);
      EXPECT_EQ(quick->energy_pJ, cost->energy_pJ);
    }
  }
}

TEST(LevelPoints, ChangesStayInTheSpaceAndRepeat) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.model.name + " " + print(c.kernel));
    const SearchSpace space = c.space();
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      const Point a = space.repair(space.random(seed)), b = space.repair(space.random(seed + 1000));
      const Point mutant = space.mutate(a, seed), child = space.crossover(a, b, seed);
      EXPECT_NE(mutant, a);
      EXPECT_EQ(mutant, space.mutate(a, seed));
      EXPECT_EQ(space.repair(mutant), mutant);
      EXPECT_EQ(space.repair(child), child);
      std::set<std::vector<int>> seen{a.choice};
      if (seed < 5)
        for (const Point& other : space.neighbours(a)) {
          EXPECT_TRUE(seen.insert(other.choice).second);
          ASSERT_EQ(space.repair(other), other);
        }
    }
  }
}

TEST(LevelPoints, StartsAreLegalUseTheUnitsAndRepeat) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.model.name + " " + print(c.kernel));
    const SearchSpace space = c.space();
    const std::vector<Point> starts = space.starts(16);
    EXPECT_FALSE(starts.empty());
    EXPECT_LE(starts.size(), 16U + space.mappings().size());
    EXPECT_EQ(starts, space.starts(16));
    for (const Point& start : starts) {
      EXPECT_EQ(space.repair(start), start);
      const auto point = space.hierarchy_point(start);
      EXPECT_TRUE(evaluate(*point->problem, *point->tiles).fits);
    }
  }
}

/// Loops with one step and orders that no operand can tell apart are one point.
TEST(LevelPoints, WhatDoesNotMatterCollapses) {
  const Case c = made(gemm("m=8,n=8,k=8"), "a1");
  const SearchSpace space = c.space();
  const auto at = [&](const std::string& name) {
    for (std::size_t d = 0; d < space.decisions().size(); ++d)
      if (space.decisions()[d].name == name) return d;
    ADD_FAILURE() << name;
    return std::size_t{0};
  };
  Point point = space.repair({});  // every loop at home
  Point other = point;
  other.choice[at("place GLB m")] = 2;
  other.choice[at("place GLB k")] = 0;  // GLB has no loops
  EXPECT_EQ(space.repair(other), point);
  other = point;
  other.choice[at("steps GLB m")] = 7;
  other.choice[at("steps RF m")] = 7;  // 8 x 8 steps, of which one level has all
  EXPECT_EQ(space.decisions()[at("steps GLB m")]
                .labels[static_cast<std::size_t>(space.repair(other).choice[at("steps GLB m")])],
            "1");
  Point first = point, second = point;
  first.choice[at("place DRAM m")] = 0, first.choice[at("place DRAM n")] = 1, first.choice[at("place DRAM k")] = 2;
  second.choice[at("place DRAM m")] = 2, second.choice[at("place DRAM n")] = 1, second.choice[at("place DRAM k")] = 0;
  EXPECT_NE(space.repair(first), space.repair(second));
  EXPECT_NE(space.hash(first), space.hash(second));
  EXPECT_EQ(space.hash(other), space.hash(space.repair(other)));
}

double proved(const Case& c, Objective objective, std::vector<hierarchy::LevelPoint>* best = nullptr) {
  const auto problems = hierarchy::problems_of(c.kernel, StatementId{0}, c.mapped.mappings, c.model);
  EXPECT_TRUE(problems) << render(problems.diagnostics());
  double least = std::numeric_limits<double>::infinity();
  for (const auto& mapped : *problems) {
    hierarchy::ExactOptions options;
    options.objective = objective;
    options.dividing = c.options.dividing;
    options.keep_all = c.options.keep_all;
    options.double_buffered = c.options.double_buffered;
    const hierarchy::Exact found = search_exact(mapped.problem, options);
    EXPECT_TRUE(found.finished);
    if (best) best->push_back(*found.best);
    least = std::min(least, found.value);
  }
  return least;
}

TEST(LevelPoints, HoldTheOptimaThatAreProved) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.model.name + " " + print(c.kernel));
    std::vector<hierarchy::LevelPoint> best;
    const double optimum = proved(c, Objective::edp, &best);
    const auto problems = hierarchy::problems_of(c.kernel, StatementId{0}, c.mapped.mappings, c.model);
    double reached = std::numeric_limits<double>::infinity();
    for (std::size_t p = 0; p < problems->size(); ++p) {
      const hierarchy::Genomes genomes((*problems)[p].problem, c.options);
      const hierarchy::Genome genome = genomes.repaired(genomes.of(best[p]));
      EXPECT_EQ(genomes.repaired(genome), genome);
      reached = std::min(reached, evaluate((*problems)[p].problem, genomes.point(genome)).edp());
    }
    EXPECT_EQ(reached, optimum);
  }
}

Found searched(const Case& c, const std::string& name, std::uint64_t seed, int threads, std::int64_t evaluations) {
  const SearchSpace space = c.space();
  auto strategy = strategy_named(name, space, {}, seed);
  EXPECT_TRUE(strategy) << render(strategy.diagnostics());
  LoopOptions loop;
  loop.max_evaluations = evaluations;
  loop.jobs = threads;
  return search(space, **strategy, make_cost_model_closed_form, loop);
}

TEST(LevelPoints, HeuristicsFindProvedOptima) {
  for (const Case& c : {made(gemm("m=8,n=8,k=8"), "a1"), made(gemm("m=7,n=5,k=3"), "a1"),
                        made(gemm("m=6,n=4,k=8"), "row4"), made(gemm("m=4,n=2,k=1"), "two_macs")}) {
    SCOPED_TRACE(c.model.name + " " + print(c.kernel));
    const double optimum = proved(c, Objective::edp);
    for (const char* name : {"annealing", "genetic", "hill_climbing", "greedy"}) {
      const Found found = searched(c, name, 1, 1, 2500);
      ASSERT_TRUE(found.best) << name;
      EXPECT_GE(found.best->objective, optimum) << name;
      EXPECT_LE(found.best->objective, optimum * (std::string(name) == "greedy" ? 1.3 : 1 + 1e-12)) << name;
      const Found one = searched(c, name, 2, 1, 300), again = searched(c, name, 2, 3, 300);
      EXPECT_EQ(one.best->point, again.best->point) << name;
      EXPECT_EQ(one.curve, again.curve) << name;
    }
  }
}

TEST(LevelPoints, InstructionsCompete) {
  SpaceOptions whole;
  whole.keep_all = true;
  const Case small = made(gemm("m=1,n=2,k=1"), "two_macs", whole),
             large = made(gemm("m=16,n=16,k=16"), "two_macs", whole);
  EXPECT_EQ(small.space().mappings().size(), 2U);
  const auto chosen = [](const Case& c) {
    const Found found = searched(c, "annealing", 3, 1, 3000);
    return c.model.instruction(c.space().mapping_of(found.best->point).instruction).name;
  };
  EXPECT_EQ(chosen(small), "direct");
  EXPECT_EQ(chosen(large), "mac");
}

TEST(LevelPoints, EveryStrategySearchesThem) {
  const Case c = made(gemm("m=12,n=10,k=14"), "a1");
  for (const auto& [name, make] : strategies()) {
    if (name == "external" || name == "extension") continue;  // need a command, a file
    const Found found = searched(c, name, 5, 2, 300);
    ASSERT_TRUE(found.best) << name;
    EXPECT_EQ(found.legal, found.evaluations) << name << ": repaired points are legal";
  }
}

}  // namespace
}  // namespace isamap
