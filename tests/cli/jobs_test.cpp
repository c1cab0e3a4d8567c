// SPDX-License-Identifier: Apache-2.0
// --jobs, and Ctrl-C during a search, as a user has them.

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>

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

TEST(Jobs, ChangeNoByte) {
  const std::string one = isamap(of_products("schedule", "i=64,j=48,k=32", {"--jobs", "1"})).out;
  EXPECT_FALSE(one.empty());
  for (const char* jobs : {"2", "7"})
    EXPECT_EQ(isamap(of_products("schedule", "i=64,j=48,k=32", {"--jobs", jobs})).out, one) << jobs;
  const Words extract{"extract", example("attention"), "--target", "x86_avx512", "--budget", "evals=60", "--jobs"};
  const auto with = [](Words words, const char* jobs) { return words.emplace_back(jobs), isamap(words).out; };
  EXPECT_EQ(with(extract, "1"), with(extract, "3"));
  const Folder suite;
  for (const char* name : {"gemm_s8", "attention", "softmax"})
    suite.write(name + std::string(".yaml"), read_file(example(name)));
  const Words coverage{"coverage", "--suite", suite / "", "--target", "npu16", "--budget", "evals=40", "--jobs"};
  const std::string covered = with(coverage, "1");
  EXPECT_NE(covered.find("3 kernels"), std::string::npos) << covered;
  EXPECT_EQ(covered, with(coverage, "3"));
}

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

/// Interrupted after `first` milliseconds.
Interrupted interrupted(const Words& words, int first) {
  const Folder folder;
  const pid_t child = start(words, folder / "out", folder / "err");
  ::usleep(static_cast<useconds_t>(first) * 1000 * slower);
  const auto begin = std::chrono::steady_clock::now();
  ::kill(child, SIGINT);
  const int code = finish(child);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  return {{code, read_file(folder / "out"), read_file(folder / "err")}, taken.count()};
}

constexpr double answered = 2.0 * slower;  // 0.2 s on a machine of its own

TEST(Interrupts, AreAnsweredWithTheBestSoFar) {
  const Words endless{"--budget", "evals=100000000", "--json"};
  for (const Words& more : {Words{}, {"--cost", "simulator"}, {"--jobs", "1", "--strategy", "annealing"}}) {
    Words words = of_products("schedule", "i=256,j=256,k=256", endless);
    words.insert(words.end(), more.begin(), more.end());
    const Interrupted at = interrupted(words, 1500);
    ASSERT_EQ(at.said.code, 0) << at.said.err;
    EXPECT_LT(at.seconds, answered);
    EXPECT_NE(at.said.err.find("interrupted: the best of "), std::string::npos) << at.said.err;
    const auto json = parsed(at.said);
    EXPECT_TRUE(json["stopped"].get<bool>());
    EXPECT_GT(json["cycles"].get<double>(), 0);
    EXPECT_NE(json["best"]["schedule"].get<std::string>().find("do "), std::string::npos) << at.said.out;
  }
}

TEST(Interrupts, KeepWholeTrials) {
  const Folder folder;
  const std::string trials = folder / "trials.jsonl";
  const Interrupted at =
      interrupted({"lab", "run", "small", "--budget", "evals=3000", "--seeds", "100000", "-o", trials}, 1500);
  EXPECT_EQ(at.said.code, 4) << at.said.err;
  EXPECT_LT(at.seconds, answered);
  EXPECT_NE(at.said.err.find(" trials are written"), std::string::npos) << at.said.err;
  EXPECT_EQ(isamap({"lab", "csv", trials}).code, 0);
}

TEST(Interrupts, EndAVerbThatHasNothingToShow) {
  const Interrupted at = interrupted(
      {"coverage", "--suite", ISAMAP_SOURCE_DIR "/examples", "--target", "x86_avx512", "--budget", "evals=100000"},
      500);
  EXPECT_EQ(at.said.code, 1000 + SIGINT);
  EXPECT_LT(at.seconds, answered);
}

}  // namespace
}  // namespace isamap::cli_test
