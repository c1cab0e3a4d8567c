// SPDX-License-Identifier: Apache-2.0
#include "cli/jobs/kinds.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "backends/common/process.h"
#include "build_facts.h"
#include "cli/interrupt.h"
#include "cli/sources_version.h"
#include "ir/text/parse.h"

namespace isamap::cli {
namespace {

using Json = nlohmann::json;

struct JobVerb {
  jobs::Outcome (*run)(const std::string& job, JobInputs& inputs);
  bool (*is_result)(const Json& job, const Json& result);
};

const std::map<std::string, JobVerb>& verbs_of_jobs() {
  static const std::map<std::string, JobVerb> verbs = {{"lab", {do_trial, is_trial}},
                                                       {"search", {do_search, is_search}},
                                                       {"measure", {do_measure, is_measured}},
                                                       {"variants", {do_variants, is_variants}},
                                                       {"compilers", {do_compilers, is_compilers}},
                                                       {"sweep", {do_point, is_point}}};
  return verbs;
}

/// Why it is no result of the job; empty: it is one.
std::string damage(const jobs::Job& job, const Result<jobs::Record>& record) {
  if (!record) return "is a damaged record of the job '" + job.name + "'";
  const auto verb = verbs_of_jobs().find(job.verb);
  if (verb == verbs_of_jobs().end()) return "";
  try {
    if (verb->second.is_result(Json::parse(job.text), Json::parse(record->result))) return "";
  } catch (const Json::exception&) {  // a member is missing, or of another type
  }
  return "has no result of the job '" + job.name + "'";
}

}  // namespace

const std::vector<PlanKind>& plan_kinds() {
  static const std::vector<PlanKind> kinds = {
      {"lab", plan_lab, results_of_lab}, {"tune", plan_tune, results_of_tune}, {"sweep", plan_sweep, results_of_sweep}};
  return kinds;
}

const PlanKind& plan_kind(const std::string& wanted) {
  for (const PlanKind& kind : plan_kinds())
    if (kind.name == wanted) return kind;
  internal_error(__FILE__, __LINE__, "there is no kind of plan '" + wanted + "'");
}

std::optional<jobs::Plan> plan_of(const char* kind, const PlanRequest& request, Exit& code) {
  if (const auto wrong = no_utf8(request.options)) return code = fail(Exit::wrong_input, {*wrong}), std::nullopt;
  return plan_kind(kind).plan(request, code);
}

jobs::JobRunner job_runner(jobs::JobStore& store) {
  auto inputs = std::make_shared<JobInputs>(store);
  jobs::JobRunner runner;
  runner.begin = [] {
    ForeignExit::leave_to_parent();
    remove_temporary_files_on_signals();
  };
  runner.run = [inputs](const jobs::Job& job) -> jobs::Outcome {
    const auto verb = verbs_of_jobs().find(job.verb);
    if (verb == verbs_of_jobs().end())
      return not_done(Exit::usage, {error("this program does no jobs of the kind '" + job.verb + "'")});
    return verb->second.run(job.text, *inputs);
  };
  return runner;
}

Diagnostics leave_out_damaged(const jobs::Plan& plan, jobs::JobStore& store) {
  Diagnostics warnings;
  for (const jobs::Job& job : plan.jobs)
    store.keep_results(job.key, [&](const jobs::Place& place) {
      if (place.checked) return true;  // as a worker wrote it, so it is one
      const std::string why = damage(job, store.read(place));
      if (why.empty()) return true;
      warnings.push_back(error_at(store.where(place), why + ": left out", "`isamap work` does it again"));
      warnings.back().severity = Severity::warning;
      return false;
    });
  return warnings;
}

std::optional<Diagnostic> of_other_versions(const jobs::Plan& plan) {
  const Json own = Json::parse(versions_json());
  for (const jobs::Job& job : plan.jobs) {
    const Json versions = Json::parse(job.text).value("versions", own);
    if (versions == own) continue;
    return error(fmt::format("the plan is for the versions {}; this program is {}", versions.dump(), own.dump()),
                 "plan again with this program, or let that one do the jobs");
  }
  return std::nullopt;
}

Result<Kernel> JobInputs::kernel(const std::string& hash) {
  const auto source = text(hash);
  if (!source) return source.diagnostics();
  return parse_kernel(*source);
}

Result<std::shared_ptr<const HardwareModel>> JobInputs::machine(const std::string& hash) {
  if (const auto known = machines_.find(hash); known != machines_.end()) return known->second;
  const auto source = text(hash);
  if (!source) return source.diagnostics();
  const TemporaryDirectory folder;
  const std::string path = (folder.path() / "target.yaml").string();
  if (!write_file(path, *source)) return error("a temporary file cannot be written");
  auto loaded = load_hardware(path, model_folders());
  if (!loaded) return loaded.diagnostics();
  constexpr std::size_t most = 64;  // a sweep has thousands
  if (machines_.size() >= most) machines_.clear();
  return machines_[hash] = std::make_shared<const HardwareModel>(std::move(loaded->model));
}

namespace {
constexpr int patience = 60;  // seconds: network file systems show what others wrote when they like
}

void JobInputs::wait_for_ends(const std::vector<std::string>& keys) {
  const auto has_ended = [&](const std::string& key) {
    const jobs::Known* known = store_.find(key);
    return known && !(known->ok.empty() && known->wrong.empty() && known->failed.empty());
  };
  for (int tries = 0; tries <= 2 * patience; ++tries) {
    if (tries > 1) ::usleep(500'000);
    store_.refresh();  // this process was started before those jobs were done
    if (std::all_of(keys.begin(), keys.end(), has_ended)) return;
  }
}

Result<std::string> JobInputs::result(const std::string& key) {
  const jobs::Known* known = nullptr;
  for (int tries = 0; tries <= 2 * patience; ++tries) {
    known = store_.find(key);
    if (known && !known->ok.empty()) break;
    if (tries > 1) ::usleep(500'000);
    store_.refresh();  // this process was started before that job was done
  }
  if (!known || known->ok.empty()) return error("the job " + key + " has no result yet");
  auto record = store_.read(known->ok.front());
  if (!record) return record.diagnostics();
  return std::move(record->result);
}

jobs::Outcome not_done(Exit code, const Diagnostics& problems) {
  return {static_cast<int>(code), "", render(problems)};
}

std::string versions_json() {
  return fmt::format(R"({{"isamap":"{}","record":{},"sources":"{}"}})", ISAMAP_VERSION, jobs::record_version,
                     sources_version);
}

void tell_without_result(const jobs::JobQueue& queue, const jobs::Plan& plan, const std::vector<std::size_t>& which,
                         const char* what) {
  constexpr std::size_t most = 20;
  for (std::size_t i = 0; i < std::min(most, which.size()); ++i)
    tell(fmt::format("{} {}: {}: {}", what, plan.jobs[which[i]].key, plan.jobs[which[i]].name, queue.why(which[i])));
  if (which.size() > most) tell(fmt::format("and {} more; `isamap status` lists them", which.size() - most));
}

Exit tell_missing(const RecordedPlan& recorded) {
  jobs::JobQueue queue(recorded.plan, recorded.store, jobs::as_recorded());
  queue.refresh();
  const jobs::Progress progress = queue.progress();
  tell_without_result(queue, recorded.plan, queue.wrong(), "wrong result");
  tell_without_result(queue, recorded.plan, queue.given_up(), "given up");
  if (progress.wrong > 0)
    return fail(Exit::wrong_result, fmt::format("{} of {} jobs computed wrong results", progress.wrong, progress.all));
  if (progress.ok == progress.all) return Exit::ok;
  return fail(Exit::limit,
              fmt::format("{} of {} jobs have a result, {} given up", progress.ok, progress.all, progress.given_up),
              "`isamap status PLAN --store DIR` lists them; `isamap work` resumes");
}

}  // namespace isamap::cli
