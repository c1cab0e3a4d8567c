// SPDX-License-Identifier: Apache-2.0
// isamap work, status, results: jobs of a plan are done, counted, and put together.

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <set>

#include "build_facts.h"
#include "cli/command_line.h"
#include "cli/device.h"
#include "cli/interrupt.h"
#include "cli/jobs/work_flags.h"
#include "cli/json.h"
#include "cli/lab_file.h"
#include "support/table.h"

namespace isamap::cli {

std::optional<jobs::Plan> load_plan(const std::string& path) {
  const auto text = read_lab_file(path, "`isamap plan lab|tune|sweep .. -o FILE` writes a plan");
  if (!text) return std::nullopt;
  auto plan = jobs::parse_plan(*text, path);
  if (plan) return std::move(*plan);
  fail(Exit::wrong_input, plan.diagnostics());
  return std::nullopt;
}

void tell_damaged(Diagnostics lines) {
  constexpr std::size_t most = 20;
  const std::size_t all = lines.size();
  if (all > most) lines.erase(lines.begin() + most, lines.end());
  if (all > 0) fail(Exit::ok, lines);
  if (all > most) tell(fmt::format("and {} more damaged lines: {} in all", all - most, all));
}

namespace {

namespace fs = std::filesystem;

/// `work` makes this folder before its first record.
bool is_store_folder(const fs::path& path) {
  std::error_code none;
  return fs::is_directory(path / "blobs", none);
}

/// A store one level down, or how stores are made.
std::string store_hint(const std::string& path) {
  std::error_code none;
  std::set<std::string> stores;
  for (auto entry = fs::directory_iterator(path, none); !none && entry != fs::directory_iterator();
       entry.increment(none))
    if (is_store_folder(entry->path())) stores.insert(entry->path().string());
  return stores.empty() ? "a folder that `isamap work PLAN --store DIR` has made"
                        : "did you mean '" + *stores.begin() + "'?";
}

}  // namespace

std::optional<jobs::JobStore> open_jobs(const std::string& path, bool create) {
  auto store = jobs::JobStore::open(path, create);
  if (!store) return fail(Exit::wrong_input, store.diagnostics()), std::nullopt;
  const Diagnostics found = store->refresh();
  if (has_errors(found)) return fail(Exit::wrong_input, found), std::nullopt;
  if (!create && store->jobs().empty() && !is_store_folder(path))
    return fail(Exit::wrong_input, {error_at({path, 0, 0}, "is no store: it has no records", store_hint(path))}),
           std::nullopt;
  tell_damaged(found);
  return std::move(*store);
}

std::optional<jobs::JobStore> open_jobs(const std::string& path, bool create, const jobs::Plan& plan) {
  auto store = open_jobs(path, create);
  if (!store) return std::nullopt;
  if (create) {
    [[maybe_unused]] const auto kept = store->put(device_text());  // for people; nothing depends on it
  }
  tell_damaged(leave_out_damaged(plan, *store));
  return store;
}

namespace {

/// A positive number of a flag, up to `most`; false: it is none, which was reported.
template <class T>
bool read_number(const char* flag, const std::string& text, T most, T& into) {
  if (text.empty()) return true;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  constexpr bool real = std::is_floating_point_v<T>;
  if (*end == '\0' && value > 0 && value <= static_cast<double>(most) && (real || value == std::floor(value))) {
    into = static_cast<T>(value);
    return true;
  }
  fail(Exit::usage, fmt::format("{}: '{}' is no {}number {} to {:.0f}", flag, text, real ? "" : "whole ",
                                real ? "above 0, up" : "from 1", static_cast<double>(most)));
  return false;
}

}  // namespace

std::optional<jobs::WorkOptions> work_options(const WorkFlags& flags) {
  jobs::WorkOptions work;
  std::int64_t megabytes = 0;
  int attempts = jobs::usual_attempts;
  if (!flags.shard.empty()) {
    const auto shard = jobs::parse_shard(flags.shard);
    if (!shard) return fail(Exit::usage, shard.diagnostics()), std::nullopt;
    work.shard = *shard;
  }
  constexpr int most_jobs = 256, most_attempts = 1'000'000;
  constexpr double most_seconds = 1e9;
  constexpr std::int64_t most_megabytes = 1 << 30;  // 2^50 bytes: more than processors address
  if (!read_number("--jobs", flags.jobs, most_jobs, work.children) ||
      !read_number("--attempts", flags.attempts, most_attempts, attempts) ||
      !read_number("--job-seconds", flags.seconds, most_seconds, work.limits.seconds) ||
      !read_number("--job-memory", flags.megabytes, most_megabytes, megabytes))
    return std::nullopt;
  work.limits.memory_bytes = megabytes << 20;
  if (const std::int64_t mapped = jobs::mapped_bytes(); megabytes > 0 && work.limits.memory_bytes < mapped) {
    const std::int64_t least = (mapped >> 20) + 1;
    fail(Exit::usage,
         fmt::format("--job-memory {}: a process has {} MiB mapped before its first job", megabytes, least),
         fmt::format("--job-memory {} and what a job needs", least));
    return std::nullopt;
  }
  work.attempts = attempts;
  work.steal = flags.steal;
  work.retry = flags.retry;
  work.by = {jobs::host_name(), ISAMAP_VERSION, device_here()};
  return work;
}

void add_work_flags(Flags& flags, WorkFlags& into) {
  flags.text("PLAN", into.plan, "what `isamap plan` wrote").required();
  flags.text("--store", into.store, "folder of the records; it may be shared by many machines").required();
  flags.text("--shard", into.shard, "I/N: only the jobs of shard I of N, by their keys (default 0/1: all)");
  flags.on("--steal", into.steal, "then jobs of other shards that nobody does");
  flags.text("--jobs", into.jobs, "jobs at a time, each in a process of its own (default 1)");
  flags.text("--attempts", into.attempts, "of a failing job, before it is given up (default 3)");
  flags.on("--retry", into.retry, "try jobs again that were given up");
  flags.text("--job-seconds", into.seconds, "limit of time of each job (default 3600)");
  flags.text("--job-memory", into.megabytes, "limit of the address space of each process, in MiB (default: none)");
}

namespace {

/// " after 3 attempts" as they are recorded, which may be by a call that allowed more; jobs that only lack what another
/// one gives have none.
std::string after_attempts(const jobs::JobQueue& queue, const std::vector<std::size_t>& given_up) {
  int least = 0, most = 0;
  for (const std::size_t job : given_up) {
    const int attempts = queue.attempts_at(job);
    most = std::max(most, attempts);
    if (attempts > 0) least = least == 0 ? attempts : std::min(least, attempts);
  }
  if (most == 0) return "";
  const std::string last = counted(static_cast<std::size_t>(most), "attempt");
  return least == most ? " after " + last : fmt::format(" after {} to {}", least, last);
}

}  // namespace

Exit close_work(const jobs::Plan& plan, jobs::JobStore& store, const jobs::WorkOptions& options,
                const jobs::WorkEnd& end) {
  if (has_errors(end.problems)) return fail(Exit::wrong_input, end.problems);
  jobs::JobQueue queue(plan, store, options);
  tell_without_result(queue, plan, end.wrong, "wrong result");
  tell_without_result(queue, plan, end.given_up, "given up");
  if (!end.wrong.empty())
    return fail(Exit::wrong_result,
                counted(end.wrong.size(), "job") + " computed wrong results, which are not tried again");
  if (!end.given_up.empty())
    return fail(Exit::limit, counted(end.given_up.size(), "job") + " given up" + after_attempts(queue, end.given_up),
                "mend the cause, then `isamap work PLAN --store DIR --retry`");
  if (!end.not_done.empty())
    return fail(Exit::limit,
                counted(end.not_done.size(), "job") +
                    " not done: waiting for jobs of other shards, being done elsewhere, or for another device",
                "the same command again, or --steal");
  return Exit::ok;
}

std::string progress_text(const jobs::Progress& progress) {
  std::string text = fmt::format("{} of {} jobs", progress.ok, progress.all);
  if (progress.failed > 0) text += fmt::format(", {} failed and tried again", progress.failed);
  if (progress.given_up > 0) text += fmt::format(", {} given up", progress.given_up);
  if (progress.wrong > 0) text += fmt::format(", {} wrong", progress.wrong);
  return text;
}

WorkLoop& work_loop() {
  static WorkLoop loop = jobs::work;
  return loop;
}

Exit run_planned(const char* kind, const PlanRequest& request, const std::string& path, bool deliver_results) {
  Exit code = Exit::ok;
  const auto plan = plan_of(kind, request, code);
  if (!plan) return code;
  const auto work = work_options({});
  if (!work) return Exit::usage;
  auto store = open_jobs(path, true, *plan);
  if (!store) return Exit::wrong_input;
  resume_by_the_same_command();
  Progress say;
  const jobs::WorkEnd end = work_loop()(*plan, *store, *work, job_runner(*store), [&](const jobs::Progress& progress) {
    say(fmt::format("{}: {}", kind, progress_text(progress)));
  });
  if (!deliver_results) return Exit::ok;
  store->refresh();
  code = close_work(*plan, *store, *work, end);
  if (has_errors(end.problems)) return code;
  const Exit results = plan_kind(kind).results({*plan, *store, request.options, ""});
  return code == Exit::ok ? results : code;
}

namespace {

Exit verb_work(const Options& options, const WorkFlags& flags) {
  const auto plan = load_plan(flags.plan);
  if (!plan) return Exit::wrong_input;
  if (const auto other = of_other_versions(*plan)) {
    Diagnostic refused = *other;
    refused.where = {flags.plan, 0, 0};
    return fail(Exit::wrong_input, {refused});
  }
  const auto work = work_options(flags);
  if (!work) return Exit::usage;
  auto store = open_jobs(flags.store, true, *plan);
  if (!store) return Exit::wrong_input;
  resume_by_the_same_command();
  Progress say;
  const jobs::WorkEnd end = work_loop()(*plan, *store, *work, job_runner(*store), [&](const jobs::Progress& progress) {
    say("work: " + progress_text(progress) + " of all shards");
  });
  const Exit code = close_work(*plan, *store, *work, end);
  store->refresh();
  jobs::JobQueue queue(*plan, *store, jobs::as_recorded());
  const jobs::Progress all = queue.progress();
  if (options.json)
    return deliver(options,
                   json_of_rows("work", {{"did", "jobs", "ok", "wrong", "given_up"},
                                         {std::to_string(end.done), std::to_string(all.all), std::to_string(all.ok),
                                          std::to_string(all.wrong), std::to_string(all.given_up)}}),
                   code);
  tell(fmt::format("work: did {}; {} of all shards are done", counted(end.done, "job"), progress_text(all)));
  return code;
}

std::string age_text(double seconds) {
  return seconds < 120 ? fmt::format("{:.0f} s", seconds) : fmt::format("{:.0f} min", seconds / 60);
}

Exit verb_status(const Options& options, const WorkFlags& flags) {
  const auto plan = load_plan(flags.plan);
  if (!plan) return Exit::wrong_input;
  auto store = open_jobs(flags.store, false, *plan);
  if (!store) return Exit::wrong_input;
  jobs::JobQueue queue(*plan, *store, jobs::as_recorded());
  queue.refresh();
  const jobs::Progress progress = queue.progress();
  std::vector<std::vector<std::string>> rows{{"state", "jobs"},
                                             {"done", std::to_string(progress.ok)},
                                             {"wrong", std::to_string(progress.wrong)},
                                             {"given up", std::to_string(progress.given_up)},
                                             {"failed, tried again", std::to_string(progress.failed)},
                                             {"missing", std::to_string(progress.left() - progress.failed)}};
  if (store->damaged() > 0) rows.push_back({"damaged lines", std::to_string(store->damaged())});
  std::string text = table(rows);
  auto running = store->running();
  std::sort(running.begin(), running.end(), [](const auto& a, const auto& b) { return a.since < b.since; });
  const double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  for (const jobs::Running& one : running) {
    const auto place = plan->places.find(one.key);
    if (place == plan->places.end() || !one.alive) continue;
    if (const jobs::Known* known = store->find(one.key); known && !known->ok.empty())
      continue;  // its process was killed
    text +=
        fmt::format("running for {} on {}: {}\n", age_text(now - one.since), one.host, plan->jobs[place->second].name);
    rows.push_back({"running: " + plan->jobs[place->second].name, "1"});
  }
  for (const auto& [what, which] : {std::pair("wrong", queue.wrong()), {"given up", queue.given_up()}})
    for (const std::size_t job : which) {
      text += fmt::format("{}: {}: {}\n", what, plan->jobs[job].name, queue.why(job));
      rows.push_back({std::string(what) + ": " + plan->jobs[job].name, "1"});
    }
  text += fmt::format("this machine is device {}\n", device_here());
  if (const auto other = of_other_versions(*plan); other && progress.left() > 0) {
    Diagnostic warning = *other;
    warning.severity = Severity::warning;
    warning.where = {flags.plan, 0, 0};
    fail(Exit::ok, {warning});
  }
  return deliver(options, options.json ? json_of_rows("states", rows, {"state"}) : text,
                 progress.wrong > 0      ? Exit::wrong_result
                 : progress.given_up > 0 ? Exit::limit
                                         : Exit::ok);
}

Exit verb_results(const Options& options, const WorkFlags& flags, const std::string& axes) {
  const auto plan = load_plan(flags.plan);
  if (!plan) return Exit::wrong_input;
  if (plan->verb != "sweep" && !(axes.empty() && options.report.empty()))
    return fail(Exit::usage,
                fmt::format("{} is for plans of a sweep, and this is one of {}", axes.empty() ? "--report" : "--axes",
                            plan->verb),
                "leave it out");
  auto store = open_jobs(flags.store, false, *plan);
  if (!store) return Exit::wrong_input;
  return plan_kind(plan->verb).results({*plan, *store, options, axes});
}

void add_plan_and_store(Flags& flags, WorkFlags& into) {
  flags.text("PLAN", into.plan, "what `isamap plan` wrote").required();
  flags.text("--store", into.store, "folder of the records").required();
}

}  // namespace

std::vector<VerbRow> verbs_work() {
  const auto work = std::make_shared<WorkFlags>();
  const auto axes = std::make_shared<std::string>();
  return {{420, "work", "do the jobs of a plan that nobody has recorded; the same command resumes after a kill",
           [=](Flags& flags) { add_work_flags(flags, *work); },
           [=](const Options& options) { return verb_work(options, *work); }},
          {421, "status", "jobs of a plan: done, failed, missing, running",
           [=](Flags& flags) { add_plan_and_store(flags, *work); },
           [=](const Options& options) { return verb_status(options, *work); }},
          {422, "results", "what the records of a plan say together: the file of `lab run`, the best schedule, a table",
           [=](Flags& flags) {
             add_plan_and_store(flags, *work);
             flags.text("--axes", *axes, "of a sweep: X,Y of the Pareto front, columns or parameters (cycles,dim*dim)");
             flags.text("--report", flags.options.report,
                        "of a sweep: also write the front as a picture (SVG) to FILE");
           },
           [=](const Options& options) { return verb_results(options, *work, *axes); }}};
}

}  // namespace isamap::cli
