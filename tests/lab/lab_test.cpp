// SPDX-License-Identifier: Apache-2.0
// Suites, trials and what is computed of them.

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "lab/accuracy.h"
#include "lab/optima.h"
#include "lab/run.h"
#include "lab/statistics.h"
#include "tests/scratch.h"

namespace isamap::lab {
namespace {

const std::string source = ISAMAP_SOURCE_DIR;

Result<Suite> suite_named(const std::string& name) {
  return load_suite(name, {source + "/lab/suites"}, {source + "/hardware_models"});
}

std::string suite_file(const std::string& name, const std::string& text) {
  const std::string path = scratch(name + ".yaml");
  std::ofstream(path) << text;
  return path;
}

std::string lines_of(const Suite& suite, const std::string& strategies, int threads, std::int64_t evaluations = 60) {
  RunOptions options;
  options.strategies = *parse_strategies(strategies);
  options.seeds = 2;
  options.evaluations = evaluations;
  options.jobs = threads;
  std::string text;
  const Diagnostics failed = run("small", suite, options, [&](const std::string& line) { text += line; });
  EXPECT_FALSE(has_errors(failed)) << render(failed);
  return text;
}

TEST(Suites, ThoseThatShipLoadAndEveryInstanceHasAnOptimum) {
  const auto all = suite_named(source + "/lab/suites");
  ASSERT_TRUE(all) << render(all.diagnostics());
  EXPECT_GE(all->instances.size(), 20u);
  for (const Instance& instance : all->instances) EXPECT_TRUE(instance.optimum) << instance.name;
}

TEST(Suites, SmallOptimaAreFoundAnew) {
  const auto small = suite_named("small");
  ASSERT_TRUE(small) << render(small.diagnostics());
  for (const Instance& instance : small->instances) {
    const Optimum found = optimum_of(instance, 200'000, 2);
    EXPECT_EQ(contradiction(instance, found), "");
    EXPECT_EQ(found.proof, instance.proof) << instance.name;
  }
}

/// Those of other suites that few points prove; the rest takes minutes (`isamap lab optimum`).
void counted_optima_are_found_anew(long most) {
  const auto all = suite_named(source + "/lab/suites");
  ASSERT_TRUE(all) << render(all.diagnostics());
  int counted = 0;
  for (const Instance& instance : all->instances) {
    long points = 0;
    if (std::sscanf(instance.proof.c_str(), "all %ld points", &points) != 1 || points > most) continue;
    EXPECT_EQ(contradiction(instance, optimum_of(instance, most, 2)), "");
    ++counted;
  }
  EXPECT_GT(counted, 0);
}
TEST(Suites, CountedOptimaAreFoundAnew) { counted_optima_are_found_anew(5'000); }
TEST(HeavySuites, CountedOptimaAreFoundAnew) { counted_optima_are_found_anew(20'000); }

TEST(Suites, OptimaEndWhenToldTo) {
  const auto small = suite_named("small");
  ASSERT_TRUE(small) << render(small.diagnostics());
  int stopped = 0;
  for (const Instance& instance : small->instances) {
    std::int64_t calls = 0;
    const Optimum found = optimum_of(instance, 2000, 1, [&](std::int64_t, double best) {
      EXPECT_GT(best, 0) << instance.name;
      return ++calls < 2;
    });
    EXPECT_EQ(found.stopped, calls == 2) << instance.name << " " << calls;
    EXPECT_TRUE(!found.stopped || found.proof.empty()) << instance.name;
    stopped += found.stopped ? 1 : 0;
  }
  EXPECT_GT(stopped, 0);
}

TEST(Suites, AWrongOptimumIsAContradiction) {
  auto small = suite_named("small");
  ASSERT_TRUE(small);
  Instance& instance = small->instances.front();
  const Optimum found = optimum_of(instance, 200'000, 2);
  instance.optimum = *instance.optimum * 1.01;
  EXPECT_NE(contradiction(instance, found), "");
  instance.optimum = *instance.optimum * 0.5;
  EXPECT_NE(contradiction(instance, found), "");
}

TEST(Suites, ProblemsNameFileLineAndColumn) {
  const std::string path = suite_file("wrong", R"(suite: wrong
instances:
  - {name: a, target: a1, compute: "Z[m] += A[m]", dims: "m=4", dtypes: "A=s16,Z=s16", objective: fast}
  - {name: b, target: no_such, compute: "Z[m,n] += A[m,k] * B[k,n]", dims: "m=4,n=4,k=4"}
  - {name: c, target: a1, compuet: "Z[m,n] += A[m,k] * B[k,n]"}
)");
  const auto suite = load_suite(path, {}, {source + "/hardware_models"});
  ASSERT_FALSE(suite);
  const std::string text = render(suite.diagnostics());
  EXPECT_NE(text.find(path + ":3:"), std::string::npos) << text;
  EXPECT_NE(text.find("'fast' is none of: edp, cycles, energy"), std::string::npos) << text;
  EXPECT_NE(text.find("no_such"), std::string::npos) << text;
  EXPECT_NE(text.find(path + ":5:"), std::string::npos) << text;
  EXPECT_NE(text.find("compuet"), std::string::npos) << text;
}

TEST(Suites, AnUnknownNameListsThoseThatThereAre) {
  const auto suite = suite_named("nonsense");
  ASSERT_FALSE(suite);
  EXPECT_NE(render(suite.diagnostics()).find("conv, "), std::string::npos) << render(suite.diagnostics());
}

TEST(Trials, AreTheSameForAnyNumberOfThreadsAndReadBack) {
  const auto small = suite_named("small");
  ASSERT_TRUE(small);
  const std::string text = lines_of(*small, "random,genetic:population=8:elite=2", 1);
  EXPECT_EQ(text, lines_of(*small, "random,genetic:population=8:elite=2", 3));
  const auto trials = parse_trials(text, "trials");
  ASSERT_TRUE(trials) << render(trials.diagnostics());
  EXPECT_EQ(trials->results.size(), small->instances.size() * 2 * 2);
  EXPECT_EQ(trials->options.strategies[1].options.at("population"), "8");
  const std::string cut = text.substr(0, text.size() - 20);
  const auto less = parse_trials(cut, "trials");
  ASSERT_TRUE(less);
  EXPECT_EQ(less->results.size() + 1, trials->results.size());
  EXPECT_FALSE(parse_trials("{\"a\":1}\n", "trials"));
  const auto damaged = parse_trials(text + "{}\n" + text, "trials");
  ASSERT_TRUE(damaged) << render(damaged.diagnostics());
  ASSERT_FALSE(damaged->damaged.empty());
  EXPECT_NE(render(damaged->damaged).find("is no line of a trial"), std::string::npos) << render(damaged->damaged);
}

TEST(Trials, AKilledRunGoesOnBehindItsWholeLines) {
  const auto small = suite_named("small");
  ASSERT_TRUE(small) << render(small.diagnostics());
  RunOptions options;
  options.strategies = *parse_strategies("random,greedy");
  options.seeds = 2;
  options.evaluations = 40;
  std::string whole;
  ASSERT_FALSE(has_errors(run("small", *small, options, [&](const std::string& line) { whole += line; })));
  const std::size_t header = whole.find('\n') + 1, first = whole.find('\n', header) + 1;
  const std::size_t third = whole.find('\n', whole.find('\n', first) + 1) + 1;
  for (const std::size_t killed_at : {header - 1, header, header + 5, first, third + 7, whole.size()}) {
    const WrittenBefore before = written_before(whole.substr(0, killed_at), "small", *small, options);
    EXPECT_EQ(before.bytes, killed_at < header ? 0 : whole.rfind('\n', killed_at - 1) + 1) << killed_at;
    EXPECT_EQ(before.trials, killed_at < first          ? 0
                             : killed_at < third        ? 1
                             : killed_at < whole.size() ? 3
                                                        : small->instances.size() * 4);
    std::string text = whole.substr(0, before.bytes);
    std::size_t lines = 0, told = 0;
    run(
        "small", *small, options, [&](const std::string& line) { text += line, ++lines; },
        [&](std::size_t done, std::size_t) { return told = done, true; }, before);
    EXPECT_EQ(text, whole) << killed_at;
    EXPECT_EQ(lines, small->instances.size() * 4 - before.trials + (before.bytes == 0 ? 1 : 0));
    EXPECT_TRUE(lines == 0 || told == small->instances.size() * 4) << told;
  }
  // A gap behind the first trial, as where a job of a plan is missing: what is behind it is kept.
  const std::size_t second = whole.find('\n', first) + 1;
  const WrittenBefore gap = written_before(whole.substr(0, first) + whole.substr(second), "small", *small, options);
  EXPECT_EQ(gap.bytes, first);
  EXPECT_EQ(gap.all(), small->instances.size() * 4 - 1);
  EXPECT_FALSE(gap.later.contains(1));
  std::string filled = whole.substr(0, first);
  run(
      "small", *small, options, [&](const std::string& line) { filled += line; }, {}, gap);
  EXPECT_EQ(filled, whole);
  options.evaluations = 41;
  EXPECT_EQ(written_before(whole, "small", *small, options).bytes, 0u) << "another run";
  options.evaluations = 40;
  EXPECT_EQ(written_before(whole, "small", *small, options).bytes, whole.size());
  Suite other = *small;
  other.instances.front().target_text = std::make_shared<const std::string>("hardware: h");
  EXPECT_EQ(written_before(whole, "small", other, options).bytes, 0u) << "another machine of the same name";
  other = *small;
  other.instances.front().space.dividing = !other.instances.front().space.dividing;
  EXPECT_EQ(written_before(whole, "small", other, options).bytes, 0u) << "another space";
}

TEST(Trials, NoiseIsToldAndTruthIsRecorded) {
  const auto small = suite_named("small");
  ASSERT_TRUE(small);
  Instance noisy = small->instances.front();
  noisy.noise = 0.5;
  const StrategyChoice chance = parse_strategies("random")->front();
  const TrialLimits limits{200, {}};
  const auto plain = run_trial(small->instances.front(), chance, 1, limits), told = run_trial(noisy, chance, 1, limits);
  ASSERT_TRUE(plain && told);
  EXPECT_NE(plain->curve, told->curve);
  const Suite one{"one", "", {noisy}, {}};
  for (const auto& [evaluations, objective] : told->curve) EXPECT_GE(objective, *noisy.optimum * (1 - 1e-9));
  EXPECT_EQ(told->curve, run_trial(noisy, chance, 1, limits)->curve) << "noise repeats";
}

/// Ended by whoever watches it: whole trials, fewer than all, and nothing of those that were under way.
TEST(Trials, ProgressEndsARun) {
  const auto small = suite_named("small");
  ASSERT_TRUE(small);
  RunOptions options;
  options.strategies = *parse_strategies("random");
  options.seeds = 4;
  options.evaluations = 30;
  options.jobs = 2;
  std::string text;
  const Diagnostics failed = run(
      "small", *small, options, [&](const std::string& line) { text += line; },
      [](std::size_t done, std::size_t) { return done < 3; });
  EXPECT_FALSE(has_errors(failed));
  const auto trials = parse_trials(text, "trials");
  ASSERT_TRUE(trials) << text;
  EXPECT_GE(trials->results.size(), 3u);
  EXPECT_LT(trials->results.size(), trials->expected());
  for (const TrialResult& trial : trials->results) EXPECT_EQ(trial.evaluations, 30);
}

/// One instance for each statement that something maps; an optimum is of one of them.
TEST(Suites, KernelsOfSeveralStatementsAreAnInstanceForEach) {
  const std::string head =
      "suite: s\ninstances:\n  - {name: x, target: x86_avx512, kernel: " + source + "/examples/attention.yaml";
  const auto all = load_suite(suite_file("several", head + "}\n"), {}, {source + "/hardware_models"});
  ASSERT_TRUE(all) << render(all.diagnostics());
  EXPECT_GE(all->instances.size(), 2u);
  for (const Instance& instance : all->instances) {
    EXPECT_EQ(instance.name, "x." + instance.kernel.statements[instance.statement.index()].name);
    for (const Mapping& mapping : instance.mapped.mappings) EXPECT_EQ(mapping.statement, instance.statement);
    EXPECT_TRUE(run_trial(instance, parse_strategies("random")->front(), 1, {5, {}})) << instance.name;
  }
  const std::string name = all->instances.back().kernel.statements[all->instances.back().statement.index()].name;
  const auto one = load_suite(suite_file("one", head + ", statement: " + name + ", optimum: 5}\n"), {},
                              {source + "/hardware_models"});
  ASSERT_TRUE(one) << render(one.diagnostics());
  EXPECT_EQ(one->instances.size(), 1u);
  EXPECT_EQ(one->instances[0].name, "x");
  const auto wrong = load_suite(suite_file("wrong", head + ", optimum: 5}\n"), {}, {source + "/hardware_models"});
  EXPECT_NE(render(wrong.diagnostics()).find("an optimum is of one statement"), std::string::npos);
  EXPECT_FALSE(load_suite(suite_file("none", head + ", statement: nobody}\n"), {}, {source + "/hardware_models"}));
}

TEST(Accuracy, RanksByStatementAndTheWorstComeFirst) {
  EXPECT_EQ(rank_correlation({1, 2, 3, 4}, {10, 20, 30, 40}), 1);
  EXPECT_EQ(rank_correlation({1, 2, 3, 4}, {4, 3, 2, 1}), -1);
  EXPECT_NEAR(*rank_correlation({1, 2, 2, 3}, {1, 2, 3, 4}), 0.948683, 1e-6);  // ties share 2.5
  EXPECT_FALSE(rank_correlation({1, 1}, {1, 2}));
  EXPECT_FALSE(rank_correlation({1}, {1}));
  std::vector<TrialRecord> trials(5);
  for (std::size_t i = 0; i < trials.size(); ++i) {
    trials[i].number = static_cast<std::int64_t>(i);
    trials[i].cycles = 100.0 * static_cast<double>(i + 1);
    trials[i].measured = static_cast<double>(i + 1);
    trials[i].verdict = RunVerdict::correct;
  }
  trials[3].measured = 32;                       // 8 times as much as the others
  trials[4].verdict = RunVerdict::wrong_result;  // its result was wrong: it says nothing
  const auto found = accuracy_of(trials);
  ASSERT_EQ(found.size(), 1u);
  ASSERT_EQ(found[0].trials.size(), 4u);
  EXPECT_EQ(found[0].trials[0].number, 3);
  EXPECT_NEAR(found[0].trials[0].factor, 8 / std::pow(8, 0.25), 1e-9);
  EXPECT_EQ(found[0].rank_correlation, 1);
}

TEST(Trials, UnknownStrategiesAndOptionsAreRefusedBeforeAnythingRuns) {
  const auto small = suite_named("small");
  ASSERT_TRUE(small);
  for (const char* text : {"nonsense", "beam:widht=3", "external"}) {
    RunOptions options;
    options.strategies = *parse_strategies(text);
    bool wrote = false;
    EXPECT_TRUE(has_errors(run("small", *small, options, [&](const std::string&) { wrote = true; }))) << text;
    EXPECT_FALSE(wrote);
  }
  EXPECT_FALSE(parse_strategies("a,,b"));
  EXPECT_FALSE(parse_strategies("a:b"));
  EXPECT_FALSE(parse_strategies("a,a"));
}

/// Two strategies on one instance with optimum 100: `fast` is at 105 after 2 and at 100 after 4, in one of two seeds.
Trials by_hand() {
  Trials trials;
  trials.options.evaluations = 10;
  trials.options.strategies = *parse_strategies("fast,slow");
  trials.instances.push_back({"one", "all", "", "", "edp", "by hand", 100.0, 0});
  trials.results = {{"one", "fast", 0, 10, 10, {{1, 200}, {2, 105}, {4, 100}}, {}},
                    {"one", "fast", 1, 10, 10, {{1, 300}, {5, 120}}, {}},
                    {"one", "slow", 0, 10, 10, {{2, 150}, {8, 101}}, {}},
                    {"one", "slow", 1, 10, 10, {{9, 100}}, {}}};
  return trials;
}

TEST(Statistics, ExpectedRunningTimeIsAllThatWasSpentForEachSuccess) {
  const Trials trials = by_hand();
  const Study study(trials);
  EXPECT_DOUBLE_EQ(*study.expected_running_time(0, 0, 0.1), 2 + 10);  // one success of two
  EXPECT_DOUBLE_EQ(*study.expected_running_time(0, 0, 0), 4 + 10);
  EXPECT_DOUBLE_EQ(*study.expected_running_time(0, 1, 0.01), (8 + 9) / 2.0);
  EXPECT_DOUBLE_EQ(*study.expected_running_time(0, 1, 0), 10 + 9);
  EXPECT_FALSE(study.expected_running_time(0, 0, -0.5));
  EXPECT_TRUE(study.beaten().empty());
}

TEST(Statistics, QualityIsTheGeometricMeanWithAnInterval) {
  const Trials trials = by_hand();
  const Study study(trials);
  const Interval at_two = study.quality(0, 2);
  EXPECT_NEAR(at_two.value, std::sqrt(1.05 * 3), 1e-12);
  EXPECT_NEAR(at_two.low, 1.05, 1e-12);
  EXPECT_NEAR(at_two.high, 3, 1e-12);
  EXPECT_NEAR(study.quality(1, 1).value, worst_ratio, 1e-12) << "no legal point yet";
  EXPECT_NEAR(study.solved(1, 0.01, 10), 1, 1e-12);
  EXPECT_NEAR(study.solved(1, 0.01, 8), 0.5, 1e-12);
}

/// Noise: the second point looked better and is worse.
TEST(Statistics, TheBestSoFarIsTheBestUnderTheTrueObjective) {
  Trials trials = by_hand();
  trials.results = {{"one", "fast", 0, 10, 10, {{2, 100}, {4, 300}}, {}}, {"one", "slow", 0, 10, 10, {{8, 101}}, {}}};
  const Study study(trials);
  EXPECT_DOUBLE_EQ(study.quality(0, 10).value, 1);
  EXPECT_DOUBLE_EQ(study.solved(0, 0, 10), 1) << "what is at the optimum has a ratio of 1";
}

/// Of no strategy: there is no optimum to compare with.
TEST(Statistics, AnInstanceWithoutALegalPointCountsAsTheWorst) {
  Trials trials = by_hand();
  for (InstanceFacts& facts : trials.instances) facts.optimum.reset();
  for (TrialResult& trial : trials.results) trial.curve.clear();
  const Interval quality = Study(trials).quality(0, 10);
  EXPECT_NEAR(quality.value, worst_ratio, 1e-12);
  EXPECT_NEAR(quality.low, worst_ratio, 1e-12);
}

TEST(Statistics, StrategiesWithoutATrialAreLeftOut) {
  Trials trials = by_hand();
  std::erase_if(trials.results, [](const TrialResult& trial) { return trial.strategy == "slow"; });
  const Study study(trials);
  EXPECT_EQ(study.strategies(), std::vector<std::string>{"fast"});
  EXPECT_EQ(study.untried(), std::vector<std::string>{"slow"});
}

TEST(Statistics, ProfilesCompareWithTheFastest) {
  const Trials trials = by_hand();
  const Study study(trials);
  EXPECT_DOUBLE_EQ(study.profile(1, 1, 0.01).value, 1);    // 8.5 evaluations
  EXPECT_DOUBLE_EQ(study.profile(0, 1.5, 0.01).value, 0);  // 14: 1.65 times as many
  EXPECT_DOUBLE_EQ(study.profile(0, 1.7, 0.01).value, 1);
}

TEST(Statistics, TrialsBelowTheOptimumAreReported) {
  Trials trials = by_hand();
  trials.instances.front().optimum = 100.5;
  EXPECT_EQ(Study(trials).beaten(), std::vector<std::string>{"one"});
  trials.instances.front().proof.clear();  // best known, and now better known
  EXPECT_TRUE(Study(trials).beaten().empty());
  EXPECT_DOUBLE_EQ(Study(trials).optimum(0), 100);
}

}  // namespace
}  // namespace isamap::lab
