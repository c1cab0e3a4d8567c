// SPDX-License-Identifier: Apache-2.0
// plan, work, status, results, merge and store, as users have them: several processes, kills, full disks.

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <set>

#include "isamap/frontends.h"
#include "jobs/job.h"
#include "jobs/record.h"
#include "tests/cli/program.h"
#include "tests/frontends/onnx_bytes.h"

namespace isamap::cli_test {
namespace {

const std::vector<std::string> small_lab = {"small", "--strategies", "random,genetic", "--seeds",
                                            "3",     "--budget",     "evals=60"};

std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// A planned lab run, and what the same run writes in one process.
struct PlannedLab {
  Folder folder;
  std::string plan = folder / "plan.jsonl", serial;
  std::size_t jobs = 30;
  PlannedLab() {
    const Said planned = isamap(with(with({"plan", "lab"}, small_lab), {"-o", plan}));
    EXPECT_EQ(planned.code, 0) << planned.err;
    const Said ran = isamap(with({"lab", "run"}, small_lab));
    EXPECT_EQ(ran.code, 0) << ran.err;
    serial = ran.out;
  }
  std::string store(const std::string& name) const { return folder / name; }
  Said work(const std::string& name, const std::vector<std::string>& more = {}) const {
    return isamap(with({"work", plan, "--store", store(name)}, more));
  }
  std::string results(const std::string& name) const { return isamap({"results", plan, "--store", store(name)}).out; }
  std::string sorted(const std::string& name) const { return isamap({"store", "export", store(name), "--sorted"}).out; }
  std::size_t records(const std::string& name) const {
    const std::string lines = isamap({"store", "export", store(name)}).out;
    return static_cast<std::size_t>(std::ranges::count(lines, '\n'));
  }
};

/// As a user types it.
int shell(const std::string& command) {
  const int status = std::system(("{ " + command + "; } > /dev/null 2>&1").c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000;
}

/// One trial of each instance of a small suite.
void plan_trials(const std::string& plan, const std::string& budget) {
  ASSERT_EQ(
      isamap({"plan", "lab", "small", "--strategies", "random", "--seeds", "1", "--budget", budget, "-o", plan}).code,
      0);
}

TEST(Cluster, ShardsOfAShellLoopAddUpToTheSerialRun) {
  const PlannedLab lab;
  ASSERT_EQ(lab.work("serial").code, 0);
  EXPECT_EQ(lab.results("serial"), lab.serial) << "byte for byte what lab run writes";
  const std::string command = std::string(ISAMAP_PROGRAM) + " work " + lab.plan + " --shard $i/4 --store ";
  EXPECT_EQ(shell("for i in 0 1 2 3; do " + command + lab.store("shards") + " & done; wait"), 0);
  EXPECT_EQ(lab.sorted("shards"), lab.sorted("serial"));
  EXPECT_EQ(lab.records("shards"), lab.jobs) << "nothing twice";
  for (int i = 0; i < 4; ++i)  // on machines that share nothing
    EXPECT_EQ(lab.work("part" + std::to_string(i), {"--shard", std::to_string(i) + "/4"}).code, 0);
  const Said merged = isamap({"merge", lab.store("part0"), lab.store("part1"), lab.store("part2"), lab.store("part3"),
                              "-o", lab.store("merged")});
  EXPECT_EQ(merged.code, 0) << merged.err;
  EXPECT_EQ(lab.sorted("merged"), lab.sorted("serial"));
  EXPECT_EQ(lab.results("merged"), lab.serial);
}

TEST(Cluster, AKilledWorkerLosesAtMostTheJobInFlight) {
  const PlannedLab lab;
  ASSERT_EQ(lab.work("serial").code, 0);
  for (const std::size_t after : {1u, 7u, 19u}) {
    const std::string store = lab.store("killed" + std::to_string(after));
    const pid_t worker = start({"work", lab.plan, "--store", store}, lab.folder / "out", lab.folder / "err");
    std::size_t lines = 0;
    while (lines < after && ::kill(worker, 0) == 0) {
      lines = 0;
      std::error_code ignored;
      for (const auto& entry : fs::directory_iterator(store, ignored))
        if (entry.path().extension() == ".jsonl") {
          const std::string text = read_file(entry.path().string());
          lines = static_cast<std::size_t>(std::ranges::count(text, '\n'));
        }
      ::usleep(500);
      if (lines >= lab.jobs) break;
    }
    ::kill(worker, SIGKILL);
    finish(worker);
    const std::size_t before = isamap({"store", "export", store}).out.empty() ? 0 : lines;
    const Said resumed = isamap({"work", lab.plan, "--store", store});
    EXPECT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_GE(before, after);
    const std::string name = "killed" + std::to_string(after);
    EXPECT_EQ(lab.sorted(name), lab.sorted("serial"));
    EXPECT_EQ(lab.records(name), lab.jobs) << "what was recorded is not done again";
  }
}

/// Found: `work` did nothing, `results` ended with "STORE:13: is no line of a trial".
TEST(Cluster, DamagedResultsAreDoneAgain) {
  const PlannedLab lab;
  ASSERT_EQ(lab.work("store").code, 0);
  std::string file;
  for (const auto& entry : fs::directory_iterator(lab.store("store")))
    if (entry.path().extension() == ".jsonl") file = entry.path().string();
  std::string text = read_file(file);
  std::size_t line = 0;
  for (int lines = 0; lines < 12; ++lines) line = text.find('\n', line) + 1;
  const std::size_t legal = text.find("\"legal\":", line) + 8;
  text.replace(legal, text.find(',', legal) - legal, "\"x\"");
  const std::size_t check = text.find(",\"check\":", line);  // which lines of older programs have not
  text.erase(check, text.find('}', check) - check);
  text[text.find("\"evals\":", text.find('\n', check)) + 9] = '7';
  std::ofstream(file) << text;
  const std::string place = file + ":13: warning: has no result of the job '";
  for (const char* verb : {"status", "results"}) {
    const Said said = isamap({verb, lab.plan, "--store", lab.store("store")});
    EXPECT_NE(said.err.find(place), std::string::npos) << said.err;
    EXPECT_NE(said.err.find(file + ":14: warning: is a record that was changed"), std::string::npos) << said.err;
    EXPECT_EQ(said.code, verb == std::string("status") ? 0 : 4) << said.err;
  }
  const auto states = parsed(isamap({"status", lab.plan, "--store", lab.store("store"), "--json"}))["states"];
  EXPECT_EQ(states[0]["state"], "done");
  EXPECT_EQ(states[0]["jobs"], lab.jobs - 2) << states;
  EXPECT_EQ(states.back()["state"], "damaged lines");
  EXPECT_EQ(states.back()["jobs"], 1) << states;
  const Said again = lab.work("store");
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_NE(again.err.find("work: did 2 jobs;"), std::string::npos) << again.err;
  EXPECT_EQ(lab.results("store"), lab.serial);
}

/// The same jobs for another version of the program, and of its sources.
TEST(Cluster, JobsOfOtherVersionsAreRefused) {
  const PlannedLab lab;
  const std::string text = read_file(lab.plan);
  for (const std::string version : {"\"versions\":{\"isamap\":\"", "\"sources\":\""}) {
    jobs::Plan other = *jobs::parse_plan(text, "plan");
    std::vector<jobs::Job> old = std::move(other.jobs);
    other.jobs.clear();
    other.places.clear();
    for (jobs::Job& job : old) {
      const std::size_t at = job.text.find(version);
      ASSERT_NE(at, std::string::npos) << version;
      other.add(job.text.insert(at + version.size(), "9."));
    }
    const Said refused = isamap({"work", lab.folder.write("old", jobs::print(other)), "--store", lab.store("none")});
    EXPECT_EQ(refused.code, 1) << refused.err;
    EXPECT_NE(refused.err.find("the plan is for the versions {\"isamap\":\""), std::string::npos) << refused.err;
    EXPECT_NE(refused.err.find("\":\"9."), std::string::npos) << refused.err;
    EXPECT_NE(refused.err.find("; this program is {\"isamap\":\""), std::string::npos) << refused.err;
    EXPECT_FALSE(fs::exists(lab.store("none"))) << "nothing is done";
  }
}

TEST(Cluster, TwoWritersInOneFolder) {
  const PlannedLab lab;
  ASSERT_EQ(lab.work("serial").code, 0);
  const std::string store = lab.store("both");
  const pid_t a = start({"work", lab.plan, "--store", store, "--jobs", "2"}, lab.folder / "a", lab.folder / "ae");
  const pid_t b = start({"work", lab.plan, "--store", store}, lab.folder / "b", lab.folder / "be");
  EXPECT_EQ(finish(a), 0) << read_file(lab.folder / "ae");
  EXPECT_EQ(finish(b), 0) << read_file(lab.folder / "be");
  EXPECT_EQ(lab.sorted("both"), lab.sorted("serial"));
  EXPECT_LE(lab.records("both"), lab.jobs + lab.jobs / 5) << "each sees what the other does";
}

TEST(Cluster, AFullDiskLosesNothingThatWasRecorded) {
  const PlannedLab lab;
  ASSERT_EQ(lab.work("serial").code, 0);
  const std::string store = lab.store("full");
  ASSERT_EQ(lab.work("full", {"--shard", "0/1000000"}).code, 0) << "its texts are there before the disk fills";
  const std::string command =
      "ulimit -f 12; " + std::string(ISAMAP_PROGRAM) + " work " + lab.plan + " --store " + store;  // 12 KiB a file
  EXPECT_EQ(shell(command + " 2> " + lab.folder / "said"), 1);
  const std::size_t kept = lab.records("full");
  EXPECT_GT(kept, 5u);
  EXPECT_LT(kept, lab.jobs);
  const Said resumed = lab.work("full");
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(resumed.err.find("no whole record"), std::string::npos) << "what did not fit was taken back";
  EXPECT_EQ(lab.sorted("full"), lab.sorted("serial"));
  EXPECT_EQ(lab.records("full"), lab.jobs);
}

TEST(Cluster, SweepsTakeAMachineOnceAndSayWhatIsLeftOut) {
  const Folder folder;
  const std::string kernel = folder.write("k.yaml", read_file(example("gemm_s8"))), plan = folder / "plan";
  const Said said = isamap({"plan", "sweep", kernel, "--target", "systolic16", "--set", "dim=8,16,8", "-o", plan});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(said.err, "plan: 1 machine listed again and left out\nplan: 2 jobs\n");
  const Said zero = isamap({"plan", "sweep", kernel, "--target", "systolic16", "--set", "dim=0,8", "-o", plan});
  EXPECT_EQ(zero.code, 0) << zero.err;
  EXPECT_NE(zero.err.find("systolic16.yaml:"), std::string::npos) << zero.err;
  EXPECT_NE(zero.err.find(": the machine with dim=0 is left out: "), std::string::npos) << zero.err;
  EXPECT_NE(zero.err.find("`isamap hw check systolic16 --set dim=0`"), std::string::npos) << zero.err;
  if (!onnx_supported()) return;
  using namespace onnx_bytes;
  const std::string no_kernels = folder.write(
      "relu.onnx", onnx_bytes::model(onnx_bytes::input("x", {4, 8}) + node("Relu", {"x"}, "y") + output("y", {4, 8})));
  const Said none = isamap({"plan", "sweep", no_kernels, "--target", "systolic16", "-o", folder / "none"});
  EXPECT_EQ(none.code, 1) << none.err;
  EXPECT_EQ(none.err.find(no_kernels + ": has no layer that is a kernel\n"), 0U) << none.err;
  EXPECT_NE(none.err.find("note: relu_0: "), std::string::npos) << none.err;
  EXPECT_FALSE(fs::exists(folder / "none"));
}

TEST(Cluster, FailingJobsAreListedAndGivenUp) {
  const Folder folder;
  const std::string plan = folder / "plan", store = folder / "store";
  ASSERT_EQ(isamap({"plan", "lab", "small", "--strategies", "random,external:command=/bin/false", "--seeds", "1",
                    "--budget", "evals=20", "-o", plan})
                .code,
            0);
  const Said worked = isamap({"work", plan, "--store", store});
  EXPECT_EQ(worked.code, 4) << worked.err;
  EXPECT_NE(worked.err.find("given up"), std::string::npos);
  EXPECT_NE(worked.err.find("attempt 3"), std::string::npos) << worked.err;
  const Said status = isamap({"status", plan, "--store", store});
  EXPECT_EQ(status.code, 4);
  EXPECT_NE(status.out.find("given up: gemm_2x2x2, external:command=/bin/false, seed 0: exit code"), std::string::npos)
      << status.out;
  EXPECT_NE(status.out.find("exit code 4: the external strategy '/bin/false' ended with code 1"), std::string::npos)
      << status.out;
  const Said results = isamap({"results", plan, "--store", store});
  EXPECT_EQ(results.code, 4) << "the others are there";
  EXPECT_NE(results.out.find("\"strategy\":\"random\""), std::string::npos);

  const Said less = isamap({"work", plan, "--store", store, "--attempts", "1"});
  EXPECT_NE(less.err.find("(attempt 3 of 3, on "), std::string::npos) << less.err;
  EXPECT_NE(less.err.find("given up after 3 attempts\n"), std::string::npos) << "as recorded: " << less.err;
  EXPECT_NE(less.err.find("`isamap work PLAN --store DIR --retry`"), std::string::npos) << less.err;
  const Said memory = isamap({"work", plan, "--store", store, "--job-memory", "1"});
  EXPECT_EQ(memory.code, 2);
  EXPECT_EQ(memory.err.find("--job-memory 1: a process has "), 0U) << memory.err;
  const Said huge = isamap({"work", plan, "--store", store, "--job-memory", "1e30"});
  EXPECT_EQ(huge.err, "--job-memory: '1e30' is no whole number from 1 to 1073741824\n");

  const std::string once = folder / "once";
  const Said tried = isamap({"work", plan, "--store", once, "--attempts", "1"});
  EXPECT_EQ(tried.code, 4);
  EXPECT_NE(tried.err.find("given up after 1 attempt\n"), std::string::npos) << tried.err;
  const Said after = isamap({"status", plan, "--store", once});
  EXPECT_EQ(after.code, 4);
  EXPECT_NE(after.out.find("(attempt 1 of 1, on "), std::string::npos) << after.out;
  EXPECT_NE(isamap({"results", plan, "--store", once}).err.find("(attempt 1 of 1, on "), std::string::npos);
}

TEST(Cluster, NamesThatAreNotUtf8AreRefusedInWords) {
  const Folder folder;
  const std::string plan = folder / "plan", kernels = folder / "kernels", store = folder / "s.db";
  const std::string text = read_file(example("gemm_s8")), kernel = folder.write("bad\xff.yaml", text);
  fs::create_directory(kernels);
  fs::copy_file(kernel, kernels + "/bad\xff.yaml");
  const std::string machine =
      folder.write("m\xff.yaml", read_file(ISAMAP_SOURCE_DIR "/hardware_models/systolic16.yaml"));
  const std::string model = "external:command=cat " + (folder / "c\xff.py");
  for (const auto& [words, name] :
       {std::pair(std::vector<std::string>{"plan", "sweep", kernel, "--target", "systolic16"}, "bad\\xff.yaml"),
        {{"plan", "sweep", kernels, "--target", "systolic16"}, "bad\\xff"},
        {{"plan", "sweep", example("gemm_s8"), "--target", machine}, "m\\xff.yaml"},
        {{"plan", "lab", "small", "--strategies", model}, "c\\xff.py"},
        {{"plan", "lab", "small", "--strategies", "random", "--cost", model}, "c\\xff.py"},
        {{"schedule", example("gemm"), "--target", "x86_avx2", "--store", store, "--cost", model}, "c\\xff.py"},
        {{"schedule", example("gemm"), "--target", "x86_avx2", "--store", store, "--strategy", model}, "c\\xff.py"}}) {
    const Said said = isamap(with(words, {"-o", plan}));
    EXPECT_EQ(said.code, 1) << words[0] << ": " << said.err;
    EXPECT_NE(said.err.find(std::string(name) + "' is no UTF-8 text"), std::string::npos) << said.err;
    EXPECT_FALSE(fs::exists(plan));
  }
  const Said run = isamap({"run", kernel, "--target", "systolic16"});
  EXPECT_EQ(run.code, 0) << "no name is kept: " << run.err;
}

TEST(Cluster, FoldersOfOtherFilesBecomeNoStores) {
  const Folder folder;
  const std::string plan = folder / "plan.jsonl", other = folder / "other";
  plan_trials(plan, "evals=20");
  fs::create_directories(other);
  folder.write("other/readme.txt", "mine");
  const Said work = isamap({"work", plan, "--store", other});
  EXPECT_EQ(work.code, 1) << work.err;
  EXPECT_NE(work.err.find("holds other files and no records"), std::string::npos) << work.err;
  const std::string store = folder / "store";
  ASSERT_EQ(isamap({"work", plan, "--store", store}).code, 0);
  EXPECT_EQ(isamap({"merge", store, "-o", other}).code, 1);
  EXPECT_FALSE(fs::exists(other + "/blobs"));
  fs::create_directories(folder / "empty/lost+found");  // a new disk
  EXPECT_EQ(isamap({"merge", store, "-o", folder / "empty"}).code, 0);
}

TEST(Cluster, RefusedFlagsAndFoldersLeaveNothing) {
  const Folder folder;
  const std::string plan = folder / "plan.jsonl", store = folder / "store", outer = folder / "outer";
  plan_trials(plan, "evals=5");
  for (const auto& [flag, value] :
       {std::pair("--shard", "0/0"), {"--jobs", "0"}, {"--attempts", "0"}, {"--job-seconds", "-1"}}) {
    EXPECT_EQ(isamap({"work", plan, "--store", store, flag, value}).code, 2) << flag;
    EXPECT_FALSE(fs::exists(store)) << flag;
  }
  ASSERT_EQ(isamap({"work", plan, "--store", outer + "/inner"}).code, 0);
  for (const std::vector<std::string>& words : {std::vector<std::string>{"store", "export", outer},
                                                {"store", "index", outer},
                                                {"status", plan, "--store", outer},
                                                {"results", plan, "--store", outer},
                                                {"merge", outer, "-o", store}}) {
    const Said said = isamap(words);
    EXPECT_EQ(said.code, 1) << words[0];
    EXPECT_NE(said.err.find("is no store: it has no records"), std::string::npos) << said.err;
    EXPECT_NE(said.err.find("did you mean '" + outer + "/inner'?"), std::string::npos) << said.err;
  }
  const Said beside = isamap({"status", plan, "--store", folder / "."});
  EXPECT_EQ(beside.code, 1) << beside.out << "a plan is no store";
  EXPECT_EQ(beside.err.find("is no whole record"), std::string::npos) << beside.err;
}

TEST(Cluster, PlansOfOtherVersionsAndCutOnesAreNamed) {
  const Folder folder;
  const std::string plan = folder / "plan", store = folder / "store";
  plan_trials(plan, "evals=5");
  ASSERT_EQ(isamap({"work", plan, "--store", store}).code, 0);
  EXPECT_EQ(isamap({"status", plan, "--store", store}).err, "");
  jobs::Plan other;
  const auto own = jobs::parse_plan(read_file(plan), plan);
  ASSERT_TRUE(own) << render(own.diagnostics());
  other.verb = own->verb, other.head = own->head, other.texts = own->texts;
  for (const jobs::Job& job : own->jobs) {
    auto json = nlohmann::json::parse(job.text);
    json["versions"]["sources"] = "0123456789abcdef";
    other.add(json.dump());
  }
  const std::string old = folder.write("old", jobs::print(other));
  const Said status = isamap({"status", old, "--store", store});
  EXPECT_EQ(status.code, 0);
  EXPECT_NE(status.err.find("old: warning: the plan is for the versions"), std::string::npos) << status.err;

  const std::string cut = folder.write("cut", read_file(plan).substr(0, 500));
  const Said worked = isamap({"work", cut, "--store", folder / "none"});
  EXPECT_EQ(worked.code, 1);
  EXPECT_NE(worked.err.find("ends within its first line: it was cut off"), std::string::npos) << worked.err;
}

/// `results` of a plan with missing jobs has gaps anywhere.
TEST(Cluster, TrialsWithGapsReplayAndAreResumed) {
  const Folder folder;
  const std::string three = folder / "three", four = folder / "four", store = folder / "store", file = folder / "t";
  for (const auto& [seeds, plan] : {std::pair("3", three), {"4", four}})
    ASSERT_EQ(
        isamap({"plan", "lab", "small", "--strategies", "random", "--seeds", seeds, "--budget", "evals=9", "-o", plan})
            .code,
        0);
  ASSERT_EQ(isamap({"work", three, "--store", store}).code, 0);
  EXPECT_EQ(isamap({"results", four, "--store", store, "-o", file}).code, 4);
  const std::string partial = read_file(file);
  const Said replayed = isamap({"replay", file});
  EXPECT_EQ(replayed.code, 0) << replayed.err;
  EXPECT_NE(replayed.err.find("15 trials of 20"), std::string::npos) << replayed.err;
  std::string changed = partial;
  changed.replace(changed.rfind("\"legal\":") + 8, 1, "7");
  const Said wrong = isamap({"replay", folder.write("w", changed)});
  EXPECT_EQ(wrong.code, 5) << wrong.err;

  const std::vector<std::string> run{"lab",     "run", "small",    "--strategies", "random",
                                     "--seeds", "4",   "--budget", "evals=9",      "-o"};
  const Said resumed = isamap(with(run, {file}));
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_NE(resumed.err.find("resumes with 15 trials"), std::string::npos) << resumed.err;
  ASSERT_EQ(isamap(with(run, {folder / "whole"})).code, 0);
  EXPECT_EQ(read_file(file), read_file(folder / "whole"));
}

/// What a program of the user said at its end, which is not our first line.
TEST(Cluster, ReasonsOfFailingProgramsAreShown) {
  const Folder folder;
  const std::string plan = folder / "plan", store = folder / "store";
  const std::string model = folder.write("model.sh",
                                         "read -r hello; read -r ask; echo 'Traceback (most recent call last):' >&2\n"
                                         "echo 'ValueError: negative tile' >&2; exit 1\n");
  ASSERT_EQ(isamap({"plan", "lab", "small", "--strategies", "random", "--seeds", "1", "--budget", "evals=20", "--cost",
                    "external:command=sh " + model, "-o", plan})
                .code,
            0);
  const Said worked = isamap({"work", plan, "--store", store, "--attempts", "1"});
  const Said status = isamap({"status", plan, "--store", store});
  for (const std::string& text : {worked.err, status.out}) {
    EXPECT_NE(text.find("ended with code 1 at question 1; it said: ValueError: negative tile (attempt"),
              std::string::npos)
        << text;
  }
}

/// The same exit code, and the words of the model, wherever it fails.
TEST(Cluster, FailingModelsAndStrategiesOfTheUserEndWithFour) {
  const Folder folder;
  const std::string kernel = example("gemm"), schedule = folder / "s.yaml", model = "external:command=/bin/false";
  ASSERT_EQ(isamap({"schedule", kernel, "--target", "x86_avx2", "--budget", "evals=5", "-o", schedule}).code, 0);
  for (const auto& [words, what] :
       {std::pair(std::vector<std::string>{"schedule", kernel, "--target", "x86_avx2", "--cost", model}, "cost model"),
        {{"evaluate", kernel, "--target", "x86_avx2", "--schedule", schedule, "--cost", model}, "cost model"},
        {{"lab", "run", "small", "--strategies", "random", "--seeds", "1", "--cost", model}, "cost model"},
        {{"lab", "run", "small", "--strategies", model, "--seeds", "1"}, "strategy"},
        {{"schedule", kernel, "--target", "x86_avx2", "--strategy", model}, "strategy"}}) {
    const Said said = isamap(words);
    EXPECT_EQ(said.code, 4) << words[0] << ": " << said.err;
    EXPECT_NE(said.err.find(std::string("the external ") + what + " '/bin/false' ended with code 1"), std::string::npos)
        << said.err;
  }
  EXPECT_EQ(isamap({"lab", "run", "small", "--strategies", "external:comand=/bin/false"}).code, 1);
}

TEST(Cluster, TuningMeasuresTheCandidatesOfAllSearches) {
  const Folder folder;
  const std::string plan = folder / "plan", one = folder / "one", two = folder / "two";
  ASSERT_EQ(isamap({"plan",         "tune",
                    "--compute",    "C[i,j] += s32(A[i,k]) * s32(B[k,j])",
                    "--dims",       "i=24,j=33,k=20",
                    "--dtypes",     "A=s8,B=s8,C=s32",
                    "--target",     "npu16",
                    "--strategies", "annealing,random",
                    "--seeds",      "2",
                    "--budget",     "evals=60",
                    "--measured",   "3",
                    "-o",           plan})
                .code,
            0);
  const Said serial = isamap({"work", plan, "--store", one});
  ASSERT_EQ(serial.code, 0) << serial.err;
  const Said first = isamap({"work", plan, "--store", two, "--shard", "1/2"});
  EXPECT_TRUE(first.code == 0 || first.code == 4) << first.err;
  const Said rest = isamap({"work", plan, "--store", two, "--shard", "0/2", "--steal"});
  EXPECT_EQ(rest.code, 0) << rest.err;
  EXPECT_EQ(isamap({"store", "export", one, "--sorted"}).out, isamap({"store", "export", two, "--sorted"}).out);
  const Said best = isamap({"results", plan, "--store", two});
  EXPECT_EQ(best.code, 0) << best.err;
  EXPECT_NE(best.out.find("do s0 with mma"), std::string::npos) << best.out;
  const std::string schedule = folder.write("best.yaml", best.out);
  const Said json = isamap({"results", plan, "--store", two, "--json"});
  EXPECT_EQ(parsed(json)["devices"][0]["device"], "simulator");
  const auto candidates = parsed(json)["devices"][0]["candidates"];
  std::size_t without = 0;
  for (const auto& candidate : candidates) {
    without += candidate.contains("variation") ? 0 : 1;
    EXPECT_LE(candidates[0]["cycles"].get<double>(), candidate["cycles"].get<double>());
  }
  EXPECT_EQ(without, 3u) << "--measured 3";
  EXPECT_GT(candidates.size(), without) << "and variants of the fastest";
}

/// A plan that tunes for a simulator with three candidates.
struct PlannedTuning {
  Folder folder;
  std::string plan = folder / "plan", store = folder / "store";
  PlannedTuning() {
    const Said planned = isamap({"plan", "tune", "--compute", "C[i,j] += s32(A[i,k]) * s32(B[k,j])", "--dims",
                                 "i=24,j=33,k=20", "--dtypes", "A=s8,B=s8,C=s32", "--target", "npu16", "--seeds", "1",
                                 "--budget", "evals=60", "--measured", "3", "-o", plan});
    EXPECT_EQ(planned.code, 0) << planned.err;
  }
  /// As if another process had measured this candidate.
  void record(const std::string& candidate, jobs::End end, int attempts) const {
    const auto parsed = jobs::parse_plan(read_file(plan), plan);
    ASSERT_TRUE(parsed);
    fs::create_directories(store);
    std::ofstream lines(store + "/other.1.jsonl");
    for (const jobs::Job& job : parsed->jobs)
      for (int a = 1; job.name.ends_with(candidate) && a <= attempts; ++a)
        lines << jobs::line_of(
            {job.key, job.text, end, a, 3, "null", {5, 0, false, "C[3,1]: 12 instead of 13"}, {}, 1});
  }
  Said work() const { return isamap({"work", plan, "--store", store}); }
  Said results() const { return isamap({"results", plan, "--store", store, "--json"}); }
};

TEST(Cluster, ATuningPlanIsForAKeyOfAMachine) {
  for (const char* const device : {"xyz", "0123456789abcdeg", "0123456789abcdef0"}) {
    const Said refused = isamap({"plan", "tune", "--compute", "C[i] += A[i,k] * B[k]", "--dims", "i=4,k=4", "--target",
                                 "x86_avx2", "--device", device});
    EXPECT_EQ(refused.code, 2) << device;
    EXPECT_NE(refused.err.find("16 hexadecimal digits"), std::string::npos) << refused.err;
  }
}

TEST(Cluster, TuningGoesOnWithoutACandidateThatFails) {
  for (const auto& [end, attempts, code] : {std::tuple(jobs::End::wrong, 1, 5), {jobs::End::failed, 3, 4}}) {
    const PlannedTuning tuning;
    tuning.record("candidate 0", end, attempts);
    const Said worked = tuning.work();
    EXPECT_EQ(worked.code, code) << worked.err;
    EXPECT_EQ(worked.err.find(" not done:"), std::string::npos) << worked.err;
    EXPECT_EQ(worked.err.find("a job that it needs"), std::string::npos) << "variants and compilers" << worked.err;
    const Said found = tuning.results();
    EXPECT_EQ(found.code, code) << found.err;
    EXPECT_NE(found.err.find("candidate 0: "), std::string::npos) << found.err;
    EXPECT_NE(found.err.find("12 instead of 13"), std::string::npos) << found.err;
    std::size_t candidates = 0, variants = 0;
    const auto list = parsed(found)["devices"][0]["candidates"];
    for (const auto& one : list) ++(one.contains("variation") ? variants : candidates);
    EXPECT_EQ(candidates, 2u) << found.out;
    EXPECT_GT(variants, 0u) << found.out;
  }
}

TEST(Cluster, PlansOfAnotherVersionAreSaidToBeSuch) {
  const PlannedTuning tuning;
  ASSERT_EQ(tuning.work().code, 0);
  const std::string text = read_file(tuning.plan);
  for (const std::string key : {"number", "varied", "compilers"}) {
    std::string other = text;
    const std::size_t head = other.find('\n'), at = other.find("\"" + key + "\":");
    ASSERT_LT(at, head);
    other.replace(at, key.size() + 2, "\"x\"");
    const Said said = isamap({"results", tuning.folder.write("other", other), "--store", tuning.store});
    EXPECT_EQ(said.code, 1) << said.err;
    EXPECT_NE(said.err.find("the plan lacks '" + key + "': another version of isamap wrote it"), std::string::npos)
        << said.err;
    EXPECT_NE(said.err.find("plan again"), std::string::npos) << said.err;
  }
}

/// The plan measures what `tune` does: candidates, then variants of the fastest, then each compiler.
TEST(Cluster, HeavyTuningOnThisMachineMeasuresVariantsAndCompilers) {
  const Folder folder;
  const std::string plan = folder / "plan", store = folder / "store";
  const std::vector<std::string> words{"--compute",  "C[i,j] += A[i,k] * B[k,j]",
                                       "--dims",     "i=24,j=37,k=200",
                                       "--target",   "x86_avx512",
                                       "--budget",   "evals=200",
                                       "--measured", "2"};
  const auto with = [&](std::vector<std::string> begun, const std::vector<std::string>& more) {
    begun.insert(begun.end(), words.begin(), words.end());
    begun.insert(begun.end(), more.begin(), more.end());
    return isamap(begun);
  };
  const Said tuned = with({"tune"}, {"--json"});
  if (tuned.code == 77) GTEST_SKIP() << tuned.err;
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  ASSERT_EQ(with({"plan", "tune"}, {"--seeds", "1", "-o", plan}).code, 0);
  ASSERT_EQ(isamap({"work", plan, "--store", store}).code, 0);
  const Said found = isamap({"results", plan, "--store", store, "--json"});
  ASSERT_EQ(found.code, 0) << found.err;
  const auto device = parsed(found)["devices"][0], alone = parsed(tuned);
  std::set<std::string> variations, of_tune;
  for (const auto& one : device["candidates"]) variations.insert(one.value("variation", ""));
  for (const auto& one : alone["candidates"]) of_tune.insert(one.value("variation", ""));
  EXPECT_EQ(variations.size(), of_tune.size()) << found.out << tuned.out;
  EXPECT_TRUE(variations.contains("tail of j masked") == of_tune.contains("tail of j masked")) << found.out;
  ASSERT_TRUE(device.contains("compilers")) << found.out;
  EXPECT_EQ(device["compilers"].size(), alone["compilers"].size());
  EXPECT_EQ(device["compilers"][0]["command"], alone["compilers"][0]["command"]);
  const Said text = isamap({"results", plan, "--store", store});
  EXPECT_NE(text.out.find(", the fastest\n"), std::string::npos) << text.out;
}

/// A statement whose sum is computed in lanes is several nests of the schedule.
TEST(Cluster, HeavyPlansMeasureStatementsBesideSumsInLanes) {
  const Folder folder;
  const std::string plan = folder / "plan", store = folder / "store";
  const std::string kernel = folder.write("k.yaml",
                                          "kernel: centred\ndims: {M: 4, N: 67}\ntensors:\n"
                                          "  X: {shape: [M, N]}\n  H: {shape: [M]}\n  E: {shape: [M, N]}\ncompute:\n"
                                          "  - H[i] += X[i,j]\n  - E[i,j] = X[i,j] - H[i]\n");
  ASSERT_EQ(isamap({"plan", "tune", kernel, "--target", "x86_avx2", "--measured", "1", "--budget", "evals=20",
                    "--seeds", "1", "-o", plan})
                .code,
            0);
  if (const Said work = isamap({"work", plan, "--store", store}); work.code == 77) GTEST_SKIP() << work.err;
  const Said found = isamap({"results", plan, "--store", store, "--json"});
  ASSERT_EQ(found.code, 0) << found.err;
  const auto candidates = parsed(found)["devices"][0]["candidates"];
  ASSERT_FALSE(candidates.empty()) << found.out;
  for (const auto& candidate : candidates) EXPECT_EQ(candidate["statement"], 1) << found.out;
}

TEST(Cluster, ASweepSaysWhichKernelsAreScalarCode) {
  const Folder folder;
  const std::string plan = folder / "plan", store = folder / "store";
  const Said planned = isamap({"plan", "sweep", example("gemm"), "--target", "systolic16", "--set", "dim=8", "--budget",
                               "evals=10", "-o", plan});  // f32, which the machine does not multiply
  ASSERT_EQ(planned.code, 0) << planned.err;
  ASSERT_EQ(isamap({"work", plan, "--store", store}).code, 0);
  const Said table = isamap({"results", plan, "--store", store});
  EXPECT_NE(table.out.find("                  -  1 of 1  *\n"), std::string::npos) << table.out;
}

/// Each point is what `schedule` proves: the exact search, for the objective that is asked for.
TEST(Cluster, ASweepTakesTheExactSearchWhereItApplies) {
  const Folder folder;
  const std::string file = folder.write("g.yaml",
                                        "kernel: g\ndims: {m: 12, n: 10, k: 14}\ntensors:\n"
                                        "  A: {dtype: s16, shape: [12, 14]}\n  B: {dtype: s16, shape: [14, 10]}\n"
                                        "  Z: {dtype: s16, shape: [12, 10]}\n"
                                        "compute: \"Z[m,n] += A[m,k] * B[k,n]\"\n");
  for (const std::string objective : {"edp", "energy", "cycles"}) {
    const std::string plan = folder / objective, store = folder / (objective + ".store");
    const Said planned =
        isamap({"plan", "sweep", file, "--target", "a1", "--objective", objective, "--budget", "evals=2", "-o", plan});
    ASSERT_EQ(planned.code, 0) << planned.err;
    ASSERT_EQ(isamap({"work", plan, "--store", store}).code, 0);
    const auto proved =
        parsed(isamap({"schedule", file, "--target", "a1", "--objective", objective, "--certify", "--json"}));
    const auto record = nlohmann::json::parse(isamap({"store", "export", store}).out)["result"];
    for (const char* number : {"cycles", "energy_pJ"}) EXPECT_EQ(record[number], proved[number]) << objective;
  }
}

TEST(Cluster, ASweepOfMachinesHasATableAndAPareto) {
  const Folder folder;
  const std::string plan = folder / "plan", store = folder / "store", picture = folder / "front.svg";
  const Said planned = isamap({"plan", "sweep", example("gemm_s8"), "--target", "systolic16", "--set", "dim=4,8,16",
                               "--budget", "evals=30", "-o", plan});
  ASSERT_EQ(planned.code, 0) << planned.err;
  EXPECT_NE(planned.err.find("3 jobs"), std::string::npos);
  ASSERT_EQ(isamap({"work", plan, "--store", store}).code, 0);
  const Said table = isamap({"results", plan, "--store", store, "--axes", "cycles,dim*dim", "--report", picture});
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_NE(table.out.find("3 of 3 machines are on the front of cycles and dim*dim"), std::string::npos) << table.out;
  EXPECT_TRUE(read_file(picture).starts_with("<svg"));
  EXPECT_NE(read_file(picture).find("Pareto front"), std::string::npos);
  const Said one = isamap({"results", plan, "--store", store, "--axes", "cycles,bytes"});
  EXPECT_NE(one.out.find("machines are on the front of cycles and bytes"), std::string::npos);
  EXPECT_EQ(isamap({"results", plan, "--store", store, "--axes", "cycles,weight"}).code, 2);
  EXPECT_EQ(isamap({"plan", "sweep", example("gemm_s8"), "--target", "systolic16", "--set", "nothing=1"}).code, 1);
  EXPECT_NE(table.out.find("          -  "), std::string::npos) << "energies are not stated: " << table.out;
  EXPECT_NE(table.out.find("least utilisation  scalar  front\n"), std::string::npos) << table.out;
  EXPECT_EQ(table.out.find("1 of 1"), std::string::npos) << "no kernel is scalar code: " << table.out;
  const Said energies = isamap({"results", plan, "--store", store, "--axes", "cycles,energy"});
  EXPECT_EQ(energies.code, 2);
  EXPECT_EQ(energies.err.find("--axes 'cycles,energy': the results have no energies\n"), 0U) << energies.err;
  const std::string open = folder.write("open.yaml",
                                        "kernel: open\ndims: {N: {min: 1, max: 64}}\n"
                                        "tensors: {A: {shape: [N], dtype: f32}, B: {shape: [N], dtype: f32}}\n"
                                        "compute: [\"B[i] = A[i]\"]\n");
  const Said refused = isamap({"plan", "sweep", open, "--target", "systolic16"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find("hint: write a number for it in the file: "), std::string::npos) << refused.err;
}

TEST(Cluster, ReportsTakePartsOfARun) {
  const Folder folder;
  const std::string a = folder / "a", b = folder / "b", both = folder / "both", other = folder / "other";
  const std::vector<std::string> run{"lab", "run", "small", "--strategies", "random", "--budget", "evals=30"};
  ASSERT_EQ(isamap(with(run, {"--seeds", "1", "--seed", "0", "-o", a})).code, 0);
  ASSERT_EQ(isamap(with(run, {"--seeds", "1", "--seed", "1", "-o", b})).code, 0);
  ASSERT_EQ(isamap(with(run, {"--seeds", "2", "-o", both})).code, 0);
  const std::string damaged = folder.write("damaged", [&] {
    std::string text = read_file(a);
    return text.insert(text.find('\n') + 1, "no trial\n");
  }());
  const Said left_out = isamap({"lab", "report", damaged});
  EXPECT_EQ(left_out.code, 0) << left_out.err;
  EXPECT_EQ(left_out.err.find(damaged + ":2: warning: is no line of a trial: left out\n"), 0U) << left_out.err;
  EXPECT_EQ(left_out.out, isamap({"lab", "report", a}).out);
  EXPECT_EQ(isamap({"replay", damaged}).code, 1);
  for (const char* verb : {"report", "csv"}) {
    const Said parts = isamap({"lab", verb, b, a});
    EXPECT_EQ(parts.code, 0) << parts.err;
    EXPECT_EQ(parts.out, isamap({"lab", verb, both}).out) << verb;
  }
  const auto row = parsed(isamap({"lab", "report", both, "--json"}))["strategies"][0];
  EXPECT_EQ(row["strategy"], "random");
  EXPECT_EQ(row["no legal"], 0);
  EXPECT_LE(row["30 evals"]["low"], row["30 evals"]["value"]);
  EXPECT_TRUE(row["at optimum"].is_number()) << row;
  ASSERT_EQ(
      isamap({"lab", "run", "small", "--strategies", "random", "--budget", "evals=31", "--seeds", "1", "-o", other})
          .code,
      0);
  const Said refused = isamap({"lab", "report", a, other});
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find("its budget is 31 evaluations"), std::string::npos) << refused.err;
  const std::string noisy = folder.write("noisy", [&] {
    std::string text = read_file(b);
    return text.replace(text.find("\"kernel_hash\":\"") + 15, 1, "~");
  }());
  const Said another = isamap({"lab", "report", a, noisy});
  EXPECT_EQ(another.code, 1);
  EXPECT_NE(another.err.find("another one than in the other files: its kernel is another\n"), std::string::npos)
      << another.err;
}

TEST(Cluster, AnEmptyVariableChoosesNoCompiler) {
  const PlannedLab lab;
  ASSERT_EQ(lab.work("store").code, 0);
  const auto device = [&] {
    const std::string said = isamap({"status", lab.plan, "--store", lab.store("store")}).out;
    const std::size_t at = said.find("this machine is device ");
    return at == std::string::npos ? said : said.substr(at);
  };
  std::set<std::string> devices;
  const WithCompiler none("");
  devices.insert(device());
  ::unsetenv("CXX");
  devices.insert(device());
  EXPECT_EQ(devices.size(), 1U);
}

TEST(Cluster, WrongUseIsSaid) {
  const Folder folder;
  const std::string text = folder.write("text", "no plan\n");
  EXPECT_EQ(isamap({"work", text, "--store", folder / "st"}).code, 1);
  EXPECT_EQ(isamap({"work", folder / "none", "--store", folder / "st"}).code, 1);
  EXPECT_EQ(isamap({"status", text, "--store", folder / "st"}).code, 1);
  const std::string plan = folder / "plan";
  ASSERT_EQ(isamap({"plan", "lab", "small", "--strategies", "random", "--seeds", "1", "-o", plan}).code, 0);
  EXPECT_EQ(isamap({"work", plan, "--store", folder / "st", "--shard", "4/4"}).code, 2);
  EXPECT_EQ(isamap({"work", plan, "--store", text}).code, 1) << "a file is no store";
  fs::create_directories(folder / "st");
  const Said axes = isamap({"results", plan, "--store", folder / "st", "--axes", "cycles,bytes"});
  EXPECT_EQ(axes.code, 2);
  EXPECT_NE(axes.err.find("--axes is for plans of a sweep, and this is one of lab"), std::string::npos) << axes.err;
  EXPECT_EQ(isamap({"status", plan, "--store", folder / "none"}).code, 1);
  EXPECT_EQ(isamap({"merge", folder / "none", "-o", folder / "m"}).code, 1);
  fs::create_directories(folder / "empty");
  const Said empty = isamap({"merge", folder / "empty", "-o", folder / "m"});
  EXPECT_EQ(empty.code, 1);
  EXPECT_NE(empty.err.find("is no store: it has no records"), std::string::npos) << empty.err;
  fs::create_directories(folder / "st/blobs");
  const Said records = isamap({"lab", "report", folder / "st"});
  EXPECT_EQ(records.code, 1);
  EXPECT_NE(records.err.find("is a store of records, no file of trials"), std::string::npos) << records.err;
  const Said no_plan = isamap({"work", folder / "empty/none", "--store", folder / "st"});
  EXPECT_NE(no_plan.err.find("isamap plan lab|tune|sweep"), std::string::npos) << no_plan.err;
  EXPECT_EQ(isamap({"plan", "lab", "small", "--budget", "seconds=1"}).code, 2) << "not reproducible";
  const Said folder_as_store =
      isamap({"tune", "--compute", "C[i] = A[i]", "--dims", "i=8", "--target", "npu16", "--store", folder / "."});
  EXPECT_EQ(folder_as_store.code, 1);
  EXPECT_NE(folder_as_store.err.find("this store is one SQLite file"), std::string::npos) << folder_as_store.err;
}

}  // namespace
}  // namespace isamap::cli_test
