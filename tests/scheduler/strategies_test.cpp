// SPDX-License-Identifier: Apache-2.0
// What every strategy in scheduler/strategies must do, without being told its name.

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "backends/common/process.h"
#include "isamap/interpret.h"
#include "isamap/mapper.h"
#include "isamap/program_on_machine.h"
#include "isamap/scheduler.h"
#include "tests/cost.h"
#include "tests/scheduler/support.h"
#include "tests/scratch.h"

namespace isamap {
namespace {

using testing_support::formula;
using testing_support::machine;

struct Task {
  Kernel kernel;
  HardwareModel model;
  MapResult mapped;
};

Task task(const std::string& compute, const std::string& dims, const std::string& dtypes, const std::string& target) {
  Task p{formula(compute, dims, dtypes), machine(target), {}};
  auto mapped = enumerate_mappings(p.kernel, p.model, {});
  EXPECT_TRUE(mapped) << render(mapped.diagnostics());
  if (mapped) p.mapped = *mapped;
  return p;
}

/// A machine whose memory has room for the tensors but not for copies of them beside: most cheap schedules do not
/// lower.
Task crowded_task(const std::string& capacity) {
  const std::string text =
      "hardware: crowded\nextends: x86_avx512\nmemories:\n  - {name: ram, capacity: " + capacity + "}\n";
  const std::string path = scratch("crowded_" + capacity + ".yaml");
  std::ofstream(path) << text;
  Task p{formula("C[i,j] += A[i,k] * B[k,j]", "i=128,j=128,k=128"), {}, {}};
  auto loaded = load_hardware(path, {std::string(ISAMAP_SOURCE_DIR) + "/hardware_models"});
  EXPECT_TRUE(loaded) << render(loaded.diagnostics());
  if (loaded) p.model = loaded->model;
  auto mapped = enumerate_mappings(p.kernel, p.model, {});
  EXPECT_TRUE(mapped) << render(mapped.diagnostics());
  if (mapped) p.mapped = *mapped;
  return p;
}

/// A machine that is counted, of eight units that multiply tiles of 4 x 4 x 4.
constexpr const char* eight_units = R"yaml(hardware: eight_units
clock: 1GHz
program: {language: asm}
units: [{name: chip}, {name: pe, count: COUNT}]
memories:
  - {name: dram, per: chip, kind: dram, capacity: 1GiB}
  - {name: spad, per: pe, kind: scratchpad, capacity: 16KiB}
links:
  - {name: in, from: dram, to: spad, bandwidth: 64B/cycle}
  - {name: out, from: spad, to: dram, bandwidth: 64B/cycle}
instructions:
  - {name: "copy_${l}", link: "${l}", compute: "D[] = S[]", emit: "copy_${l} {D}, {S}", variants: [{l: in}, {l: out}]}
  - {name: clear, unit: pe, compute: "D[] = 0", emit: "clear {D}", operands: {D: {memory: spad, dtype: s32}}}
  - {name: mm, unit: pe, compute: "C[i,j] += s32(A[i,k]) * s32(B[k,j])", dims: {i: 4, j: 4, k: 4}, emit: "mm {C}, {A}, {B}",
     timing: {interval: 8cycles},
     operands: {A: {memory: spad, dtype: s8, layout: {i: 4, k: 1}}, B: {memory: spad, dtype: s8, layout: {k: 4, j: 1}},
                C: {memory: spad, dtype: s32, layout: {i: 4, j: 1}}}}
)yaml";

/// Cycles of the best of the points that a search starts with.
double best_start(const std::string& count) {
  std::string text = eight_units;
  text.replace(text.find("COUNT"), 5, count);
  const std::string path = scratch("eight_units.yaml");
  std::ofstream(path) << text;
  const Task p = task("C[i,j] += s32(A[i,k]) * s32(B[k,j])", "i=64,j=64,k=64", "A=s8,B=s8,C=s32", path);
  const SearchSpace space(p.kernel, make_id<StatementId>(0), p.mapped.mappings, p.model, {});
  double best = 1e18;
  for (const Point& point : space.starts(16))
    if (const auto nest = space.build(point))
      if (const auto cost =
              make_cost_model_closed_form()->estimate({&p.kernel, make_id<StatementId>(0), &p.model, *nest}))
        best = std::min(best, cost->cycles);
  return best;
}

/// However a file names the instances of a unit.
TEST(Strategies, DistributeOverUnitsThatAreOnlyCounted) {
  EXPECT_EQ(best_start("1"), 16 * 16 * 16 * 8);
  EXPECT_LT(best_start("8"), 16 * 16 * 16 * 8);
  EXPECT_EQ(best_start("8"), best_start("{x: 8}"));
}

/// Groups of products have less work than products of lanes, which need no packing: both have starts.
TEST(Strategies, BeginWithEveryNumberOfFilledDims) {
  const auto filled = [](const Mapping& mapping) {
    return std::count_if(mapping.dims.begin(), mapping.dims.end(), [](const auto& digits) { return !digits.empty(); });
  };
  for (const Task& p : {task("O[p,q,c] += s32(I[p+r,q+s,c]) * s32(F[c,r,s])", "p=28,q=28,c=192,r=3,s=3",
                             "I=u8,F=s8,O=s32", "x86_avx512_vnni"),
                        task("O[k,p,q] += s32(I[c,p+r,q+s]) * s32(F[k,c,r,s])", "p=28,q=28,k=64,c=32,r=3,s=3",
                             "I=u8,F=s8,O=s32", "x86_avx512_vnni")}) {
    const SearchSpace space(p.kernel, make_id<StatementId>(0), p.mapped.mappings, p.model, {});
    std::map<std::ptrdiff_t, std::set<int>> all, begun;  // mappings, by filled dims
    for (std::size_t m = 0; m < p.mapped.mappings.size(); ++m)
      all[filled(p.mapped.mappings[m])].insert(static_cast<int>(m));
    for (const Point& point : space.starts(16))
      begun[filled(p.mapped.mappings[static_cast<std::size_t>(point.choice[0])])].insert(point.choice[0]);
    EXPECT_GT(all.size(), 1U);
    for (const auto& [dims, mappings] : all)
      EXPECT_GE(begun[dims].size(), std::min<std::size_t>(mappings.size(), 4)) << dims;
  }
}

/// Products of lanes have fewer digits than groups of products, which must not cost the latter their starts.
TEST(Strategies, BeginWithGroupsThatFuseNothing) {
  const Task p = task("O[p,q,k] += s32(I[p+r,q+s,c]) * s32(F[k,c,r,s])", "p=56,q=56,k=64,c=3,r=3,s=3",
                      "I=u8,F=s8,O=s32", "x86_avx512_vnni");
  const SearchSpace space(p.kernel, make_id<StatementId>(0), p.mapped.mappings, p.model, {});
  std::set<int> begun;
  for (const Point& point : space.starts(16)) {
    const auto& dims = p.mapped.mappings[static_cast<std::size_t>(point.choice[0])].dims;
    if (dims.size() == 2 && dims[0].size() == 1 && dims[1].size() == 1) begun.insert(point.choice[0]);
  }
  EXPECT_GE(begun.size(), 4U);
}

std::vector<Task> tasks() {
  return {task("C[i,j] += A[i,k] * B[k,j]", "i=29,j=37,k=7", "", "x86_avx512"),
          task("C[i,j] += s32(A[i,k]) * s32(B[k,j])", "i=40,j=33,k=50", "A=s8,B=s8,C=s32", "npu16"),
          task("C[i,j] += A[i,k] * B[k,j]", "i=5,j=1,k=3", "", "scalar_c")};
}

/// What a strategy cannot do without.
StrategyOptions needed(const std::string& name) {
  if (name != "external") return {};
  return {{"command", std::string("python3 ") + ISAMAP_SOURCE_DIR + "/examples/strategies/evolution.py"}};
}

/// The points a strategy asks for, told what the closed form says.
std::vector<Point> asked(const Task& p, const std::string& name, std::uint64_t seed, int budget, int& legal) {
  const SearchSpace space(p.kernel, make_id<StatementId>(0), p.mapped.mappings, p.model, {});
  const auto at =
      std::find_if(strategies().begin(), strategies().end(), [&](const auto& s) { return s.first == name; });
  auto strategy = at->second(space, needed(name), seed);
  EXPECT_TRUE(strategy) << render(strategy.diagnostics());
  const auto costs = make_cost_model_closed_form();
  std::vector<Point> points;
  legal = 0;
  while (static_cast<int>(points.size()) < budget) {
    const auto point = (*strategy)->next();
    if (!point) break;
    points.push_back(*point);
    EXPECT_EQ(point->choice.size(), space.decisions().size());
    for (std::size_t d = 0; d < point->choice.size(); ++d) {
      EXPECT_GE(point->choice[d], 0);
      EXPECT_LT(point->choice[d], static_cast<int>(space.decisions()[d].labels.size()));
    }
    auto nest = space.build(*point);
    auto cost = nest ? costs->estimate({&p.kernel, make_id<StatementId>(0), &p.model, *nest})
                     : Result<Cost>(nest.diagnostics());
    legal += cost ? 1 : 0;
    (*strategy)->report(*point, cost ? std::optional(value(*cost, Objective::cycles)) : std::nullopt);
  }
  return points;
}

void ask_for_points_of_the_space_and_repeat(int evaluations) {
  for (const auto& [name, make] : strategies())
    for (const Task& p : tasks()) {
      if (name == "external" && !command_exists("python3")) continue;  // external_test.cpp says so
      if (name == "extension") continue;  // needs a program that exports the library: tests/cli/lab_test.cpp
      SCOPED_TRACE(name + " on " + p.model.name);
      int legal = 0, again = 0;
      const auto points = asked(p, name, 3, evaluations, legal);
      EXPECT_FALSE(points.empty());
      EXPECT_EQ(points, asked(p, name, 3, evaluations, again));
      EXPECT_EQ(legal, again);
    }
}

TEST(Strategies, AskForPointsOfTheSpaceAndRepeat) { ask_for_points_of_the_space_and_repeat(20); }
TEST(HeavyStrategies, AskForPointsOfTheSpaceAndRepeat) { ask_for_points_of_the_space_and_repeat(60); }

TEST(Strategies, GreedyFindsALegalScheduleThatComputesTheKernel) {
  for (const Task& p : tasks()) {
    SCOPED_TRACE(p.model.name);
    ScheduleOptions options;
    auto found = schedule(p.kernel, p.mapped, p.model, options);
    ASSERT_TRUE(found) << render(found.diagnostics());
    EXPECT_TRUE(verify(found->schedule, p.kernel, p.model).empty()) << print(found->schedule);
    EXPECT_LE(found->evaluations, options.max_evaluations);
    auto again = schedule(p.kernel, p.mapped, p.model, options);
    ASSERT_TRUE(again);
    EXPECT_EQ(print(again->schedule), print(found->schedule));
    auto program = lower(found->schedule, p.kernel, p.model);
    ASSERT_TRUE(program) << print(found->schedule) << render(program.diagnostics());
    Random random(9);
    std::vector<TensorData> expected;
    for (const Tensor& tensor : p.kernel.tensors) expected.push_back(random_data(tensor, Fill::integers, random));
    std::vector<TensorData> computed = expected;
    interpret(p.kernel, expected);
    auto counts = interpret(*program, p.model, computed);
    ASSERT_TRUE(counts) << render(counts.diagnostics());
    EXPECT_TRUE(compare(p.kernel, expected, computed).equal) << print(found->schedule);
  }
}

/// Depthwise on a matrix unit fills a sixteenth of each tile, so constructed starts overflow the accumulator.
TEST(Strategies, GreedyDrawsAFirstPointWhenNoConstructedOneIsLegal) {
  const Task p =
      task("O[n,c,p,q] += I[n,c,p+r,q+s] * F[c,r,s]", "n=2,c=64,p=28,q=28,r=3,s=3", "I=s8,F=s8,O=s32", "npu16");
  const auto found = schedule(p.kernel, p.mapped, p.model, ScheduleOptions{});
  ASSERT_TRUE(found) << render(found.diagnostics());
  EXPECT_FALSE(found->mappings[0].dims.empty());
  EXPECT_TRUE(lower(found->schedule, p.kernel, p.model));
}

TEST(Strategies, ExhaustiveSaysWhenTheSpaceIsExhausted) {
  const Task p = task("C[i,j] += A[i,k] * B[k,j]", "i=2,j=1,k=3", "", "scalar_c");
  const SearchSpace space(p.kernel, make_id<StatementId>(0), p.mapped.mappings, p.model, {});
  const auto make = std::find_if(strategies().begin(), strategies().end(), [](const auto& s) {
                      return s.first == "exhaustive";
                    })->second;
  auto strategy = make(space, {}, 0);
  ASSERT_TRUE(strategy);
  std::vector<Point> points;
  while (const auto point = (*strategy)->next()) {
    EXPECT_FALSE((*strategy)->exhausted());
    EXPECT_EQ(space.repair(*point), *point);
    points.push_back(*point);
    ASSERT_LE(points.size(), 100000u);
    if (points.size() == 1) continue;
    EXPECT_NE(points[points.size() - 2], points.back());
  }
  EXPECT_TRUE((*strategy)->exhausted());
  EXPECT_LE(static_cast<double>(points.size()), space.size());
  for (std::uint64_t seed = 0; seed < 50; ++seed)  // nothing that random finds is missing
    EXPECT_NE(std::find(points.begin(), points.end(), space.repair(space.random(seed))), points.end());
}

TEST(Strategies, GreedyComesNearTheProvenOptimaOfTheCheckArchitecture) {
  struct Proven {
    std::string dims;
    double optimum;
  };
  for (const Proven& c : {Proven{"m=64,n=64,k=64", 3.95103e9}, Proven{"m=1024,n=1024,k=1024", 3.54527e16},
                          Proven{"m=512,n=512,k=64", 9.70877e12}}) {
    SCOPED_TRACE(c.dims);
    const Task p = task("Z[m,n] += A[m,k] * B[k,n]", c.dims, "A=s16,B=s16,Z=s16", "a1");
    ScheduleOptions options;
    options.space.dividing = options.space.keep_all = true;  // what was proved
    options.must_lower = false;
    auto found = schedule(p.kernel, p.mapped, p.model, options);
    ASSERT_TRUE(found) << render(found.diagnostics());
    EXPECT_GE(found->cost.edp(), c.optimum * (1 - 1e-5));  // else the model counts too little
    EXPECT_LE(found->cost.edp(), c.optimum * 1.05) << print(found->schedule);
  }
}

TEST(Strategies, ReductionsStayInTimeOrTheirPartsAreAddedUp) {
  const Task p = task("C[i,j] += f32(A[i,k]) * f32(B[k,j])", "i=64,j=64,k=64", "A=bf16,B=bf16,C=f32", "nvidia_sm80");
  SpaceOptions in_order;
  in_order.sums_in_order = true;
  int parts = 0, wholes = 0;
  for (const SpaceOptions& options : {SpaceOptions{}, in_order}) {
    const SearchSpace space(p.kernel, make_id<StatementId>(0), p.mapped.mappings, p.model, options);
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      auto nest = space.build(space.random(seed));
      if (!nest) continue;
      bool split = false;
      for (const Line& line : nest->lines)
        if (const For* f = std::get_if<For>(&line.is); f && !f->unit.empty()) {
          EXPECT_NE(f->unit, "lane") << "lanes are inside the instruction";
          if (f->loops.front().dim != "k") continue;
          split = true;
          EXPECT_FALSE(f->combine.empty()) << print(line);
          EXPECT_FALSE(options.sums_in_order) << print(line);
        }
      ++(split ? parts : wholes);
    }
  }
  EXPECT_GT(parts, 20);
  EXPECT_GT(wholes, 200);
}

TEST(Strategies, UnknownOptionsAreRefused) {
  const Task p = task("C[i,j] += A[i,k] * B[k,j]", "i=2,j=1,k=3", "", "scalar_c");
  const SearchSpace space(p.kernel, make_id<StatementId>(0), p.mapped.mappings, p.model, {});
  for (const auto& [name, make] : strategies()) EXPECT_FALSE(make(space, {{"no_such_option", "1"}}, 0)) << name;
}

TEST(Scheduler, TheBestIsTheBestThatLowers) {
  const Task p = crowded_task("200KiB");  // the 32 cheapest of the random points do not lower
  for (const std::string name : {"greedy", "random"}) {
    ScheduleOptions options;
    options.strategy = name;
    options.objective = Objective::cycles;
    options.max_evaluations = 1000;
    const auto found = schedule(p.kernel, p.mapped, p.model, options);
    ASSERT_TRUE(found) << name << render(found.diagnostics());
    EXPECT_TRUE(lower(found->schedule, p.kernel, p.model)) << name;
    ASSERT_FALSE(found->curve.empty());
    EXPECT_EQ(found->curve.back().second, found->cost.cycles) << name;
  }
}

TEST(Scheduler, WhereAHeuristicFindsNothingTheConstructiveStrategyLooks) {
  const Task p = task("C[i,j] += s32(A[i,k]) * s32(B[k,j])", "i=29,j=37,k=53", "A=s8,B=s8,C=s32", "dot16");
  ScheduleOptions options;
  options.strategy = "random";
  options.max_evaluations = 1;
  bool looked_again = false;
  for (options.seed = 0; options.seed < 4; ++options.seed) {
    const auto found = schedule(p.kernel, p.mapped, p.model, options);
    ASSERT_TRUE(found) << render(found.diagnostics());
    EXPECT_TRUE(found->scalar_causes[0].reasons.empty()) << "scalar code";
    looked_again = looked_again || found->evaluations > 1;
  }
  EXPECT_TRUE(looked_again) << "every first point was legal";
}

TEST(Scheduler, SaysThatTheTensorsDoNotFit) {
  const Task p = crowded_task("100KiB");
  const auto found = schedule(p.kernel, p.mapped, p.model, {});
  ASSERT_FALSE(found);
  const std::string text = render(found.diagnostics());
  EXPECT_TRUE(text.starts_with("memory ram holds 102400 bytes; the tensors of formula take 196608, A alone 65536"))
      << text;
}

TEST(Scheduler, SecondsAreSharedAmongStatements) {
  Task p = task("C[i,j] += A[i,k] * B[k,j]", "i=64,j=64,k=64", "", "x86_avx512");
  ScheduleOptions options;
  options.strategy = "exhaustive";
  options.max_evaluations = std::numeric_limits<std::int64_t>::max();
  options.max_seconds = 0.4;
  const auto found = schedule(p.kernel, p.mapped, p.model, options);
  ASSERT_TRUE(found) << render(found.diagnostics());
  EXPECT_GT(found->evaluations, cost::sanitized ? 0 : 200);
  EXPECT_LT(found->seconds, 10);
  EXPECT_FALSE(found->exhausted);
}

}  // namespace
}  // namespace isamap
