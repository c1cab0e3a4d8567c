// SPDX-License-Identifier: Apache-2.0
// Models behind the one interface: measured runs programs and believes only right results, learned ranks candidates by
// what it has seen.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <thread>

#include "isamap/backend.h"
#include "isamap/scheduler.h"
#include "scheduler/cost/learned_cost.h"
#include "scheduler/cost/regression.h"
#include "scheduler/measure.h"
#include "support/affinity.h"
#include "tests/scheduler/hierarchy_support.h"

namespace isamap {
namespace {

using testing_support::formula;
using testing_support::machine;

std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> rank(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) rank[order[i]] = static_cast<double>(i);
  return rank;
}

/// Spearman's coefficient.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> x = ranks(a), y = ranks(b);
  const double mean = static_cast<double>(a.size() - 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xy / std::sqrt(xx * yy);
}

/// A machine that differs from its closed form by a rule: bytes cost more than was thought, loops too.
void learns(bool trees) {
  const auto l = testing_support::hierarchy_problem(
      formula("Z[m,n] += A[m,k] * B[k,n]", "m=24,n=20,k=18", "A=s16,B=s16,Z=s16"), "a1");
  const auto closed_form = make_cost_model_closed_form();
  const auto learned = make_cost_model_learned({}, trees, 7);
  Random random(11);
  std::vector<double> truth, before, after;
  int seen = 0;
  while (truth.size() < 60) {
    const hierarchy::LevelPoint point = testing_support::random_point(l.problem, random, true);
    const Candidate candidate{&l.kernel, l.mapping.statement, &l.model,
                              nest_of(l.problem, point, do_line(l.mapping, l.kernel, l.model))};
    const auto cost = closed_form->estimate(candidate);
    if (!cost) continue;
    Cost measured = *cost;
    const std::vector<double> features = nest_features(candidate.nest, *cost);
    measured.cycles *= std::exp(0.5 * (features[2] - 15) - 0.3 * (features[4] - 9));
    if (++seen <= 150) {
      learned->observe(candidate, measured);
      continue;
    }
    const auto predicted = learned->estimate(candidate);
    ASSERT_TRUE(predicted);
    EXPECT_EQ(predicted->energy_pJ, cost->energy_pJ);
    truth.push_back(measured.cycles);
    before.push_back(cost->cycles);
    after.push_back(predicted->cycles);
  }
  const double closed = rank_correlation(truth, before), corrected = rank_correlation(truth, after);
  EXPECT_LT(closed, 0.9);
  EXPECT_GT(corrected, 0.9) << (trees ? "trees" : "ridge") << ", the closed form has " << closed;
}

TEST(CostModels, LearnedRanksByRidge) { learns(false); }

TEST(CostModels, LearnedRanksByTrees) {
  if (!has_boosted_trees()) GTEST_SKIP() << "Debian: apt-get install libxgboost-dev";
  learns(true);
}

TEST(CostModels, LearnedIsTheClosedFormUntilItHasSeenEnough) {
  const auto l = testing_support::hierarchy_problem(
      formula("Z[m,n] += A[m,k] * B[k,n]", "m=8,n=8,k=8", "A=s16,B=s16,Z=s16"), "a1");
  const Candidate candidate{
      &l.kernel, l.mapping.statement, &l.model,
      nest_of(l.problem, hierarchy::plain_point(l.problem), do_line(l.mapping, l.kernel, l.model))};
  const auto closed = make_cost_model_closed_form()->estimate(candidate);
  ASSERT_TRUE(closed) << render(closed.diagnostics());
  const auto learned = make_cost_model_learned();
  EXPECT_EQ(learned->estimate(candidate)->cycles, closed->cycles);
}

struct Scheduling {
  Kernel kernel = formula("C[i,j] += A[i,k] * B[k,j]", "i=12,j=10,k=8");
  HardwareModel model = machine("scalar_c");
  Nest nest;
  Scheduling() {
    const auto mapped = enumerate_mappings(kernel, model, {});
    if (!mapped) return;
    ScheduleOptions options;
    options.objective = Objective::cycles;
    if (const auto found = schedule(kernel, *mapped, model, options)) nest = found->schedule.nests.front();
  }
  Candidate candidate() const { return {&kernel, StatementId{0}, &model, nest}; }
};

MeasureOptions quick() {
  MeasureOptions options;
  options.rounds = 3;
  options.min_seconds = 0.001;
  return options;
}

/// Emitted, compiled by the system's compiler, compared with the interpreter, timed.
TEST(CostModels, MeasuredRunsTheProgram) {
  const Scheduling s;
  ASSERT_FALSE(s.nest.lines.empty());
  const auto runner = make_runner(s.model);
  const auto cost = make_cost_model_measured(*runner, quick())->estimate(s.candidate());
  ASSERT_TRUE(cost) << render(cost.diagnostics());
  const auto closed = make_cost_model_closed_form()->estimate(s.candidate());
  ASSERT_TRUE(closed);
  EXPECT_EQ(cost->bytes, closed->bytes);
  // 960 multiplications and additions take more than a nanosecond and less than a millisecond.
  EXPECT_GT(cost->cycles, 1e-9 * s.model.clock_hz);
  EXPECT_LT(cost->cycles, 1e-3 * s.model.clock_hz);
}

/// One of several statements is measured by itself, with what the others compute as its arguments.
TEST(CostModels, MeasuredRunsOneOfSeveralStatements) {
  const Scheduling s;
  Kernel two = s.kernel;
  two.statements.push_back(two.statements[0]);
  two.statements[1].name = "again";
  Nest nest = s.nest;
  for (Line& line : nest.lines)
    if (auto* last = std::get_if<Do>(&line.is)) last->statement = "again";
  const auto runner = make_runner(s.model);
  const auto cost = make_cost_model_measured(*runner, quick())->estimate({&two, StatementId{1}, &s.model, nest});
  ASSERT_TRUE(cost) << render(cost.diagnostics());
  EXPECT_GT(cost->cycles, 1e-9 * s.model.clock_hz);
}

/// Runs nothing and says that it did.
class Liar final : public Runner {
 public:
  Result<RunOutcome> run(const Program&, std::vector<TensorData>&, const RunLimits&, double) override {
    RunOutcome outcome;
    outcome.executed = ExecutionMode::native;
    outcome.seconds = 1e-9;
    return outcome;
  }
};

/// Executes by the interpreter, and counts how many programs run at once.
class Counting final : public Runner {
 public:
  struct Counts {
    std::atomic<int> running{0}, most{0}, runs{0}, times{0}, timing{0}, timed_at_once{0}, beside_others{0};
  };
  explicit Counting(Counts& counts) : counts_(counts) {}
  Result<RunOutcome> run(const Program& program, std::vector<TensorData>& data, const RunLimits&,
                         double min_seconds) override {
    const int now = ++counts_.running;
    ++counts_.runs;
    for (int seen = counts_.most; seen < now && !counts_.most.compare_exchange_weak(seen, now);) {
    }
    const bool timed = min_seconds > 0;
    if (timed && ++counts_.timing > 1) ++counts_.timed_at_once;
    if (timed && now > 1) ++counts_.beside_others;
    if (timed) ++counts_.times;
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    interpret(program.kernel, data);
    if (program.name == "wrong") data.back().bytes.front() ^= 0x55;
    if (timed) --counts_.timing;
    --counts_.running;
    RunOutcome outcome;
    outcome.executed = ExecutionMode::native;
    outcome.seconds = 1e-6;
    return outcome;
  }

 private:
  Counts& counts_;
};

/// Says by its script how long each program takes, and counts how often it was timed.
class Scripted final : public Runner {
 public:
  explicit Scripted(std::map<std::string, std::vector<double>> seconds) : seconds_(std::move(seconds)) {}
  Result<RunOutcome> run(const Program& program, std::vector<TensorData>& data, const RunLimits&,
                         double min_seconds) override {
    RunOutcome outcome;
    outcome.executed = ExecutionMode::native;
    if (min_seconds > 0)
      outcome.seconds = seconds_.at(program.name).at(timed[program.name]++);
    else
      interpret(program.kernel, data);
    return outcome;
  }
  std::map<std::string, std::size_t> timed;

 private:
  std::map<std::string, std::vector<double>> seconds_;
};

/// The program of one schedule under several names.
std::vector<Program> programs_named(const std::vector<std::string>& names) {
  const Scheduling s;
  Schedule schedule;
  schedule.nests = {s.nest};
  const auto program = lower(schedule, s.kernel, s.model);
  EXPECT_TRUE(program) << render(program.diagnostics());
  std::vector<Program> programs(program ? names.size() : 0, program ? *program : Program{});
  for (std::size_t p = 0; p < programs.size(); ++p) programs[p].name = names[p];
  return programs;
}

TEST(CostModels, ProgramsThatCannotBeTheFastestAreTimedTwice) {
  const std::vector<Program> programs = programs_named({"fast", "near", "slow", "disturbed"});
  Scripted runner({{"fast", {1.0, 1.02, 1.0, 1.01, 1.0}},
                   {"near", {1.03, 1.04, 1.03, 1.03, 1.03}},  // 1.03 is within 1.02 * 1.02 / 1.0
                   {"slow", {1.3, 1.25, 0, 0, 0}},
                   {"disturbed", {1.06, 1.0, 0.99, 0.99, 0.99}}});
  const std::vector<Measured> found = measure(programs, runner, {});
  EXPECT_EQ(runner.timed,
            (std::map<std::string, std::size_t>{{"fast", 5}, {"near", 5}, {"slow", 2}, {"disturbed", 5}}));
  EXPECT_EQ(found[0].seconds, 1.0);
  EXPECT_EQ(found[1].seconds, 1.03);
  EXPECT_EQ(found[2].seconds, 1.3);
  EXPECT_EQ(found[3].seconds, 0.99) << "one slow time does not decide";
}

TEST(CostModels, TheFirstOfThoseThatAreAsFastIsChosen) {
  const auto timed = [](double seconds) {
    Measured one;
    one.verdict = RunVerdict::correct;
    one.executed = ExecutionMode::native;
    one.seconds = seconds;
    return one;
  };
  EXPECT_EQ(fastest({timed(1.02), timed(1.009), timed(1.0)}), 1) << "within one percent";
  EXPECT_EQ(fastest({timed(1.02), timed(0), timed(1.0)}), 2) << "the second has no time";
  std::vector<Measured> cycles{timed(0), timed(0), timed(0)};
  for (Measured& one : cycles) one.executed = ExecutionMode::simulator;
  cycles[0].cycles = 1001, cycles[1].cycles = 1000, cycles[2].cycles = 999;
  cycles[2].verdict = RunVerdict::wrong_result;
  EXPECT_EQ(fastest(cycles), 1) << "cycles are exact";
  cycles[1].interrupted = true;
  EXPECT_EQ(fastest(cycles), 0);
  EXPECT_EQ(fastest({}), std::nullopt);
}

TEST(CostModels, ProgramsThatAreSlowBesideCompilersAreNotTimedAlone) {
  if (own_processors().size() < 2) GTEST_SKIP() << "one processor";
  const std::vector<Program> programs = programs_named({"fast", "near", "slow"});
  Scripted runner({{"fast", {2.0, 2.2, 1.0}}, {"near", {3.0, 2.1, 0.99}}, {"slow", {3.0, 3.1}}});
  MeasureOptions options;
  options.rounds = 2;
  options.jobs = 2;
  options.screening.most_finalists = 2;
  options.make_another = [] { return std::make_unique<Scripted>(std::map<std::string, std::vector<double>>{}); };
  const std::vector<Measured> found = measure(programs, runner, options);
  EXPECT_EQ(runner.timed, (std::map<std::string, std::size_t>{{"fast", 3}, {"near", 3}, {"slow", 2}}));
  EXPECT_EQ(found[0].seconds, 1.0);
  EXPECT_EQ(found[1].seconds, 0.99) << "what is fastest is decided alone";
  EXPECT_EQ(found[2].seconds, 1.5) << "in proportion to the fastest beside compilers";
}

TEST(CostModels, FollowersOfTheFastestAreTimedInItsRounds) {
  if (own_processors().size() < 2) GTEST_SKIP() << "one processor";
  MeasureOptions options;
  options.rounds = 2;
  options.jobs = 2;
  options.screening.most_finalists = 2;
  options.make_another = [] { return std::make_unique<Scripted>(std::map<std::string, std::vector<double>>{}); };
  std::string followed_up;
  const auto with = [&](const std::vector<std::string>& names, Runner& runner, Followed& followed) {
    const std::vector<Program> programs = programs_named(names);
    const MakeFollowers make = [&](std::size_t p) {
      followed_up += programs[p].name;
      std::vector<Follower> all;
      for (const char* name : {"built by another", "variant", "of another kernel"}) {
        Program program = programs[p];
        program.name = name;
        if (program.name == "of another kernel") program.kernel.name = "another";
        all.push_back(
            {program, std::make_unique<Scripted>(std::map<std::string, std::vector<double>>{
                          {"built by another", {0.8, 0.8}}, {"variant", {1.2, 1.2}}, {"of another kernel", {0.1}}})});
      }
      all.push_back({programs[p], std::make_unique<Liar>()});
      return all;
    };
    return measure(programs, runner, options, make, followed);
  };
  {
    Scripted runner({{"a", {2.0, 2.2, 1.0}}, {"b", {0}}, {"c", {0}}});
    Followed followed;
    const std::vector<Measured> found = with({"a", "b", "c"}, runner, followed);
    EXPECT_EQ(found[0].seconds, 1.0);
    EXPECT_EQ(followed_up, "a") << "others have no time";
    EXPECT_EQ(followed.of, 0);
    ASSERT_EQ(followed.measured.size(), 4);
    EXPECT_EQ(followed.programs[1].name, "variant");
    EXPECT_EQ(followed.measured[0].seconds, 0.8);
    EXPECT_EQ(followed.measured[1].seconds, 1.2);
    EXPECT_FALSE(followed.measured[2].correct()) << "there is nothing to compare it with";
    EXPECT_EQ(followed.measured[3].verdict, RunVerdict::wrong_result);
  }
  {
    followed_up.clear();
    Scripted runner({{"a", {2.0, 2.2, 1.0}}, {"b", {2.1, 2.1, 0.9}}, {"c", {0}}});
    Followed followed;
    const std::vector<Measured> found = with({"a", "b", "c"}, runner, followed);
    EXPECT_EQ(found[1].seconds, 0.9);
    EXPECT_EQ(followed_up.size(), 1) << "whichever was the fastest when followers were made";
    EXPECT_EQ(followed.of.has_value(), followed_up == "b") << "the rounds decide";
  }
  {
    followed_up.clear();
    Scripted runner({{"a", {1.0, 1.0}}, {"b", {1.1, 1.1}}});
    Followed followed;
    const std::vector<Measured> found = with({"a", "b"}, runner, followed);
    EXPECT_EQ(found[1].seconds, 1.1) << "few are timed alone only, in all rounds";
    EXPECT_EQ(followed_up.size(), 1) << "the first that was compared";
    EXPECT_EQ(followed.of.has_value(), followed_up == "a");
  }
  {
    options.jobs = 1;
    followed_up.clear();
    Scripted runner({{"a", {1.0, 1.0}}});
    Followed followed;
    with({"a"}, runner, followed);
    EXPECT_EQ(followed_up, "") << "nothing to do it beside";
    EXPECT_FALSE(followed.of);
  }
}

/// Ctrl-C after all programs were timed beside compilers, before the rounds: they keep these times.
TEST(CostModels, AStopBeforeTheRoundsKeepsTimesBesideCompilers) {
  if (own_processors().size() < 2) GTEST_SKIP() << "one processor";
  const std::vector<Program> programs = programs_named({"fast", "slow"});
  Scripted runner({{"fast", {2.0}}, {"slow", {3.0}}});
  MeasureOptions options;
  options.jobs = 2;
  options.screening.most_finalists = 1;
  options.screening.times = 1;
  options.make_another = [] { return std::make_unique<Scripted>(std::map<std::string, std::vector<double>>{}); };
  std::atomic<bool> stopped = false;
  options.stopped = [&] { return stopped.load(); };
  int locks = 0;
  options.alone = [&]() -> std::shared_ptr<void> {
    stopped = stopped || ++locks > 2;  // one for each of them, then that of the rounds
    return nullptr;
  };
  const std::vector<Measured> found = measure(programs, runner, options);
  EXPECT_EQ(runner.timed, (std::map<std::string, std::size_t>{{"fast", 1}, {"slow", 1}}));
  EXPECT_EQ(found[0].seconds, 2.0);
  EXPECT_EQ(found[1].seconds, 3.0);
  EXPECT_FALSE(found[0].interrupted || found[1].interrupted);
}

TEST(CostModels, TheMachineIsLockedWhileProgramsAreTimed) {
  const Scheduling s;
  Schedule schedule;
  schedule.nests = {s.nest};
  const auto program = lower(schedule, s.kernel, s.model);
  ASSERT_TRUE(program) << render(program.diagnostics());
  const std::vector<Program> programs(2, *program);
  Liar liar;
  bool asked = false;
  MeasureOptions options;
  options.alone = [&]() -> std::shared_ptr<void> {
    asked = true;
    return nullptr;
  };
  EXPECT_FALSE(measure(programs, liar, options)[0].correct());
  EXPECT_FALSE(asked) << "nothing is timed";
  Counting::Counts counts;
  Counting runner(counts);
  int held = 0, most = 0;
  options.alone = [&] {
    most = std::max(most, ++held);
    return std::shared_ptr<void>(&held, [&](void*) { --held; });
  };
  EXPECT_TRUE(measure(programs, runner, options)[1].correct());
  EXPECT_EQ(most, 1);
  EXPECT_EQ(held, 0) << "given back";
}

TEST(CostModels, ProgramsAreComparedSideBySideAndTimedAlone) {
  const Scheduling s;
  Schedule schedule;
  schedule.nests = {s.nest};
  const auto program = lower(schedule, s.kernel, s.model);
  ASSERT_TRUE(program) << render(program.diagnostics());
  std::vector<Program> programs(9, *program);
  programs[4].name = "wrong";
  for (const int jobs : {1, 2, 7}) {
    Counting::Counts counts;
    Counting runner(counts);
    MeasureOptions options = quick();
    options.jobs = jobs;
    options.make_another = [&] { return std::make_unique<Counting>(counts); };
    const std::vector<Measured> measured = measure(programs, runner, options);
    for (std::size_t p = 0; p < programs.size(); ++p)
      EXPECT_EQ(measured[p].verdict, p == 4 ? RunVerdict::wrong_result : RunVerdict::correct)
          << jobs << ": " << p << ": " << measured[p].problem;
    EXPECT_EQ(counts.timed_at_once, 0) << jobs;
    const bool screened = jobs > 1 && own_processors().size() > 1;
    EXPECT_GE(counts.times, screened ? 8 * 2 + 4 : 8 * 3) << jobs << ": twice beside others, then alone";
    EXPECT_LE(counts.beside_others, screened ? 16 : 0) << jobs << ": the rounds are alone";
    EXPECT_EQ(counts.most > 1, jobs > 1) << jobs;
    EXPECT_LE(counts.most, jobs);
  }
}

TEST(CostModels, ProgramsOfSplitKernelsAreMeasuredBesideWhole) {
  std::vector<Program> programs(3);
  programs[0].kernel = programs[2].kernel = formula("y[i] += X[i,j]", "i=5,j=37");
  const auto in_lanes = vectorize_reductions(programs[0].kernel, {{"s0", "j", 8, 1}});
  ASSERT_TRUE(in_lanes) << render(in_lanes.diagnostics());
  ASSERT_GT(in_lanes->tensors.size(), programs[0].kernel.tensors.size());
  programs[1].kernel = *in_lanes;
  for (int turn = 0; turn < 2; ++turn) {  // either may be first
    Counting::Counts counts;
    Counting runner(counts);
    for (const Measured& one : measure(programs, runner, quick())) EXPECT_TRUE(one.correct()) << one.problem;
    std::swap(programs[0], programs[1]);
  }
}

TEST(CostModels, ReferenceResultsAreInterpretedOnce) {
  const Kernel one = formula("Z[m,n] += A[m,k] * B[k,n]", "m=3,n=5,k=7");
  const Kernel other = formula("Z[m,n] += A[m,k] * B[k,n]", "m=3,n=5,k=8");
  ReferenceResults references;
  const auto first = references.of({&one}, 1).front();
  EXPECT_EQ(first, references.of({&one}, 1).front());
  const auto both = references.of({&one, &other, &one}, 1);
  ASSERT_EQ(both.size(), 3U);
  EXPECT_EQ(both[0], first);
  EXPECT_EQ(both[2], first) << "equal kernels share theirs";
  for (const ReferenceResults::Case& of : *both[1]) {
    std::vector<TensorData> again = of.inputs;
    interpret(other, again);
    EXPECT_EQ(again, of.expected);
  }
  EXPECT_EQ(references.of({&other}, 1).front(), both[1]) << "kept, as it was asked for last";
  EXPECT_NE(references.of({&other}, 2).front(), both[1]) << "other data";
  EXPECT_EQ(first->size(), 2U) << "what was given out stays";
}

TEST(CostModels, MeasuredBelievesOnlyRightResults) {
  const Scheduling s;
  ASSERT_FALSE(s.nest.lines.empty());
  Liar liar;
  Schedule schedule;
  schedule.nests = {s.nest};
  const auto program = lower(schedule, s.kernel, s.model);
  ASSERT_TRUE(program) << render(program.diagnostics());
  const Measured lied = measure({*program}, liar, quick()).front();
  EXPECT_EQ(lied.verdict, RunVerdict::wrong_result) << lied.problem;
  EXPECT_FALSE(lied.correct());
  const auto cost = make_cost_model_measured(liar, quick())->estimate(s.candidate());
  ASSERT_FALSE(cost);
  EXPECT_NE(render(cost.diagnostics()).find("wrong result"), std::string::npos) << render(cost.diagnostics());
}

}  // namespace
}  // namespace isamap
