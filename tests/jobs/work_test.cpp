// SPDX-License-Identifier: Apache-2.0
// Jobs, records, stores and the loop that does jobs, with jobs that are functions of this file.

#include "jobs/work.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>

#include "jobs/device.h"
#include "jobs/export.h"
#include "support/file_system.h"
#include "tests/scratch.h"

namespace isamap::jobs {
namespace {

std::string fresh(const std::string& name) {
  const std::string path = scratch(name);
  std::filesystem::remove_all(path);
  return path;
}

/// Jobs a0, a1, ... of one verb, each with the needs of the one before if `chained`.
Plan plan_of(std::size_t count, bool chained = false) {
  Plan plan;
  plan.verb = "test";
  plan.head = "{}";
  std::string before;
  for (std::size_t j = 0; j < count; ++j) {
    std::string json = "{\"verb\":\"test\",\"name\":\"a" + std::to_string(j) + "\"";
    if (chained && j > 0) json += ",\"needs\":[\"" + before + "\"]";
    before = plan.add(json + "}");
  }
  return plan;
}

JobRunner echo() {
  return {[](const Job& job) { return Outcome{0, "\"" + job.name + "\"", ""}; }};
}

WorkEnd run(const Plan& plan, const std::string& path, const JobRunner& runner, WorkOptions options = {}) {
  auto store = JobStore::open(path, true);
  return work(plan, *store, options, runner, [](const Progress&) {});
}

std::string sorted(const std::string& path) {
  auto store = JobStore::open(path, false);
  EXPECT_TRUE(store);
  EXPECT_FALSE(has_errors(store->refresh()));
  return *sorted_lines(*store);
}

TEST(Job, KeyIsTheHashOfTheCanonicalText) {
  const auto a = job_of(R"({"verb": "lab", "name": "x", "seed": 1})");
  const auto b = job_of(R"({"seed":1,"name":"x","verb":"lab"})");
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->text, R"({"name":"x","seed":1,"verb":"lab"})");
  EXPECT_EQ(a->key, b->key) << "layout and order of members decide nothing";
  EXPECT_NE(a->key, job_of(R"({"seed":2,"name":"x","verb":"lab"})")->key);
  EXPECT_EQ(content_key(""), "6c62272e07bb014262b821756295c58d") << "FNV-1a, 128 bits";
  EXPECT_EQ(content_key("hello"), "e3e1efd54283d94f7081314b599d31b3");
  EXPECT_FALSE(job_of("{}"));
}

TEST(Job, PlansParseBackAndChangesAreSeen) {
  Plan plan = plan_of(3, true);
  plan.add_text("some kernel");
  const std::string text = print(plan);
  const auto again = parse_plan(text, "plan");
  ASSERT_TRUE(again);
  EXPECT_EQ(print(*again), text);
  EXPECT_EQ(again->jobs[2].needs, std::vector<std::string>{again->jobs[1].key});
  std::string changed = text;
  changed.replace(changed.find("\"a1\""), 4, "\"b1\"");
  const auto wrong = parse_plan(changed, "plan");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.diagnostics().front().where.line, 4);
  const std::string last = text.substr(text.rfind('{', text.rfind("\"key\"")));
  const auto twice = parse_plan(text + last, "plan");
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.diagnostics().front().where.line, 6);
  EXPECT_EQ(twice.diagnostics().front().message, "the job 'a2' is in line 5 already");
  const auto cut = parse_plan(text.substr(0, text.rfind('{', text.size() - 120)), "plan");
  EXPECT_FALSE(cut);
  EXPECT_FALSE(parse_plan("{\"kind\":\"lab\"}\n", "plan"));
}

TEST(Job, ShardsPartTheJobs) {
  const Plan plan = plan_of(400);
  std::vector<int> count(4);
  for (const Job& job : plan.jobs) {
    int of = 0;
    for (std::uint64_t i = 0; i < 4; ++i)
      if (Shard{i, 4}.holds(job.key)) ++of, ++count[i];
    EXPECT_EQ(of, 1);
  }
  for (const int one : count) EXPECT_NEAR(one, 100, 35) << "evenly";
  for (const char* wrong : {"", "4", "4/4", "-1/4", "1/0", "1/x", "a/2"}) EXPECT_FALSE(parse_shard(wrong)) << wrong;
}

TEST(Record, LinesParseBackAndHeadsNeedNoParser) {
  Record record{content_key("x"),
                R"({"name":"x","verb":"v"})",
                End::failed,
                3,
                7,
                "null",
                {4, 9, true, "two\nlines \"quoted\""},
                {"host", "0.1", "dev"},
                1.5};
  const std::string line = line_of(record);
  ASSERT_EQ(line.find('\n'), line.size() - 1);
  const auto again = parse_record(line.substr(0, line.size() - 1));
  ASSERT_TRUE(again);
  EXPECT_EQ(line_of(*again), line);
  EXPECT_EQ(again->failure.text, record.failure.text);
  const auto head = head_of(line.substr(0, line.size() - 1));
  ASSERT_TRUE(head);
  EXPECT_EQ(head->key, record.key);
  EXPECT_EQ(head->attempt, 3);
  EXPECT_EQ(head->attempts, 7);
  EXPECT_EQ(head->end, End::failed);
  for (std::size_t cut = 0; cut + 1 < line.size(); ++cut)
    EXPECT_FALSE(parse_record(line.substr(0, cut))) << "cut after " << cut;
}

TEST(Work, DoesEveryJobOnceAndNothingTheSecondTime) {
  const Plan plan = plan_of(20);
  const std::string path = fresh("once");
  WorkOptions options;
  options.children = 3;
  EXPECT_EQ(run(plan, path, echo(), options).done, 20u);
  EXPECT_EQ(run(plan, path, echo(), options).done, 0u);
  EXPECT_EQ(std::ranges::count(sorted(path), '\n'), 20);
  EXPECT_NE(sorted(path).find("\"result\":\"a7\""), std::string::npos);
}

TEST(Work, NeedsComeFirstAndShardsStealWhatNobodyDoes) {
  const Plan plan = plan_of(12, true);
  const std::string path = fresh("needs");
  WorkOptions options;
  options.shard = {0, 3};
  const WorkEnd first = run(plan, path, echo(), options);
  EXPECT_LT(first.done, 12u);
  EXPECT_FALSE(first.not_done.empty() && first.done == 0) << "others have the jobs that ours need";
  options.steal = true;
  options.children = 2;
  const WorkEnd rest = run(plan, path, echo(), options);
  EXPECT_EQ(first.done + rest.done, 12u);
  EXPECT_TRUE(rest.not_done.empty());
}

TEST(Work, ThievesBeginWhereTheOwnersEnd) {
  const Plan plan = plan_of(60);
  auto store = JobStore::open(fresh("steal"), true);
  ASSERT_TRUE(store);
  WorkOptions options;
  options.shard = {1, 3};
  options.steal = true;
  JobQueue queue(plan, *store, options);
  ASSERT_FALSE(has_errors(queue.refresh()));
  std::vector<std::size_t> expected, found;
  for (const std::uint64_t shard : {1, 2, 0}) {
    std::vector<std::size_t> jobs;
    for (std::size_t j = 0; j < plan.jobs.size(); ++j)
      if (Shard{shard, 3}.holds(plan.jobs[j].key)) jobs.push_back(j);
    if (shard != 1) std::ranges::reverse(jobs);
    expected.insert(expected.end(), jobs.begin(), jobs.end());
  }
  while (const auto job = queue.next()) found.push_back(*job);
  EXPECT_EQ(found, expected);
}

TEST(Work, FailuresAreRecordsAndGivenUpAfterThreeAttempts) {
  const Plan plan = plan_of(3);
  const std::string path = fresh("failing");
  const JobRunner runner{[](const Job& job) {
    if (job.name == "a1") ::raise(SIGSEGV);
    return Outcome{0, "1", ""};
  }};
  const WorkEnd end = run(plan, path, runner);
  EXPECT_EQ(end.given_up, std::vector<std::size_t>{1});
  EXPECT_EQ(end.done, 5u) << "two jobs, and three attempts at the other one";
  auto store = JobStore::open(path, false);
  ASSERT_FALSE(has_errors(store->refresh()));
  const Known* known = store->find(plan.jobs[1].key);
  ASSERT_EQ(known->failed.size(), 3u);
  EXPECT_EQ(store->read(known->failed[2])->attempt, 3);
  EXPECT_NE(text_of(store->read(known->failed[2])->failure).find("signal 11"), std::string::npos);
  EXPECT_EQ(run(plan, path, runner).done, 0u) << "it stays given up";
  WorkOptions again;
  again.retry = true;
  EXPECT_EQ(run(plan, path, echo(), again).done, 1u);
  EXPECT_TRUE(run(plan, path, echo()).given_up.empty());
}

/// A failed attempt at the first job, as another process recorded it.
void record_failure(const Plan& plan, const std::string& file, int attempt, int attempts) {
  Record record{plan.jobs[0].key, plan.jobs[0].text, End::failed, attempt, attempts, "null", {}, {"other", "", ""}, 1};
  record.failure.text = "failure " + std::to_string(attempt);
  std::ofstream(file) << line_of(record);
}

TEST(Work, ReadersGiveUpWhereTheWorkerDid) {
  const Plan plan = plan_of(2);
  const std::string path = fresh("given_up");
  const JobRunner runner{[](const Job& job) { return Outcome{job.name == "a1" ? 1 : 0, "1", "no"}; }};
  const auto progress = [&] {
    auto store = JobStore::open(path, false);
    EXPECT_FALSE(has_errors(store->refresh()));
    JobQueue queue(plan, *store, as_recorded());
    if (!queue.given_up().empty()) {
      EXPECT_NE(queue.why(1).find("(attempt 1 of 1, on "), std::string::npos) << queue.why(1);
    }
    return queue.progress();
  };
  WorkOptions options;
  options.attempts = 1;
  EXPECT_EQ(run(plan, path, runner, options).done, 2u);
  EXPECT_EQ(progress().given_up, 1u) << "one attempt was asked for";
  EXPECT_EQ(progress().failed, 0u);
  options.attempts = 4;
  EXPECT_EQ(run(plan, path, runner, options).done, 3u) << "attempts 2 to 4";
  options.attempts = 1;
  options.retry = true;
  EXPECT_EQ(run(plan, path, runner, options).done, 1u) << "and a fifth";
  auto store = JobStore::open(path, false);
  ASSERT_FALSE(has_errors(store->refresh()));
  const Known* known = store->find(plan.jobs[1].key);
  EXPECT_EQ(known->attempts, 5);
  EXPECT_EQ(known->allowed, 5);
}

TEST(Work, TheLastAttemptIsShownWhateverFileHasIt) {
  const Plan plan = plan_of(1);
  const std::string path = fresh("last_attempt");
  std::filesystem::create_directories(path);
  record_failure(plan, path + "/a.1.jsonl", 2, 2);
  record_failure(plan, path + "/b.1.jsonl", 1, 2);
  auto store = JobStore::open(path, false);
  ASSERT_FALSE(has_errors(store->refresh()));
  const JobQueue queue(plan, *store, as_recorded());
  EXPECT_EQ(queue.given_up().size(), 1u);
  EXPECT_NE(queue.why(0).find("failure 2 (attempt 2 of 2, on other)"), std::string::npos) << queue.why(0);
}

TEST(Work, RecordsThatSayNoNumberOfAttemptsHadThree) {
  const Plan plan = plan_of(1);
  const std::string path = fresh("no_number");
  std::filesystem::create_directories(path);
  for (int attempt = 1; attempt <= 3; ++attempt) {
    record_failure(plan, path + "/a." + std::to_string(attempt) + ".jsonl", attempt, 0);
    auto store = JobStore::open(path, false);
    ASSERT_FALSE(has_errors(store->refresh()));
    EXPECT_EQ(JobQueue(plan, *store, as_recorded()).given_up().size(), attempt == 3 ? 1u : 0u);
  }
}

TEST(Work, WrongResultsAreNeverTriedAgain) {
  const Plan plan = plan_of(2);
  const std::string path = fresh("wrong");
  const JobRunner runner{[](const Job& job) { return Outcome{job.name == "a0" ? 5 : 0, "1", "C[0] is 3"}; }};
  const WorkEnd end = run(plan, path, runner);
  EXPECT_EQ(end.wrong, std::vector<std::size_t>{0});
  EXPECT_EQ(end.done, 2u);
  EXPECT_EQ(run(plan, path, echo()).done, 0u);
}

TEST(Work, WhatNeedsAGivenUpJobIsGivenUpToo) {
  const Plan plan = plan_of(3, true);
  const JobRunner runner{[](const Job& job) { return Outcome{job.name == "a1" ? 1 : 0, "1", "no"}; }};
  EXPECT_EQ(run(plan, fresh("blocked"), runner).given_up, (std::vector<std::size_t>{1, 2}));
}

/// a0 to a2, and "last" after them.
Plan plan_of_three_and_last() {
  Plan plan = plan_of(3);
  std::string after;
  for (const Job& job : plan.jobs) after += (after.empty() ? "\"" : ",\"") + job.key + "\"";
  plan.add("{\"verb\":\"test\",\"name\":\"last\",\"after\":[" + after + "]}");
  return plan;
}

TEST(Work, WhatComesAfterFailuresIsDoneOnceAllHaveEnded) {
  const Plan plan = plan_of_three_and_last();
  const auto again = parse_plan(print(plan), "plan");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->jobs[3].after.size(), 3u);
  const std::string path = fresh("after");
  const JobRunner runner{[](const Job& job) {
    return Outcome{job.name == "a0" ? 5 : job.name == "a1" ? 1 : 0, "1", "no"};
  }};
  const WorkEnd end = run(plan, path, runner);
  EXPECT_EQ(end.wrong, std::vector<std::size_t>{0});
  EXPECT_EQ(end.given_up, std::vector<std::size_t>{1});
  EXPECT_TRUE(end.not_done.empty());
  EXPECT_EQ(end.done, 6u) << "once, three attempts, once, and the last";
  auto store = JobStore::open(path, false);
  ASSERT_FALSE(has_errors(store->refresh()));
  EXPECT_EQ(store->find(plan.jobs[3].key)->ok.size(), 1u);
}

TEST(Work, WhatComesAfterFailuresAloneIsGivenUp) {
  const Plan plan = plan_of_three_and_last();
  const JobRunner runner{[](const Job& job) { return Outcome{job.name == "last" ? 0 : 5, "1", "no"}; }};
  const WorkEnd end = run(plan, fresh("after_none"), runner);
  EXPECT_EQ(end.wrong, (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(end.given_up, std::vector<std::size_t>{3}) << "nothing to read";
}

/// A worker that does one job after another: at each moment one is marked, and those before it are recorded.
class OneAfterAnother {
 public:
  OneAfterAnother(const Plan& plan, const std::string& path)
      : plan_(plan), store_(std::move(*JobStore::open(path, true))), thread_([this] { run(); }) {}
  ~OneAfterAnother() { thread_.join(); }
  std::size_t at() const { return at_; }  ///< this one is marked or recorded

 private:
  void run() {
    for (std::size_t j = 0; j < plan_.jobs.size(); ++j) {
      store_.mark({{plan_.jobs[j].key, 1, true}});
      at_ = j;
      store_.mark({{plan_.jobs[j].key, 2, false}});
      store_.append({plan_.jobs[j].key, plan_.jobs[j].text, End::ok, 1, 3, "1", {}, {"here", "", ""}, 1});
      store_.mark({{plan_.jobs[j].key, 2, false}, {plan_.jobs[std::min(j + 1, plan_.jobs.size() - 1)].key, 1, true}});
    }
  }
  const Plan& plan_;
  JobStore store_;
  std::atomic<std::size_t> at_ = 0;
  std::thread thread_;
};

TEST(Work, NoJobOfOthersIsEverReady) {
  const Plan plan = plan_of(150);
  const std::string path = fresh("never_ready");
  auto store = JobStore::open(path, true);
  ASSERT_TRUE(store);
  {
    auto first = JobStore::open(path, true);
    first->mark({{plan.jobs[0].key, 1, true}});
    const OneAfterAnother other(plan, path);
    JobQueue queue(plan, *store, {});
    int ready = 0;
    while (other.at() + 1 < plan.jobs.size()) {
      const std::size_t at = other.at();
      ASSERT_FALSE(has_errors(queue.refresh()));
      while (const auto job = queue.next()) {
        ready += *job <= at ? 1 : 0;
        queue.give_back(*job);
      }
    }
    EXPECT_EQ(ready, 0);
  }
}

TEST(Work, WhatComesAfterOthersWaitsForTheirLastAttempt) {
  const Plan plan = plan_of_three_and_last();
  auto store = JobStore::open(fresh("after_waits"), true);
  ASSERT_TRUE(store);
  JobQueue queue(plan, *store, {});
  ASSERT_FALSE(has_errors(queue.refresh()));
  for (const End end : {End::ok, End::wrong, End::failed}) queue.note(*queue.next(), end, 1);
  queue.refresh();
  EXPECT_EQ(queue.next(), std::optional<std::size_t>(2)) << "its second attempt";
  queue.note(2, End::failed, 2);
  queue.refresh();
  EXPECT_EQ(queue.next(), std::optional<std::size_t>(2));
  queue.note(2, End::failed, 3);
  queue.refresh();
  EXPECT_EQ(queue.next(), std::optional<std::size_t>(3));
}

TEST(Work, LimitsOfTimeAndMemoryEndTheJobOnly) {
  const Plan plan = plan_of(2);
  const std::string path = fresh("limits");
  const JobRunner runner{[](const Job& job) {
    if (job.name == "a0") std::this_thread::sleep_for(std::chrono::seconds(60));
    std::string large;
    for (std::size_t size = 1 << 20; size < (std::size_t{1} << 40); size *= 2) large.resize(size);
    return Outcome{0, "1", ""};
  }};
  WorkOptions options;
  options.attempts = 1;
  options.limits.seconds = 0.3;
#ifndef ISAMAP_SANITIZED
  options.limits.memory_bytes = std::int64_t{1} << 30;
#endif
  options.children = 2;
  const WorkEnd end = run(plan, path, runner, options);
  EXPECT_EQ(end.given_up.size(), 2u);
  auto store = JobStore::open(path, false);
  ASSERT_FALSE(has_errors(store->refresh()));
  EXPECT_TRUE(store->read(store->find(plan.jobs[0].key)->failed[0])->failure.late);
}

TEST(Work, JobsOfAnotherDeviceAreLeft) {
  Plan plan = plan_of(1);
  plan.add(R"({"verb":"test","name":"b","device":"0123456789abcdef"})");
  WorkOptions options;
  options.by.device = "fedcba9876543210";
  const std::string path = fresh("device");
  const WorkEnd end = run(plan, path, echo(), options);
  EXPECT_EQ(end.done, 1u);
  EXPECT_EQ(end.not_done, std::vector<std::size_t>{1});
  options.by.device = "0123456789abcdef";
  EXPECT_EQ(run(plan, path, echo(), options).done, 1u);
}

TEST(Store, CutLinesAreLeftOutAndGarbageIsTold) {
  const Plan plan = plan_of(4);
  const std::string path = fresh("cut");
  run(plan, path, echo());
  const std::string whole = sorted(path);
  std::string file;
  for (const auto& entry : std::filesystem::directory_iterator(path))
    if (entry.path().extension() == ".jsonl") file = entry.path().string();
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 10);
  EXPECT_EQ(std::ranges::count(sorted(path), '\n'), 3);
  EXPECT_EQ(run(plan, path, echo()).done, 1u);
  EXPECT_EQ(sorted(path), whole);
  std::ofstream(file, std::ios::app) << "\n{\"schema_version\":1,\"key\":\"12\n";
  auto store = JobStore::open(path, false);
  const Diagnostics warned = store->refresh();
  ASSERT_EQ(warned.size(), 2u) << "the rest of the line that was cut, and the other one";
  EXPECT_EQ(warned[0].severity, Severity::warning);
  EXPECT_EQ(warned[1].where.line, 5);
}

/// A job or a result that somebody edited, with the hash of the line as it was written, and in a line of an older
/// program, which has none.
TEST(Store, ChangedLinesAreCountedAndLeftOutByAll) {
  const Plan plan = plan_of(6);
  const std::string path = fresh("changed"), merged = fresh("changed_merged");
  run(plan, path, echo());
  const std::string whole = sorted(path);
  std::string file, text;
  for (const auto& entry : std::filesystem::directory_iterator(path))
    if (entry.path().extension() == ".jsonl") file = entry.path().string();
  std::ifstream before(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(before, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 6u);
  const auto older = [&](std::string line) { return line.erase(line.find(",\"check\":")) + "}"; };
  const auto edited = [](std::string line, const std::string& from, const std::string& to) {
    return line.replace(line.find(from), from.size(), to);
  };
  lines[0] = older(lines[0]);
  EXPECT_TRUE(head_of_record(lines[0])) << "as it was";
  lines[1] = edited(lines[1], "\"result\":\"", "\"result\":\"other ");
  lines[2] = edited(older(lines[2]), "\"verb\":\"test\"", "\"verb\":\"text\"");
  lines[3] = edited(older(lines[3]), ",\"result\":", ",\"result\"");
  std::ofstream changed(file);
  for (const std::string& line : lines) changed << line << "\n";
  changed.close();
  auto store = JobStore::open(path, false);
  const Diagnostics told = store->refresh();
  ASSERT_EQ(told.size(), 3u);
  EXPECT_EQ(told[0].where.line, 2);
  EXPECT_EQ(told[0].message, "is a record that was changed: left out");
  EXPECT_FALSE(has_errors(told));
  EXPECT_EQ(store->damaged(), 3u);
  EXPECT_TRUE(store->refresh().empty()) << "each is told once";
  EXPECT_EQ(store->jobs().size(), 3u);
  EXPECT_EQ(rows_of(*store)->size(), 3u);
  EXPECT_TRUE(sorted_lines(*store));
  auto into = JobStore::open(merged, true);
  EXPECT_EQ(merge({&*store}, *into)->new_records, 3u);
  EXPECT_EQ(run(plan, path, echo()).done, 3u) << "these jobs are done again";
  EXPECT_EQ(sorted(path), whole);
}

TEST(Store, TextsAreKeptOnceAndChecked) {
  const std::string path = fresh("texts");
  auto store = JobStore::open(path, true);
  const auto hash = store->put("a long text");
  ASSERT_TRUE(hash);
  EXPECT_EQ(*hash, *store->put("a long text"));
  EXPECT_EQ(store->blobs().size(), 1u);
  EXPECT_EQ(*store->get(*hash), "a long text");
  std::ofstream(path + "/blobs/" + *hash) << "another";
  EXPECT_FALSE(store->get(*hash));
  EXPECT_FALSE(JobStore::open(path + "/none", false));
  EXPECT_FALSE(JobStore::open(path + "/blobs/" + *hash, true));
}

TEST(Store, MarksTellWhoDoesWhat) {
  const std::string path = fresh("marks");
  auto ours = JobStore::open(path, true);
  auto other = JobStore::open(path, true);
  ours->mark({{content_key("x"), 100}});
  const auto running = other->running();
  ASSERT_EQ(running.size(), 1u);
  EXPECT_EQ(running[0].key, content_key("x"));
  EXPECT_TRUE(running[0].alive);
  EXPECT_TRUE(ours->running().empty()) << "not our own";
  std::ofstream(path + "/elsewhere.1.now")
      << R"({"key":"k","host":")" << host_name() << R"(","pid":999999999,"since":1})"
      << "\n";
  EXPECT_FALSE(std::ranges::all_of(other->running(), [](const Running& r) { return r.alive; }))
      << "a process of this host that has ended";
}

/// As if another worker had written it: `name` is its host, which is not this one.
void write_mark(const std::string& store, const std::string& name, const std::string& key, bool claim) {
  std::ofstream(store + "/other.now") << R"({"key":")" << key << R"(","host":")" << name << R"(","pid":1,"since":1)"
                                      << (claim ? R"(,"claim":true)" : "") << "}\n";
}

TEST(Work, OfTwoThatClaimAJobTheLowerNameTakesIt) {
  struct Case {
    const char* other;
    bool claim, ours;
  };
  for (const Case& one : {Case{"!", true, false}, {"~", true, true}, {"!", false, false}, {"~", false, false}}) {
    const std::string path = fresh("claims");
    auto store = JobStore::open(path, true);
    const Plan plan = plan_of(1);
    JobQueue queue(plan, *store, {});
    queue.refresh();
    EXPECT_FALSE(queue.waits_for_others());
    const auto job = queue.next();
    ASSERT_TRUE(job);
    write_mark(path, one.other, plan.jobs[0].key, one.claim);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(queue.is_ours_alone(*job), one.ours) << one.other << one.claim;
    EXPECT_EQ(queue.waits_for_others(), !one.ours) << "what was given back may still be ours";
    if (one.ours) continue;
    EXPECT_FALSE(queue.next());
    std::filesystem::remove(path + "/other.now");
    queue.refresh();
    EXPECT_FALSE(queue.waits_for_others());
    EXPECT_EQ(queue.next(), job);
  }
}

TEST(Work, WaitsForJobsOfOthersAndForWhatTheyLeadTo) {
  const std::string path = fresh("others");
  auto store = JobStore::open(path, true);
  const Plan plan = plan_of(3, true);
  JobQueue queue(plan, *store, {});
  write_mark(path, "~", plan.jobs[0].key, false);
  queue.refresh();
  EXPECT_FALSE(queue.next()) << "the first is done elsewhere, the others need it";
  EXPECT_TRUE(queue.waits_for_others());
  std::filesystem::remove(path + "/other.now");
  queue.refresh();
  EXPECT_FALSE(queue.waits_for_others());
  ASSERT_TRUE(queue.next());
  queue.refresh();
  EXPECT_TRUE(queue.waits_for_others()) << "for our own, which leads to more";
  Record record;
  record.key = plan.jobs[0].key;
  record.job = plan.jobs[0].text;
  record.result = "1";
  ASSERT_TRUE(queue.record(record).empty());
  queue.refresh();
  EXPECT_FALSE(queue.waits_for_others());
  EXPECT_EQ(queue.next(), 1u);
}

TEST(Store, TenThousandRecordsMergeInASecond) {
  std::vector<std::string> paths;
  for (int part = 0; part < 4; ++part) {
    paths.push_back(fresh("part" + std::to_string(part)));
    auto store = JobStore::open(paths.back(), true);
    std::string lines;
    for (int r = 0; r < 2500; ++r) {
      const std::string job = R"({"name":"job )" + std::to_string(part * 2500 + r) + R"(","verb":"test"})";
      lines += line_of({content_key(job), job, End::ok, 1, 0, "[" + std::string(400, '1') + "]", {}, {}, 0});
    }
    ASSERT_FALSE(has_errors(store->append_lines(lines)));
  }
  const auto begun = std::chrono::steady_clock::now();
  std::vector<JobStore> stores;
  std::vector<JobStore*> from;
  for (const std::string& path : paths) {
    stores.push_back(std::move(*JobStore::open(path, false)));
    ASSERT_FALSE(has_errors(stores.back().refresh()));
  }
  for (JobStore& store : stores) from.push_back(&store);
  auto into = JobStore::open(fresh("merged"), true);
  const auto merged = merge(from, *into);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  ASSERT_TRUE(merged);
  EXPECT_EQ(merged->new_records, 10'000u);
  EXPECT_EQ(into->jobs().size(), 10'000u);
  EXPECT_EQ(merge(from, *into)->new_records, 0u);
#ifdef ISAMAP_SANITIZED
  EXPECT_LT(seconds, 10);
#else
  EXPECT_LT(seconds, 1);
#endif
}

TEST(Store, ExportsQuoteAndIndexAnew) {
  const std::string path = fresh("exports");
  auto store = JobStore::open(path, true);
  const std::string job = R"({"name":"a, \"b\"","verb":"test"})";
  ASSERT_FALSE(has_errors(store->append({content_key(job), job, End::ok, 1, 0, "[1,2]", {}, {"h", "0.1", "d"}, 0.5})));
  const auto rows = rows_of(*store);
  ASSERT_TRUE(rows);
  EXPECT_NE(csv(*rows, false).find(",test,\"a, \"\"b\"\"\",ok,1,h,d,0.1,0.500000,\"[1,2]\",,"), std::string::npos)
      << csv(*rows, false);
  EXPECT_EQ(csv(*rows, true).find("0.5"), std::string::npos) << "sorted: nothing of who did it";
  EXPECT_TRUE(write_index(*rows, path + "/index.db").empty());
  EXPECT_TRUE(write_index(*rows, path + "/index.db").empty()) << "made anew";
  EXPECT_FALSE(write_index(*rows, path + "/none/index.db").empty());
  if (!parquet_supported()) {
    EXPECT_NE(write_parquet(*rows, "x").front().message.find("without Arrow"), std::string::npos);
  }
}

TEST(Store, AFullDiskLeavesNoBrokenIndex) {
  const std::string path = fresh("full_index");
  std::filesystem::create_directories(path);
  const auto rows = [](std::size_t count) {
    Row row;
    row.key = "k", row.verb = "v", row.name = std::string(200, 'n');
    return std::vector<Row>(count, row);
  };
  ASSERT_TRUE(write_index(rows(1), path + "/old.db").empty());
  const auto before = std::filesystem::file_size(path + "/old.db");
  rlimit usual{};
  ::getrlimit(RLIMIT_FSIZE, &usual);
  rlimit small = usual;
  small.rlim_cur = 64 << 10;
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  const Diagnostics of_new = write_index(rows(2000), path + "/new.db");
  const Diagnostics of_old = write_index(rows(2000), path + "/old.db");
  ::setrlimit(RLIMIT_FSIZE, &usual);
  ::signal(SIGXFSZ, handler);
  EXPECT_TRUE(has_errors(of_new));
  EXPECT_TRUE(has_errors(of_old));
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(path)) left.push_back(entry.path().filename().string());
  EXPECT_EQ(left, std::vector<std::string>{"old.db"});
  EXPECT_EQ(std::filesystem::file_size(path + "/old.db"), before);
}

TEST(FileSystem, NetworkOnesAreKnown) {
  EXPECT_EQ(network_file_system(0x6969), "nfs");
  EXPECT_EQ(network_file_system(0x0bd00bd0), "lustre");
  EXPECT_EQ(network_file_system(0x47504653), "gpfs");
  EXPECT_EQ(network_file_system(static_cast<long>(0xff534d42)), "cifs");
  EXPECT_EQ(network_file_system(0xef53), "") << "ext4";
  // One number for all file systems of user processes.
  const std::string mounts =
      "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
      "64 27 0:39 / /mnt rw,nosuid - fuse.sshfs root@node2:/data rw,user_id=0\n"
      "65 27 0:40 / /stick rw - fuseblk /dev/sdb1 rw\n"
      "66 27 0:41 / /bucket rw shared:2 master:3 - fuse.s3fs s3fs rw\n";
  EXPECT_EQ(network_mount(mounts, "0:39"), "fuse.sshfs");
  EXPECT_EQ(network_mount(mounts, "0:40"), "");
  EXPECT_EQ(network_mount(mounts, "0:41"), "fuse.s3fs");
  EXPECT_EQ(network_mount(mounts, "254:0"), "");
  EXPECT_EQ(network_mount(mounts, "9:9"), "") << "it is not mounted";
  EXPECT_FALSE(no_place_for_sqlite(scratch("local.db")));
}

TEST(Device, FactsDecideTheKeyAndTheLockIsExclusive) {
  const DeviceFacts here = device_facts({"g++ 12"});
  EXPECT_EQ(device_key(here), device_key(device_facts({"g++ 12"})));
  EXPECT_NE(device_key(here), device_key(device_facts({"g++ 13"})));
  EXPECT_FALSE(here.at("model name").empty() && here.at("features").empty());
  EXPECT_GT(reference_seconds(), 0);
  std::chrono::steady_clock::time_point released, entered;
  std::thread other;
  {
    const DeviceLock first;
    other = std::thread([&] {
      const DeviceLock second;
      entered = std::chrono::steady_clock::now();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    released = std::chrono::steady_clock::now();
  }
  other.join();
  EXPECT_GE(entered, released);
}

}  // namespace
}  // namespace isamap::jobs
