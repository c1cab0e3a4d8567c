// SPDX-License-Identifier: Apache-2.0
#pragma once
// Flags and messages of `work`, shared with the program for clusters (cli/mpi).

#include <optional>
#include <string>

#include "cli/command_line.h"
#include "cli/jobs/kinds.h"

namespace isamap::cli {

struct WorkFlags {
  std::string plan, store, shard, jobs, attempts, seconds, megabytes;
  bool steal = false, retry = false;
};
void add_work_flags(Flags& flags, WorkFlags& into);

/// Empty: an error was reported.
std::optional<jobs::Plan> load_plan(const std::string& path);
std::optional<jobs::JobStore> open_jobs(const std::string& path, bool create);
/// For a plan: results that cannot be read are left out, and said.
std::optional<jobs::JobStore> open_jobs(const std::string& path, bool create, const jobs::Plan& plan);
std::optional<jobs::WorkOptions> work_options(const WorkFlags& flags);

/// How `work` does jobs: jobs::work, unless the program is started by an MPI launcher (cli/mpi).
using WorkLoop = jobs::WorkEnd (*)(const jobs::Plan& plan, jobs::JobStore& store, const jobs::WorkOptions& options,
                                   const jobs::JobRunner& runner,
                                   const std::function<void(const jobs::Progress&)>& progress);
WorkLoop& work_loop();
/// Plans, does the jobs and delivers their results: `lab run` and `tune` of a program for clusters.
Exit run_planned(const char* kind, const PlanRequest& request, const std::string& store, bool deliver_results);

/// "12 of 40 jobs, 1 given up".
std::string progress_text(const jobs::Progress& progress);
/// Lists what was given up or is wrong; the exit code of `work`.
Exit close_work(const jobs::Plan& plan, jobs::JobStore& store, const jobs::WorkOptions& options,
                const jobs::WorkEnd& end);

}  // namespace isamap::cli
