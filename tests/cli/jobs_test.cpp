// SPDX-License-Identifier: Apache-2.0
// --jobs, and Ctrl-C during a search, as a user has them.

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <functional>

#include "tests/cli/program.h"

namespace isamap::cli_test {
namespace {

using Words = std::vector<std::string>;

Words of_products(const std::string& verb, const std::string& dims, Words more) {
  Words words{verb,       "--compute", "C[i,j] += A[i,k]*B[k,j]", "--dims", dims, "--dtypes", "A=s8,B=s8,C=s32",
              "--target", "npu16"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

void change_no_byte(const std::vector<const char*>& numbers, const std::vector<const char*>& kernels) {
  const std::string one = isamap(of_products("schedule", "i=64,j=48,k=32", {"--jobs", "1"})).out;
  EXPECT_FALSE(one.empty());
  for (const char* jobs : numbers)
    EXPECT_EQ(isamap(of_products("schedule", "i=64,j=48,k=32", {"--jobs", jobs})).out, one) << jobs;
  // Several statements, searched side by side, then fused with one tile after the other.
  for (const char* kernel : kernels) {
    const auto with_jobs = [&](const char* jobs) {
      return isamap({"schedule", example(kernel), "--target", "x86_avx512", "--budget", "evals=150", "--jobs", jobs})
          .out;
    };
    const std::string serial = with_jobs("1");
    if (kernel == std::string("gru_cell")) {
      EXPECT_NE(serial.find(" then "), std::string::npos) << "fuses: " << serial;
    }
    for (const char* jobs : numbers) EXPECT_EQ(with_jobs(jobs), serial) << kernel << ", " << jobs;
  }
  const Words extract{"extract", example("attention"), "--target", "x86_avx512", "--budget", "evals=60", "--jobs"};
  const auto with = [](Words words, const char* jobs) { return words.emplace_back(jobs), isamap(words).out; };
  EXPECT_EQ(with(extract, "1"), with(extract, "3"));
  const Folder suite;
  for (const char* name : {"gemm_s8", "attention", "softmax"})
    suite.write(name + std::string(".yaml"), read_file(example(name)));
  const Words coverage{"coverage", "--suite", suite / "", "--target", "npu16", "--budget", "evals=40", "--jobs"};
  const std::string covered = with(coverage, "1");
  EXPECT_NE(covered.find("1 of 11 kernels map"), std::string::npos) << covered;
  EXPECT_EQ(covered, with(coverage, "3"));
}

TEST(Jobs, ChangeNoByte) { change_no_byte({"7"}, {"gru_cell"}); }
TEST(HeavyJobs, ChangeNoByte) { change_no_byte({"2", "7"}, {"attention", "gru_cell"}); }

TEST(Jobs, ThreadsAreThoseOfEmittedPrograms) {
  for (const Words& words :
       {of_products("schedule", "i=8,j=8,k=8", {"--threads", "2"}), {"lab", "run", "small", "--threads=2"}}) {
    const Said said = isamap(words);
    EXPECT_EQ(said.code, 2);
    EXPECT_NE(said.err.find("--jobs N"), std::string::npos) << said.err;
  }
  EXPECT_EQ(isamap(of_products("schedule", "i=8,j=8,k=8", {"--jobs", "0"})).code, 2);
}

struct Interrupted {
  Said said;
  double seconds = 0;  ///< from the signal to the end
};

/// Interrupted once `ready`, which is shown what the program says on stderr.
Interrupted interrupted(const Words& words, const std::function<bool(const std::string& err)>& ready) {
  const Folder folder;
  const pid_t child = start(words, folder / "out", folder / "err");
  for (int tries = 0; tries < 3000 && !ready(read_file(folder / "err")); ++tries) ::usleep(10'000);
  const auto begin = std::chrono::steady_clock::now();
  ::kill(child, SIGINT);
  const int code = finish(child);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  return {{code, read_file(folder / "out"), read_file(folder / "err")}, taken.count()};
}

bool has_a_best(const std::string& err) {
  return err.find(" evaluations, best ") != std::string::npos && err.find("none yet") == std::string::npos;
}

constexpr double answered = 2.0 * slower;  // 0.2 s on a machine of its own

TEST(Interrupts, AreAnsweredWithTheBestSoFar) {
  const Words endless{"--budget", "evals=100000000", "--json"};
  for (const Words& more : {Words{}, {"--cost", "simulator"}, {"--jobs", "1", "--strategy", "annealing"}}) {
    Words words = of_products("schedule", "i=256,j=256,k=256", endless);
    words.insert(words.end(), more.begin(), more.end());
    const Interrupted at = interrupted(words, has_a_best);
    ASSERT_EQ(at.said.code, 0) << at.said.err;
    EXPECT_LT(at.seconds, answered);
    EXPECT_NE(at.said.err.find("interrupted: the best of "), std::string::npos) << at.said.err;
    const auto json = parsed(at.said);
    EXPECT_TRUE(json["stopped"].get<bool>());
    EXPECT_GT(json["cycles"].get<double>(), 0);
    EXPECT_NE(json["best"]["schedule"].get<std::string>().find("do "), std::string::npos) << at.said.out;
  }
}

TEST(Interrupts, EndSearchesOfSeveralStatements) {
  for (const char* jobs : {"1", "3"}) {
    const Interrupted at = interrupted({"schedule", example("attention"), "--target", "x86_avx512", "--budget",
                                        "evals=100000000", "--json", "--jobs", jobs},
                                       has_a_best);
    ASSERT_EQ(at.said.code, 0) << at.said.err;
    EXPECT_LT(at.seconds, answered);
    const auto json = parsed(at.said);
    EXPECT_TRUE(json["stopped"].get<bool>());
    EXPECT_NE(json["best"]["schedule"].get<std::string>().find("do "), std::string::npos) << at.said.out;
  }
}

TEST(Interrupts, EndTuningDuringItsSearch) {
  const Interrupted at =
      interrupted(of_products("tune", "i=256,j=256,k=256", {"--budget", "evals=100000000", "--jobs", "2"}), has_a_best);
  EXPECT_EQ(at.said.code, 4) << at.said.err;
  EXPECT_LT(at.seconds, answered);
  EXPECT_NE(at.said.err.find("interrupted: 0 candidates are measured"), std::string::npos) << at.said.err;
  EXPECT_NE(at.said.out.find("# nothing is measured: the best predicted"), std::string::npos) << at.said.out;
}

TEST(Interrupts, KeepLayersThatAreExtracted) {
  const Interrupted at =
      interrupted({"extract", example("attention"), "--target", "x86_avx512", "--budget", "evals=100000000"},
                  [looks = 0](const std::string&) mutable { return ++looks > 50; });
  EXPECT_EQ(at.said.code, 4) << at.said.err;
  EXPECT_LT(at.seconds, answered);
  EXPECT_NE(at.said.err.find("interrupted: the rest is left out"), std::string::npos) << at.said.err;
  EXPECT_NE(at.said.out.find(" layers, "), std::string::npos) << at.said.out;
}

TEST(Interrupts, KeepWholeTrials) {
  const Folder folder;
  const std::string trials = folder / "trials.jsonl";
  const Interrupted at = interrupted(
      {"lab", "run", "small", "--budget", "evals=3000", "--seeds", "100000", "-o", trials}, [&](const std::string&) {
        const std::string text = read_file(trials);
        return std::count(text.begin(), text.end(), '\n') > 1;
      });
  EXPECT_EQ(at.said.code, 4) << at.said.err;
  EXPECT_LT(at.seconds, answered);
  EXPECT_NE(at.said.err.find(" trials are written"), std::string::npos) << at.said.err;
  EXPECT_EQ(isamap({"lab", "csv", trials}).code, 0);
}

TEST(Interrupts, EndAVerbThatHasNothingToShow) {
  const Interrupted at = interrupted(
      {"coverage", "--suite", ISAMAP_SOURCE_DIR "/examples", "--target", "x86_avx512", "--budget", "evals=100000"},
      [looks = 0](const std::string&) mutable { return ++looks > 50; });
  EXPECT_EQ(at.said.code, 1000 + SIGINT);
  EXPECT_LT(at.seconds, answered);
}

}  // namespace
}  // namespace isamap::cli_test
