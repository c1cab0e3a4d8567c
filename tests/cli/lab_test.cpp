// SPDX-License-Identifier: Apache-2.0
// lab, replay, --store and tune, as a user has them.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include "tests/cli/program.h"

namespace isamap::cli_test {
namespace {

TEST(Lab, RunsReportsAndReplays) {
  const Folder folder;
  const std::string trials = folder / "trials.jsonl", html = folder / "report.html", csv = folder / "trials.csv";
  const Said ran = isamap({"lab", "run", "small", "--strategies", "random,hill_climbing:kick=2", "--seeds", "2",
                           "--budget", "evals=40", "--jobs", "2", "-o", trials});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Said report = isamap({"lab", "report", trials, "--out", html});
  ASSERT_EQ(report.code, 0) << report.err;
  EXPECT_NE(report.out.find("hill_climbing:kick=2"), std::string::npos) << report.out;
  const std::string page = read_file(html);
  for (const char* part : {"<svg", "Anytime curves", "Performance profile", "Expected running time to the optimum"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  EXPECT_EQ(page.find("http://"), page.find("http://www.w3.org/2000/svg")) << "the page needs nothing else";
  const Said replayed = isamap({"replay", trials});
  EXPECT_EQ(replayed.code, 0) << replayed.err;
  EXPECT_EQ(replayed.out, read_file(trials));
  ASSERT_EQ(isamap({"lab", "csv", trials, "-o", csv}).code, 0);
  EXPECT_TRUE(read_file(csv).starts_with("instance,strategy,seed,evaluations,objective,optimum,ratio\n"));
  std::string changed = read_file(trials);
  changed.replace(changed.rfind("\"legal\":"), 10, "\"legal\":99");
  const Said differs = isamap({"replay", folder.write("changed.jsonl", changed)});
  EXPECT_EQ(differs.code, 5);
  EXPECT_NE(differs.err.find("does not replay: line "), std::string::npos) << differs.err;
}

TEST(Lab, TwoRunsDoNotWriteOneFile) {
  const Folder folder;
  const std::string trials = folder / "t.jsonl";
  const std::vector<std::string> run{"lab", "run",      "small",     "--strategies", "genetic", "--seeds",
                                     "200", "--budget", "evals=300", "-o",           trials};
  const pid_t first = start(run, folder / "out", folder / "err");
  while (read_file(trials).empty() && ::kill(first, 0) == 0) ::usleep(2000);
  const Said second = isamap(run);
  EXPECT_EQ(second.code, 1) << second.err;
  EXPECT_EQ(second.err, trials + ": is being written by another process (process " + std::to_string(first) +
                            ")\n  hint: wait for its end, or name another file\n");
  ::kill(first, SIGINT);
  EXPECT_EQ(finish(first), 4) << "interrupted: " << read_file(folder / "err");
  EXPECT_EQ(isamap({"lab", "report", trials}).code, 0) << "it is whole";
}

TEST(Lab, FilesOfOtherRunsAreNotOverwritten) {
  const Folder folder;
  const std::string trials = folder / "t.jsonl";
  const auto run = [&](const std::string& seeds, const std::string& evaluations) {
    return isamap({"lab", "run", "small", "--strategies", "random", "--seeds", seeds, "--budget",
                   "evals=" + evaluations, "-o", trials});
  };
  ASSERT_EQ(run("1", "5").code, 0);
  const std::string whole = read_file(trials);
  const Said other = run("2", "6");
  EXPECT_EQ(other.code, 1);
  EXPECT_EQ(other.err, trials +
                           ": holds trials of another run: its seeds are 1, not 2; its budget is evals=5, not evals=6\n"
                           "  hint: name another file, or remove this one\n");
  EXPECT_EQ(read_file(trials), whole);
  EXPECT_EQ(run("1", "5").code, 0) << "the same command";
  folder.write("t.jsonl", "my notes\n");
  EXPECT_NE(run("1", "5").err.find("is no file of trials"), std::string::npos);
  EXPECT_EQ(read_file(trials), "my notes\n");
  for (const std::string& nothing : {std::string(), whole.substr(0, 30), whole.substr(0, whole.find('\n') + 1)}) {
    folder.write("t.jsonl", nothing);
    EXPECT_EQ(run("1", "6").code, 0) << nothing;
  }
  folder.write("t.jsonl", whole.substr(0, 30));
  EXPECT_EQ(run("1", "5").code, 0) << "killed in the first line";
  EXPECT_EQ(read_file(trials), whole);
}

TEST(Lab, ReportsLeaveOutStrategiesWithoutATrialAndReplayFindsASuiteBesideTheFile) {
  const Folder folder;
  const std::string suite =
      "suite: mine\nabout: one\ninstances:\n  - {name: one, compute: \"C[i,j] += A[i,k] * "
      "B[k,j]\", dims: \"i=7,j=9,k=5\", target: x86_avx512, objective: cycles}\n";
  folder.write("mine.yaml", suite);
  const std::string command = "cd " + (folder / "") + " && " + ISAMAP_PROGRAM +
                              " lab run mine.yaml --strategies random,genetic --seeds 2 --budget evals=9 -o t.jsonl";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const std::string trials = folder / "t.jsonl", page = folder / "r.html", whole = read_file(trials);
  EXPECT_EQ(isamap({"replay", trials}).code, 0) << "from another folder";
  std::size_t end = 0;
  for (int lines = 0; lines < 3; ++lines) end = whole.find('\n', end) + 1;
  folder.write("t.jsonl", whole.substr(0, end));
  const Said report = isamap({"lab", "report", trials, "--out", page});
  EXPECT_EQ(report.code, 0) << report.err;
  EXPECT_EQ(report.out.find("genetic"), std::string::npos) << report.out;
  EXPECT_NE(report.err.find("genetic has no trial and is left out"), std::string::npos) << report.err;
  EXPECT_NE(read_file(page).find("Strategies without a trial, left out: genetic."), std::string::npos);
  EXPECT_NE(read_file(page).find("2 of 4 trials"), std::string::npos);
}

/// A strategy and a cost model from a shared object, and from a process; a kernel of several statements.
TEST(Lab, TakesStrategiesAndCostModelsOfUsers) {
  const Folder folder;
  const std::string hill = ISAMAP_EXTENSION, foreign = ISAMAP_FOREIGN_EXTENSION;
  const std::string suite = folder.write(
      "mine.yaml", std::string("suite: mine\nabout: several statements\ninstances:\n  - {name: s, kernel: ") +
                       ISAMAP_SOURCE_DIR + "/examples/attention.yaml, target: x86_avx512, objective: cycles}\n");
  const std::string trials = folder / "trials.jsonl";
  const Said ran =
      isamap({"lab", "run", suite, "--strategies", "extension:file=" + hill + ":steps=3,random", "--seeds", "1",
              "--budget", "evals=12", "--cost", "extension:file=" + hill + ",cycles=100", "-o", trials});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const std::string text = read_file(trials);
  EXPECT_NE(text.find("\"cost\":\"extension:cycles=100,file="), std::string::npos) << text;
  EXPECT_GE(std::count(text.begin(), text.end(), '\n'), 1 + 2 * 2) << "each statement that something maps is searched";
  EXPECT_EQ(isamap({"replay", trials}).code, 0);
  EXPECT_EQ(isamap({"lab", "report", trials}).code, 0);
  const Said dear =
      isamap({"schedule", ISAMAP_SOURCE_DIR "/examples/gemm.yaml", "--target", "x86_avx512", "--budget", "evals=10",
              "--json", "--objective", "cycles", "--cost", "extension:file=" + hill + ",cycles=1e9"});
  ASSERT_EQ(dear.code, 0) << dear.err;
  EXPECT_GT(parsed(dear)["cycles"].get<double>(), 1e9);
  for (const auto& [option, words] : {std::pair(std::string("--strategy"), std::string("is built for another isamap")),
                                      {"--cost", "has no cost model"}}) {
    const Said refused = isamap({"schedule", ISAMAP_SOURCE_DIR "/examples/gemm.yaml", "--target", "x86_avx512", option,
                                 "extension:file=" + foreign});
    EXPECT_NE(refused.code, 0);
    EXPECT_LT(refused.code, 70) << refused.err;
    EXPECT_NE(refused.err.find(words), std::string::npos) << refused.err;
  }
  const Said wrong = isamap({"schedule", ISAMAP_SOURCE_DIR "/examples/gemm.yaml", "--target", "x86_avx512",
                             "--strategy", "extension:file=" + hill + ",steps=0"});
  EXPECT_NE(wrong.err.find("option steps of hill"), std::string::npos) << wrong.err;
}

/// Exit code 4 and the words of the user's code, in every verb.
TEST(Lab, ExtensionsThatFailEndWithFour) {
  const Folder folder;
  const std::string failing = std::string("extension:file=") + ISAMAP_FAILING_EXTENSION, plan = folder / "plan";
  const std::string kernel = example("gemm");
  const auto says = [&](const std::vector<std::string>& words, const std::string& why) {
    const Said said = isamap(words);
    EXPECT_EQ(said.code, 4) << words[0] << ": " << said.err;
    EXPECT_NE(said.err.find(why), std::string::npos) << said.err;
    EXPECT_EQ(said.err.find("internal error"), std::string::npos) << said.err;
  };
  const std::string broke = " has failed: my code broke";
  for (const std::string how : {"throw", "make"}) {
    says({"schedule", kernel, "--target", "x86_avx512", "--strategy", failing + ",how=" + how}, "its strategy" + broke);
    says({"schedule", kernel, "--target", "x86_avx512", "--cost", failing + ",how=" + how}, "its cost model" + broke);
    says({"lab", "run", "small", "--strategies", failing + ":how=" + how, "--seeds", "1"}, "its strategy" + broke);
    says({"lab", "run", "small", "--strategies", "random", "--cost", failing + ",how=" + how, "--seeds", "1"},
         "its cost model" + broke);
  }
  says({"schedule", kernel, "--target", "x86_avx512", "--strategy", failing + ",how=number"},
       "an exception that is no std::exception");
  const Said left =
      isamap({"schedule", kernel, "--target", "x86_avx512", "--json", "--strategy", failing + ",how=exit"});
  EXPECT_EQ(left.code, 4);
  EXPECT_NE(left.err.find("exit() was called within the verb"), std::string::npos) << left.err;
  EXPECT_EQ(parsed(left).value("exit", 0), 4) << left.out;
  for (int run = 0; run < 5; ++run)  // each thread has a model, and calls exit()
    says({"schedule", kernel, "--target", "x86_avx512", "--jobs", "4", "--cost", failing + ",how=exit"},
         "exit() was called within the verb");
  for (const auto& [how, why] :
       {std::pair("throw", "exit code 4: "), {"exit", "exit code 0: exit() was called before the job was done"}}) {
    ASSERT_EQ(
        isamap({"plan", "lab", "small", "--strategies", failing + ":how=" + how, "--seeds", "1", "-o", plan}).code, 0);
    says({"work", plan, "--store", folder / how, "--attempts", "1"}, why);
    if (how == std::string("throw")) says({"work", plan, "--store", folder / how, "--attempts", "1"}, broke);
  }
}

TEST(Lab, SaysWhatIsWrong) {
  EXPECT_EQ(isamap({"lab", "run", "small", "--strategies", "nonsense"}).code, 2);
  EXPECT_EQ(isamap({"lab", "run", "nonsense"}).code, 1);
  EXPECT_EQ(isamap({"lab", "run", "small", "--budget", "seconds=2"}).code, 2);
  EXPECT_EQ(isamap({"lab", "run", "small", "--seeds", "0"}).code, 2);
  EXPECT_EQ(isamap({"lab", "report", "/no/such/file"}).code, 1);
  const Folder folder;
  EXPECT_EQ(isamap({"lab", "report", folder.write("x", "nothing\n")}).code, 1);
  EXPECT_EQ(isamap({"lab"}).code, 2);
}

const std::vector<std::string> small_gemm{
    "--compute", "C[i,j] += A[i,k] * B[k,j]", "--dims", "i=29,j=37,k=7", "--target", "x86_avx512", "--json"};

Said with(const std::string& verb, std::vector<std::string> more, const std::vector<std::string>& base = small_gemm) {
  std::vector<std::string> arguments{verb};
  arguments.insert(arguments.end(), base.begin(), base.end());
  arguments.insert(arguments.end(), more.begin(), more.end());
  return isamap(arguments);
}

TEST(Store, ASearchIsRecordedReplayedAndBeginsWithTheBest) {
  const Folder folder;
  const std::string store = folder / "trials.db";
  const Said first =
      with("schedule", {"--store", store, "--strategy", "annealing", "--seed", "5", "--budget", "evals=300"});
  ASSERT_EQ(first.code, 0) << first.err;
  const Said replayed = isamap({"replay", store});
  EXPECT_EQ(replayed.code, 0) << replayed.err;
  EXPECT_EQ(replayed.out, first.out);
  EXPECT_NE(replayed.err.find("300 trials and every byte printed are the same"), std::string::npos) << replayed.err;
  const Said second = with("schedule", {"--store", store, "--strategy", "random", "--budget", "evals=1"});
  ASSERT_EQ(second.code, 0) << second.err;
  EXPECT_EQ(parsed(second)["cycles"], parsed(first)["cycles"]) << "one evaluation: the best that is known";
  EXPECT_EQ(isamap({"replay", store}).out, second.out) << "a run that began with what was known then";
  EXPECT_EQ(isamap({"replay", store, "--run", "1"}).out, first.out);
  EXPECT_EQ(isamap({"replay", store, "--run", "9"}).code, 1);
  const Said csv = isamap({"lab", "csv", store, "--features", "--run", "1"});
  ASSERT_EQ(csv.code, 0) << csv.err;
  EXPECT_EQ(std::count(csv.out.begin(), csv.out.end(), '\n'), 301);
  EXPECT_NE(csv.out.find(",log2 cycles,"), std::string::npos);
}

TEST(Lab, ARunThatWasEndedSaysHowFarItCame) {
  const Folder folder;
  const std::string trials = folder / "t.jsonl";
  const Said ran =
      isamap({"lab", "run", "small", "--strategies", "random", "--seeds", "2", "--budget", "evals=20", "-o", trials});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const std::string whole = read_file(trials);
  folder.write("t.jsonl", whole.substr(0, whole.size() - 20));
  for (const char* verb : {"report", "replay"}) {
    const Said said = verb == std::string("report") ? isamap({"lab", "report", trials, "--out", folder / "r.html"})
                                                    : isamap({"replay", trials});
    EXPECT_EQ(said.code, 0) << said.err;
    EXPECT_NE(said.err.find("the run was ended before"), std::string::npos) << verb << ": " << said.err;
  }
  std::string changed = whole;
  changed[whole.find("\"legal\":") + 8] = '9';
  folder.write("t.jsonl", changed.substr(0, changed.size() - 20));
  EXPECT_EQ(isamap({"replay", trials}).code, 5);
}

TEST(Store, ASearchThatTheClockEndedReplaysToo) {
  const Folder folder;
  const std::string store = folder / "trials.db";
  const Said first = with("schedule", {"--store", store, "--strategy", "random", "--budget", "seconds=0.3"});
  ASSERT_EQ(first.code, 0) << first.err;
  const Said replayed = isamap({"replay", store});
  EXPECT_EQ(replayed.code, 0) << replayed.err;
  EXPECT_EQ(replayed.out, first.out);
}

TEST(Store, TwoSearchesWriteAtOnceAndOneMayBeKilled) {
  const Folder folder;
  const std::string store = folder / "trials.db";
  std::vector<std::string> arguments{"schedule"};
  arguments.insert(arguments.end(), small_gemm.begin(), small_gemm.end());
  for (const char* more : {"--store", "", "--strategy", "random", "--budget", "evals=100000"})
    arguments.push_back(*more == 0 ? store : more);
  const pid_t killed = start(arguments, folder / "out", folder / "err");
  const Said other = with("schedule", {"--store", store, "--strategy", "genetic", "--budget", "evals=400"});
  EXPECT_EQ(other.code, 0) << other.err;
  ::kill(killed, SIGKILL);
  EXPECT_EQ(finish(killed), 1000 + SIGKILL);
  int ended = 0, cut = 0;
  for (const char* run : {"1", "2"}) {
    const Said replayed = isamap({"replay", store, "--run", run});
    EXPECT_EQ(replayed.code, 0) << replayed.err;
    ended += replayed.err.find("every byte printed") != std::string::npos ? 1 : 0;
    cut += replayed.err.find("the run did not end") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(ended, 1);
  EXPECT_EQ(cut, 1);
}

TEST(Store, OtherFilesAreRefused) {
  const Folder folder;
  const std::string text = folder.write("text", "hello\n");
  EXPECT_EQ(with("schedule", {"--store", text}).code, 1);
  EXPECT_EQ(read_file(text), "hello\n");
  EXPECT_EQ(isamap({"replay", text}).code, 1);
}

TEST(Tune, MeasuresChecksRecordsAndReplays) {
  const std::vector<std::string> base{
      "--compute", "C[i,j] += A[i,k] * B[k,j]", "--dims", "i=9,j=10,k=7", "--target", "scalar_c", "--json"};
  const Folder folder;
  const std::string store = folder / "trials.db";
  const Said tuned = with("tune", {"--store", store, "--measured", "3", "--budget", "evals=60"}, base);
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  const auto json = parsed(tuned);
  ASSERT_EQ(json["candidates"].size(), 3u) << tuned.out;
  double best = 1e9;
  for (const auto& candidate : json["candidates"]) {
    EXPECT_TRUE(candidate["correct"].get<bool>());
    best = std::min(best, candidate["measured"].get<double>());
  }
  EXPECT_EQ(json["measured_seconds"].get<double>(), best);
  const Said replayed = isamap({"replay", store});
  EXPECT_EQ(replayed.code, 0) << replayed.err;
  EXPECT_EQ(replayed.out, tuned.out);
  const std::string html = folder / "accuracy.html";
  const Said report = isamap({"lab", "report", store, "--out", html, "--json"});
  ASSERT_EQ(report.code, 0) << report.err;
  const auto statements = parsed(report)["statements"];
  ASSERT_EQ(statements.size(), 1u) << report.out;
  EXPECT_GE(statements[0]["trials"].size(), 3u);
  EXPECT_TRUE(statements[0].contains("rank_correlation"));
  EXPECT_FALSE(parsed(report)["worst"].empty());
  for (const char* part : {"<svg", "Rank correlation", "Worst cases", "<circle"})
    EXPECT_NE(read_file(html).find(part), std::string::npos) << part;
  const Said again = with("tune", {"--store", store, "--measured", "2", "--budget", "evals=30"}, base);
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(isamap({"replay", store}).out, again.out) << "what was measured before is part of the record";
}

TEST(Tune, MeasuresStatementsBesideSumsInLanes) {
  const Folder folder;
  const std::string path = folder.write("k.yaml",
                                        "kernel: centred\ndims: {M: 4, N: 67}\ntensors:\n"
                                        "  X: {shape: [M, N], dtype: f32}\n  H: {shape: [M], dtype: f32}\n"
                                        "  E: {shape: [M, N], dtype: f32}\ncompute:\n"
                                        "  - {name: total, compute: \"H[i] += X[i,j]\"}\n"
                                        "  - {name: centred, compute: \"E[i,j] = X[i,j] - H[i]\"}\n");
  const Said tuned =
      isamap({"tune", path, "--target", "x86_avx2", "--measured", "1", "--budget", "evals=20", "--json"});
  if (tuned.code == 77) GTEST_SKIP() << tuned.err;
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  const auto json = parsed(tuned);
  ASSERT_FALSE(json["candidates"].empty()) << tuned.out;
  for (const auto& candidate : json["candidates"]) {
    EXPECT_EQ(candidate["statement"], 1) << tuned.out;
    EXPECT_TRUE(candidate["correct"].get<bool>()) << tuned.out;
  }
  const Said sum = isamap({"tune", "--compute", "H[i] += X[i,j]", "--dims", "i=4,j=67", "--target", "x86_avx2",
                           "--measured", "1", "--budget", "evals=20"});
  EXPECT_EQ(sum.code, 3) << sum.err;
  EXPECT_NE(sum.err.find("every statement is computed in parts (s0) or scalar code"), std::string::npos) << sum.err;
}

/// A compiler that subtracts where the kernel adds.
TEST(Tune, AWrongResultHasACodeOfItsOwn) {
  const Folder bin;
  const std::string compiler = bin.write("subtracts",
                                         "#!/bin/sh\nfor f in \"$@\"; do case \"$f\" in */kernel.cpp) sed -i "
                                         "'s/ += / -= /' \"$f\";; esac; done\nexec g++ \"$@\"\n");
  ::chmod(compiler.c_str(), 0700);
  const std::vector<std::string> words{"tune",     "--compute",   "C[i,j] += A[i,k] * B[k,j]",
                                       "--dims",   "i=3,j=4,k=5", "--target",
                                       "scalar_c", "--measured",  "1",
                                       "--budget", "evals=9"};
  {
    const WithCompiler chosen(compiler);
    const Said wrong = isamap(words);
    EXPECT_EQ(wrong.code, 5) << wrong.err;
    EXPECT_NE(wrong.err.find("nothing was measured: wrong result: C[0,0]"), std::string::npos) << wrong.err;
  }
  const WithCompiler none("false");
  EXPECT_NE(isamap(words).code, 5) << "what did not run has no wrong result";
}

}  // namespace
}  // namespace isamap::cli_test
