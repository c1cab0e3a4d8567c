// SPDX-License-Identifier: Apache-2.0
// Strategies and cost models that users bring: any space, any point, any cost, exceptions, and searches that are ended.

#include <atomic>
#include <cmath>
#include <fstream>
#include <limits>

#include "isamap/scheduler.h"
#include "scheduler/schedule_exact.h"
#include "scheduler/search/cost_names.h"
#include "tests/scheduler/support.h"
#include "tests/scratch.h"

namespace isamap {
namespace {

using testing_support::formula;
using testing_support::machine;

/// Points at random; what `spoil` makes of them is what the search gets.
class Lottery : public SearchStrategy {
 public:
  using Spoil = std::function<void(Point&)>;
  explicit Lottery(const SearchSpace& space, Spoil spoil = {}, std::vector<Point>* told = nullptr)
      : space_(space), spoil_(std::move(spoil)), told_(told) {}
  std::optional<Point> next() override {
    if (asked_ == 60) return std::nullopt;
    Point point = asked_ == 0 ? space_.first() : space_.random(asked_);
    ++asked_;
    if (spoil_) spoil_(point);
    return point;
  }
  void report(const Point& point, std::optional<double>) override {
    if (told_) told_->push_back(point);
  }
  std::size_t batch() const override { return 4; }

 private:
  const SearchSpace& space_;
  Spoil spoil_;
  std::vector<Point>* told_;
  std::uint64_t asked_ = 0;
};

/// The closed form, with a number changed or an exception.
class Wrong : public CostModel {
 public:
  explicit Wrong(std::function<void(Cost&)> change) : change_(std::move(change)) {}
  Result<Cost> estimate(const Candidate& candidate) override {
    auto cost = closed_form_->estimate(candidate);
    if (cost) change_(*cost);
    return cost;
  }

 private:
  std::function<void(Cost&)> change_;
  std::unique_ptr<CostModel> closed_form_ = make_cost_model_closed_form();
};

struct MappedProblem {
  Kernel kernel;
  HardwareModel model;
  MapResult mapped;
};

MappedProblem problem(const std::string& target, Kernel kernel) {
  MappedProblem made{std::move(kernel), machine(target), {}};
  made.mapped = *enumerate_mappings(made.kernel, made.model, {});
  return made;
}

MappedProblem mapped_gemm(const std::string& target = "x86_avx512") {
  const std::string types = target == "a1" ? "A=s16,B=s16,C=s16" : "";
  return problem(target, formula("C[i,j] += A[i,k] * B[k,j]", "i=30,j=40,k=20", types));
}

ScheduleOptions cycles() {
  ScheduleOptions options;
  options.objective = Objective::cycles;
  options.max_evaluations = 100;
  return options;
}

// Found: a segmentation fault or bad_alloc on all of them, with one strategy made for a space of the caller's.
TEST(UserCode, AStrategyIsMadeForEachSpaceThatIsSearched) {
  for (const char* name : {"depthwise", "softmax", "layer_norm", "attention", "depthwise_nhwc"}) {
    auto kernel = load_kernel(std::string(ISAMAP_SOURCE_DIR) + "/examples/" + name + ".yaml");
    ASSERT_TRUE(kernel) << name;
    const MappedProblem p = problem("x86_avx512", std::move(*kernel));
    ScheduleOptions options = cycles();
    std::size_t spaces = 0;
    options.user_strategy = [&](const SearchSpace& space) {
      ++spaces;
      return std::make_unique<Lottery>(space);
    };
    const auto found = schedule(p.kernel, p.mapped, p.model, options);
    ASSERT_TRUE(found) << name << ": " << render(found.diagnostics());
    EXPECT_EQ(found->schedule.nests.size(), p.kernel.statements.size()) << name;
    EXPECT_GE(spaces, 1u) << name;
  }
}

TEST(UserCode, FactoriesMayTakeOptionsAndSeedAndMayRefuse) {
  const MappedProblem p = mapped_gemm();
  ScheduleOptions options = cycles();
  options.seed = 7;
  options.strategy_options = {{"key", "value"}};
  options.user_strategy = [](const SearchSpace& space, const StrategyOptions& given, std::uint64_t seed) {
    EXPECT_EQ(given.at("key"), "value");
    EXPECT_EQ(seed, 7u);
    return std::make_unique<Lottery>(space);
  };
  EXPECT_TRUE(schedule(p.kernel, p.mapped, p.model, options));
  options.user_strategy = [](const SearchSpace&) -> StrategyFactory::Made { return error("not today"); };
  EXPECT_EQ(schedule(p.kernel, p.mapped, p.model, options).diagnostics().front().message, "not today");
  options.user_strategy = [](const SearchSpace&) { return std::unique_ptr<SearchStrategy>(); };
  EXPECT_NE(render(schedule(p.kernel, p.mapped, p.model, options).diagnostics()).find("returned no"),
            std::string::npos);
}

/// One of each form of points.
std::vector<MappedProblem> forms() {
  std::vector<MappedProblem> all{mapped_gemm(), mapped_gemm("a1")};
  all.push_back(problem("nvidia_sm80", formula("C[i,j] += A[i,k] * B[k,j]", "i=128,j=128,k=64", "A=f16,B=f16")));
  return all;
}

const std::vector<std::pair<std::string, Lottery::Spoil>>& spoils() {
  static const std::vector<std::pair<std::string, Lottery::Spoil>> all{
      {"out of range", [](Point& p) { std::fill(p.choice.begin(), p.choice.end(), 1'000'000); }},
      {"negative", [](Point& p) { std::fill(p.choice.begin(), p.choice.end(), -5); }},
      {"short", [](Point& p) { p.choice.resize(1); }},
      {"long", [](Point& p) { p.choice.resize(100, 3); }},
      {"empty", [](Point& p) { p.choice.clear(); }}};
  return all;
}

TEST(UserCode, PointsOutsideTheSpaceAreRepaired) {
  for (const MappedProblem& p : forms()) {
    for (const auto& [name, spoil] : spoils()) {
      ScheduleOptions options = cycles();
      options.max_evaluations = 8;
      options.must_lower = p.model.name != "a1";  // which is priced, not programmed
      std::vector<Point> told;
      std::size_t decisions = 0;
      options.user_strategy = [&](const SearchSpace& space) {
        decisions = space.decisions().size();
        return std::make_unique<Lottery>(space, spoil, &told);
      };
      const auto found = schedule(p.kernel, p.mapped, p.model, options);
      EXPECT_TRUE(found) << p.model.name << ", " << name << ": " << render(found.diagnostics());
      EXPECT_FALSE(told.empty());
      for (const Point& point : told) EXPECT_EQ(point.choice.size(), decisions) << name;
    }
  }
}

TEST(UserCode, EveryMemberOfASpaceTakesAnyPoint) {
  for (const MappedProblem& p : forms()) {
    const SearchSpace space(p.kernel, StatementId{0}, p.mapped.mappings, p.model, {});
    for (const auto& [name, spoil] : spoils()) {
      Point point = space.first();
      spoil(point);
      const auto nest = space.build(point);
      EXPECT_FALSE(nest) << name;
      EXPECT_NE(render(nest.diagnostics())
                    .find(point.choice.size() == space.decisions().size() ? "choice 0 of the point (mapping) is "
                                                                          : "choices; the space has "),
                std::string::npos)
          << render(nest.diagnostics());
      EXPECT_FALSE(space.hierarchy_point(point));
      space.neighbours(point);
      EXPECT_EQ(space.mutate(point, 1).choice.size(), space.decisions().size());
      EXPECT_EQ(space.crossover(point, space.first(), 1).choice.size(), space.decisions().size());
      EXPECT_EQ(space.features(point).size(), space.feature_names().size());
      EXPECT_FALSE(space.describe(point).empty());
      space.mapping_of(point);
      space.hash(point);
    }
  }
  const MappedProblem p = mapped_gemm();
  const SearchSpace nothing(p.kernel, StatementId{0}, {}, p.model, {});
  EXPECT_FALSE(nothing.build(nothing.first()));
  EXPECT_TRUE(nothing.starts(4).empty());
  EXPECT_THROW(nothing.mapping_of(nothing.first()), InternalError);
}

TEST(UserCode, WhatIsNoCostIsRefusedInWords) {
  const MappedProblem p = mapped_gemm();
  const double infinite = std::numeric_limits<double>::infinity();
  for (const auto& [number, words] : {std::pair(std::nan(""), "nan"), {infinite, "inf"}, {-1.0, "-1"}}) {
    ScheduleOptions options = cycles();
    options.user_strategy = [](const SearchSpace& space) { return std::make_unique<Lottery>(space); };
    options.costs = [&, wrong = number] { return std::make_unique<Wrong>([=](Cost& cost) { cost.cycles = wrong; }); };
    const auto found = schedule(p.kernel, p.mapped, p.model, options);
    ASSERT_FALSE(found) << found->cost.cycles;
    EXPECT_NE(render(found.diagnostics()).find(std::string("the cost model gives cycles = ") + words),
              std::string::npos)
        << render(found.diagnostics());
  }
  // One that is wrong now and then: the best is of those that are right.
  ScheduleOptions options = cycles();
  int asked = 0;
  options.costs = [&](const SearchSpace&) {
    return std::make_unique<Wrong>([&](Cost& cost) { cost.cycles = ++asked % 2 ? cost.cycles : std::nan(""); });
  };
  const auto found = schedule(p.kernel, p.mapped, p.model, options);
  ASSERT_TRUE(found) << render(found.diagnostics());
  EXPECT_TRUE(std::isfinite(found->cost.cycles));
  options.costs = [](const SearchSpace&) { return std::unique_ptr<CostModel>(); };
  EXPECT_NE(render(schedule(p.kernel, p.mapped, p.model, options).diagnostics()).find("returned no"),
            std::string::npos);
}

// Found: scalar code with a cost of 0 cycles.
TEST(UserCode, AModelThatRefusesEveryScheduleIsQuoted) {
  struct Never final : CostModel {
    Result<Cost> estimate(const Candidate&) override { return error("this model knows no schedule"); }
  };
  const MappedProblem maps = mapped_gemm();
  const MappedProblem scalar = problem("npu16", formula("Y[i] += X[i,j]", "i=3,j=5"));
  EXPECT_TRUE(scalar.mapped.mappings.empty());
  for (const MappedProblem* p : {&maps, &scalar}) {
    ScheduleOptions options = cycles();
    options.fallback = {10, 10, 10, 10};
    options.costs = [] { return std::make_unique<Never>(); };
    const auto found = schedule(p->kernel, p->mapped, p->model, options);
    ASSERT_FALSE(found) << found->cost.cycles << " cycles:\n" << print(found->schedule);
    EXPECT_EQ(found.diagnostics().front().message, "this model knows no schedule");
  }
}

/// Points in order are those of one corner of the space: what they find is where the strategy begins again.
TEST(UserCode, AStrategyThatFoundNothingBeginsAgainFromTheFirstLegalPoint) {
  struct Late final : CostModel {
    explicit Late(int& asked) : asked_(asked) {}
    Result<Cost> estimate(const Candidate& candidate) override {
      if (++asked_ <= 60) return error("not yet");
      return closed_form_->estimate(candidate);
    }
    int& asked_;
    std::unique_ptr<CostModel> closed_form_ = make_cost_model_closed_form();
  };
  const MappedProblem p = mapped_gemm();
  ScheduleOptions options = cycles();
  options.jobs = 1;
  options.max_evaluations = 20;
  options.fallback = {20, 40, 1000, 1000};  // 20 of the strategy, 20 greedy ones, 40 in order
  int asked = 0;
  options.costs = [&] { return std::make_unique<Late>(asked); };
  const auto found = schedule(p.kernel, p.mapped, p.model, options);
  ASSERT_TRUE(found) << render(found.diagnostics());
  EXPECT_EQ(found->evaluations, 100);
}

// Found: a segmentation fault in all of them.
TEST(UserCode, MappingsOfAnotherKernelOrMachineAreRefused) {
  const auto gemm = formula("C[i,j] += s32(A[i,k]) * s32(B[k,j])", "i=48,j=80,k=64", "A=s8,B=s8,C=s32");
  const auto conv = formula("O[n,k,p,q] += I[n,c,p+r,q+s] * F[k,c,r,s]", "n=1,k=20,p=14,q=15,c=10,r=3,s=3");
  const std::vector<MappedProblem> all{problem("npu16", gemm), mapped_gemm(), problem("outer16", conv)};
  for (const MappedProblem& own : all)
    for (const MappedProblem& other : all) {
      if (&own == &other) continue;
      const Mapping& mapping = other.mapped.mappings.front();
      const auto found = schedule(own.kernel, other.mapped, own.model, cycles());
      ASSERT_FALSE(found) << own.model.name << " with mappings of " << other.model.name;
      EXPECT_NE(found.diagnostics().front().message.find("is not one of"), std::string::npos)
          << render(found.diagnostics());
      EXPECT_THROW(print(mapping, own.kernel, own.model), InternalError);
      EXPECT_THROW(prove(own.kernel, own.model, mapping), InternalError);
      EXPECT_THROW(not_programmable(mapping, own.kernel, own.model), InternalError);
      EXPECT_THROW(SearchSpace(own.kernel, StatementId{0}, other.mapped.mappings, own.model, {}), InternalError);
    }
  const MappedProblem& own = all.front();
  try {
    const SearchSpace none(own.kernel, StatementId{}, own.mapped.mappings, own.model, {});
    FAIL() << "a space of no statement";
  } catch (const InternalError& refused) {
    EXPECT_NE(std::string(refused.what()).find("statement number -1"), std::string::npos) << refused.what();
  }
}

TEST(UserCode, WhatItThrowsReachesTheCallerFromAnyThread) {
  const MappedProblem p = mapped_gemm();
  for (const int threads : {1, 3}) {
    ScheduleOptions options = cycles();
    options.jobs = threads;
    std::atomic<int> asked{0};
    options.costs = [&] {
      return std::make_unique<Wrong>([&](Cost&) {
        if (++asked > 20) throw std::runtime_error("of the cost model");
      });
    };
    EXPECT_THROW({ [[maybe_unused]] const auto found = schedule(p.kernel, p.mapped, p.model, options); },
                 std::runtime_error);
  }
  ScheduleOptions options = cycles();
  options.user_strategy = [](const SearchSpace& space) {
    return std::make_unique<Lottery>(space, [](Point&) { throw std::runtime_error("of the strategy"); });
  };
  EXPECT_THROW({ [[maybe_unused]] const auto found = schedule(p.kernel, p.mapped, p.model, options); },
               std::runtime_error);
}

TEST(UserCode, ProgressEndsASearchWithTheBestSoFar) {
  auto kernel = load_kernel(std::string(ISAMAP_SOURCE_DIR) + "/examples/softmax.yaml");
  const MappedProblem p = problem("x86_avx512", std::move(*kernel));
  ScheduleOptions options = cycles();
  options.max_evaluations = 100'000;
  std::int64_t calls = 0;
  options.progress = [&](std::int64_t, double) { return ++calls < 40; };
  const auto found = schedule(p.kernel, p.mapped, p.model, options);
  ASSERT_TRUE(found) << render(found.diagnostics());
  EXPECT_TRUE(found->stopped);
  EXPECT_FALSE(found->exhausted);
  EXPECT_EQ(calls, 40) << "nobody asks again";
  EXPECT_EQ(found->schedule.nests.size(), p.kernel.statements.size());
  EXPECT_LT(found->evaluations, 4000);
}

/// Statements that nobody has begun to search need one legal schedule, also where statements are searched side by side.
TEST(UserCode, AfterAStopTheOtherStatementsAreNotSearched) {
  auto kernel = load_kernel(std::string(ISAMAP_SOURCE_DIR) + "/examples/attention.yaml");
  const MappedProblem p = problem("x86_avx512", std::move(*kernel));
  const auto evaluations = [&](int jobs) -> std::int64_t {
    ScheduleOptions options = cycles();
    options.max_evaluations = 100'000;
    options.jobs = jobs;
    options.progress = [](std::int64_t, double best) { return !std::isfinite(best); };
    const auto found = schedule(p.kernel, p.mapped, p.model, options);
    EXPECT_TRUE(found && found->stopped);
    return found ? found->evaluations : 0;
  };
  EXPECT_LE(evaluations(2), 2 * evaluations(1)) << "two were begun";
}

TEST(UserCode, ProgressEndsTheExactSearch) {
  const MappedProblem p = problem("a1", formula("Z[m,n] += A[m,k] * B[k,n]", "m=509,n=521,k=503", "A=s16,B=s16,Z=s16"));
  ScheduleOptions options;
  std::int64_t calls = 0;
  options.progress = [&](std::int64_t, double best) { return ++calls < 3 || !std::isfinite(best); };
  bool proved = false;
  const auto found = schedule_exactly(p.kernel, p.mapped, p.model, options, {}, &proved);
  ASSERT_TRUE(found) << render(found.diagnostics());
  EXPECT_TRUE(found->scheduled.stopped);
  EXPECT_FALSE(found->certified);
  EXPECT_LE(found->lower_bound, value(found->scheduled.cost, options.objective));
}

TEST(UserCode, FailedInvariantsThrow) {
  const Result<int> failed = error("no number");
  EXPECT_THROW({ [[maybe_unused]] const int number = *failed; }, InternalError);
  EXPECT_THROW(ISAMAP_CHECK(1 == 2, "one is two"), InternalError);
}

/// A cost model made of lines of shell.
Result<Scheduled> priced_by(const std::string& body, const std::string& seconds = "20") {
  const std::string path = scratch("costs.sh");
  std::ofstream(path) << "read -r hello\n" << body << "\n";
  const auto costs = cost_model_named("external", {{"command", "sh " + path}, {"seconds", seconds}});
  EXPECT_TRUE(costs) << render(costs.diagnostics());
  const MappedProblem p = mapped_gemm();
  ScheduleOptions options = cycles();
  options.max_evaluations = 30;
  options.costs = *costs;
  return schedule(p.kernel, p.mapped, p.model, options);
}

TEST(UserCode, AProcessMayEstimate) {
  const auto found = priced_by("while read -r line; do echo '{\"cycles\":77,\"energy_pJ\":3}'; done");
  ASSERT_TRUE(found) << render(found.diagnostics());
  EXPECT_EQ(found->cost.cycles, 77);
  for (const auto& [body, words] : {std::pair("exit 3", "ended with code 3"),
                                    {"read -r q; echo nonsense", "'nonsense'"},
                                    {"read -r q; sleep 5", "within 0.2 seconds"}}) {
    const auto failed = priced_by(body, "0.2");
    ASSERT_FALSE(failed) << body;
    EXPECT_NE(render(failed.diagnostics()).find(words), std::string::npos) << render(failed.diagnostics());
  }
  EXPECT_NE(render(cost_model_named("external", {}).diagnostics()).find("needs the command"), std::string::npos);
  EXPECT_NE(render(cost_model_named("nonsense", {}).diagnostics()).find("there are: closed_form"), std::string::npos);
  EXPECT_FALSE(cost_model_named("extension", {{"file", "/no/such.so"}}));
}

}  // namespace
}  // namespace isamap
