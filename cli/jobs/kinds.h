// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kinds of plans: how each is made from a command line, how one of its jobs is done, and what its records say
// together. One row a kind in kinds.cpp; everything in jobs/ is the same for all of them.

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "cli/common.h"
#include "jobs/work.h"

namespace isamap::cli {

/// What jobs read: texts of the store, machines (each loaded once a process), results of other jobs.
class JobInputs {
 public:
  explicit JobInputs(jobs::JobStore& store) : store_(store) {}
  Result<std::string> text(const std::string& hash) { return store_.get(hash); }
  Result<Kernel> kernel(const std::string& hash);
  Result<std::shared_ptr<const HardwareModel>> machine(const std::string& hash);
  /// JSON of the result of a job that was done.
  Result<std::string> result(const std::string& key);
  /// Until these jobs have records, with a result or without. A job has none where one that it needs has no result:
  /// after a minute those are taken to be such.
  void wait_for_ends(const std::vector<std::string>& keys);
  Result<std::string> put(const std::string& text) { return store_.put(text); }
  jobs::JobStore& store() { return store_; }

 private:
  jobs::JobStore& store_;
  std::map<std::string, std::shared_ptr<const HardwareModel>> machines_;
};

/// What `results` reads.
struct RecordedPlan {
  const jobs::Plan& plan;
  jobs::JobStore& store;
  const Options& options;
  std::string axes;  ///< --axes X,Y of a sweep
};

/// What plans are made of.
struct PlanRequest {
  const Options& options;
  std::string device;  ///< tune: key of the only device that measures; empty: any
};

struct PlanKind {
  const char* name;                                                           ///< "lab"
  std::optional<jobs::Plan> (*plan)(const PlanRequest& request, Exit& code);  ///< empty: an error was reported
  Exit (*results)(const RecordedPlan& recorded);
};
const std::vector<PlanKind>& plan_kinds();
const PlanKind& plan_kind(const std::string& name);  ///< an internal error if there is none

/// The plan of a command line; empty: an error was reported.
std::optional<jobs::Plan> plan_of(const char* kind, const PlanRequest& request, Exit& code);

/// Does a job of any kind; for children of `work`.
jobs::JobRunner job_runner(jobs::JobStore& store);

/// Results of jobs of the plan that cannot be read do not count as such, so that the jobs are done again. Warnings:
/// file and line of each.
Diagnostics leave_out_damaged(const jobs::Plan& plan, jobs::JobStore& store);
/// Why this program does no jobs of the plan: they are for another version, which may give other results.
std::optional<Diagnostic> of_other_versions(const jobs::Plan& plan);

// The kinds; each in its file.

std::optional<jobs::Plan> plan_lab(const PlanRequest& request, Exit& code);
Exit results_of_lab(const RecordedPlan& recorded);
jobs::Outcome do_trial(const std::string& job, JobInputs& inputs);
/// Is it a result of the job? Reads all that others need of it; false, or nlohmann::json::exception: it is none. The
/// same of the other kinds.
bool is_trial(const nlohmann::json& job, const nlohmann::json& result);

std::optional<jobs::Plan> plan_tune(const PlanRequest& request, Exit& code);
Exit results_of_tune(const RecordedPlan& recorded);
jobs::Outcome do_search(const std::string& job, JobInputs& inputs);
jobs::Outcome do_measure(const std::string& job, JobInputs& inputs);
jobs::Outcome do_variants(const std::string& job, JobInputs& inputs);
jobs::Outcome do_compilers(const std::string& job, JobInputs& inputs);
bool is_search(const nlohmann::json& job, const nlohmann::json& result);
bool is_measured(const nlohmann::json& job, const nlohmann::json& result);
bool is_variants(const nlohmann::json& job, const nlohmann::json& result);
bool is_compilers(const nlohmann::json& job, const nlohmann::json& result);

std::optional<jobs::Plan> plan_sweep(const PlanRequest& request, Exit& code);
Exit results_of_sweep(const RecordedPlan& recorded);
jobs::Outcome do_point(const std::string& job, JobInputs& inputs);
bool is_point(const nlohmann::json& job, const nlohmann::json& result);

// For the kinds.

/// A failed job: its exit code and rendered diagnostics.
jobs::Outcome not_done(Exit code, const Diagnostics& problems);
/// `versions` of every job.
std::string versions_json();
/// Says on stderr why these jobs have no result.
void tell_without_result(const jobs::JobQueue& queue, const jobs::Plan& plan, const std::vector<std::size_t>& which,
                         const char* what);
/// Reports jobs of the plan without a result on stderr; the exit code: 5 wrong results, 4 given up or not done yet.
Exit tell_missing(const RecordedPlan& recorded);

}  // namespace isamap::cli
