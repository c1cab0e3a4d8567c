// SPDX-License-Identifier: Apache-2.0
// The store of trials: what is written is read again, by several processes at once, whatever happens to them.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "lab/trial_store.h"
#include "tests/scratch.h"

namespace isamap::lab {
namespace {

std::string fresh(const std::string& name) {
  const std::string path = scratch(name + ".db");
  for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(path + end);
  return path;
}

RunRecord run_of(const std::string& kernel) {
  RunRecord run;
  run.verb = "schedule";
  run.kernel_hash = kernel;
  run.target_hash = "t";
  run.space_hash = "s";
  run.options = "{\"a\":\"b'c\"}";
  return run;
}

TrialRecord trial_of(std::int64_t number, double objective) {
  TrialRecord t;
  t.number = number;
  t.point = "[" + std::to_string(number) + "]";
  t.schedule = "for i by 4\n";
  t.objective = objective;
  t.cycles = 1.0 / 3.0 * objective;
  t.features = "[1.5]";
  return t;
}

TEST(Store, WhatIsWrittenIsReadAgain) {
  const std::string path = fresh("roundtrip");
  TrialRecord illegal = trial_of(2, 0);
  illegal.schedule.clear();
  illegal.problem = "memory RF: 'too', \"small\"";
  {
    auto store = TrialStore::open(path, true);
    ASSERT_TRUE(store) << render(store.diagnostics());
    const auto run = store->begin(run_of("k"));
    ASSERT_TRUE(run);
    EXPECT_FALSE(has_errors(store->add(*run, trial_of(1, 10))));
    EXPECT_FALSE(has_errors(store->add(*run, illegal)));
    EXPECT_TRUE(has_errors(store->add(*run, illegal))) << "a trial has one number";
    EXPECT_FALSE(has_errors(store->finish(*run, "text\n")));
  }
  const auto store = TrialStore::open(path, false);
  ASSERT_TRUE(store);
  const auto run = store->run(0);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->options, run_of("k").options);
  EXPECT_EQ(run->result, "text\n");
  const auto trials = store->trials(run->id);
  ASSERT_TRUE(trials);
  ASSERT_EQ(trials->size(), 2u);
  EXPECT_EQ((*trials)[0], trial_of(1, 10)) << "to the last bit";
  EXPECT_EQ((*trials)[1], illegal);
  EXPECT_FALSE(store->run(99));
}

TEST(Store, TheBestIsOfTheSameInputsOnly) {
  auto store = TrialStore::open(fresh("best"), true);
  ASSERT_TRUE(store);
  for (const auto& [kernel, number, objective] :
       {std::tuple{"k", 1, 10.0}, {"k", 2, 5.0}, {"k", 3, 7.0}, {"other", 4, 1.0}}) {
    const auto run = store->begin(run_of(kernel));
    ASSERT_TRUE(run);
    EXPECT_FALSE(has_errors(store->add(*run, trial_of(number, objective))));
  }
  EXPECT_EQ(*store->best_points(run_of("k"), false), std::vector<std::string>{"[2]"});
  EXPECT_TRUE(store->best_points(run_of("nothing"), false)->empty());
}

TEST(Store, AMeasuredTrialIsTheBestOnlyAfterItWasChecked) {
  auto store = TrialStore::open(fresh("measured"), true);
  const auto run = store->begin(run_of("k"));
  TrialRecord fast_and_wrong = trial_of(1, 10), right = trial_of(2, 20);
  ASSERT_FALSE(has_errors(store->add(*run, fast_and_wrong)) || has_errors(store->add(*run, right)));
  EXPECT_TRUE(store->best_points(run_of("k"), true)->empty());
  fast_and_wrong.measured = 1e-6;
  fast_and_wrong.verdict = RunVerdict::wrong_result;
  fast_and_wrong.problem = "wrong result: C[0]: 1 instead of 2";
  right.measured = 2e-6;
  right.verdict = RunVerdict::correct;
  ASSERT_FALSE(has_errors(store->measured(*run, fast_and_wrong)) || has_errors(store->measured(*run, right)));
  EXPECT_EQ(*store->best_points(run_of("k"), true), std::vector<std::string>{"[2]"});
  const auto stored = store->trials(*run);
  ASSERT_TRUE(stored && stored->size() == 2);
  EXPECT_EQ(stored->at(0).verdict, RunVerdict::wrong_result);
  EXPECT_EQ(stored->at(1).verdict, RunVerdict::correct);
  EXPECT_EQ(*store->best_points(run_of("k"), false), std::vector<std::string>{"[2]"}) << "nor by its prediction";
  EXPECT_EQ(store->measured_on("t")->size(), 1u);
  // A store of before there were devices, then two devices: times of the other one are not used.
  EXPECT_EQ(store->measured_on("t", "d1")->size(), 1u) << "runs that do not say where count as ours";
  for (const auto& known : {std::pair("d2", 0u), std::pair("d1", 1u)}) {
    for (std::int64_t run = 1; run <= store->run(0)->id; ++run)
      EXPECT_TRUE(store->measured_by(run, known.first).empty());
    EXPECT_EQ(store->measured_on("t", "d1")->size(), known.second);
    EXPECT_EQ(store->best_points(run_of("k"), true, "d1")->empty(), known.second == 0);
    EXPECT_FALSE(store->best_points(run_of("k"), false, "d1")->empty()) << "predictions are the same everywhere";
  }
}

TEST(Store, OtherFilesAreLeftAlone) {
  const std::string path = fresh("other");
  std::ofstream(path) << "something else";
  EXPECT_FALSE(TrialStore::open(path, true));
  EXPECT_FALSE(TrialStore::open(fresh("missing"), false));
  EXPECT_FALSE(TrialStore::open("/no/such/folder/x.db", true));
  std::ifstream file(path);
  std::string text;
  std::getline(file, text);
  EXPECT_EQ(text, "something else");
}

/// Writes trials until it is killed or has written `count`; never returns.
[[noreturn]] void write_trials(const std::string& path, int count, int report) {
  auto store = TrialStore::open(path, true);
  if (!store) _exit(1);
  const auto run = store->begin(run_of("k"));
  if (!run) _exit(2);
  for (int i = 1; i <= count; ++i) {
    if (has_errors(store->add(*run, trial_of(i, i)))) _exit(3);
    if (report >= 0 && write(report, &i, sizeof i) != sizeof i) _exit(4);
  }
  _exit(0);
}

TEST(Store, ProcessesWriteAtOnce) {
  const std::string path = fresh("two");
  constexpr int writers = 3, count = 200;
  std::vector<pid_t> children;
  for (int w = 0; w < writers; ++w) {
    const pid_t child = fork();
    if (child == 0) write_trials(path, count, -1);
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  const auto store = TrialStore::open(path, false);
  ASSERT_TRUE(store);
  for (int run = 1; run <= writers; ++run) {
    const auto trials = store->trials(run);
    ASSERT_TRUE(trials);
    EXPECT_EQ(trials->size(), static_cast<std::size_t>(count));
  }
}

TEST(Store, AKilledProcessLosesAtMostItsCurrentTrial) {
  for (int round = 0; round < 5; ++round) {
    const std::string path = fresh("killed");
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) write_trials(path, 1'000'000, ends[1]);
    close(ends[1]);
    int told = 0;
    while (told < 20 + 37 * round && ::read(ends[0], &told, sizeof told) == sizeof told) {
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    for (int next = 0; ::read(ends[0], &next, sizeof next) == sizeof next;) told = next;
    close(ends[0]);
    const auto store = TrialStore::open(path, false);
    ASSERT_TRUE(store) << render(store.diagnostics());
    const auto trials = store->trials(1);
    ASSERT_TRUE(trials);
    EXPECT_GE(static_cast<int>(trials->size()), told);
    EXPECT_LE(static_cast<int>(trials->size()), told + 1);
  }
}

}  // namespace
}  // namespace isamap::lab
