// SPDX-License-Identifier: Apache-2.0
#pragma once
// Doing the jobs of a plan: which one is next (JobQueue), and the loop of one process with a few children (work). The
// records are the only state: whoever is killed loses what was in flight, and the same call resumes.

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "jobs/child.h"
#include "jobs/store.h"

namespace isamap::jobs {

constexpr int usual_attempts = 3;

struct WorkOptions {
  Shard shard;
  bool steal = false;                            ///< then unclaimed ones of other shards
  int children = 1;                              ///< jobs at a time
  std::optional<int> attempts = usual_attempts;  ///< then a failing job is given up; none: as its records say
  bool retry = false;                            ///< jobs that were given up get as many attempts again
  ChildLimits limits;
  By by;
};

/// Numbers of jobs of a plan.
struct Progress {
  std::size_t all = 0, ok = 0, wrong = 0, given_up = 0, failed = 0;  ///< failed: and tried again
  std::size_t left() const { return all - ok - wrong - given_up; }
};

/// What is to be done next, by what is recorded. Jobs whose needs are not there wait; a job whose need was given up or
/// is wrong is blocked, and so is one that comes after others of which none has a result.
class JobQueue {
 public:
  JobQueue(const Plan& plan, JobStore& store, WorkOptions options);

  /// Reads the store again and sorts the jobs anew; warnings of the store.
  Diagnostics refresh();
  /// The number of a job in the plan; nothing: none is ready.
  std::optional<std::size_t> next();
  /// Records the end of a job that `next` gave.
  Diagnostics record(Record record);
  /// The same where the process that did the job has recorded it.
  void note(std::size_t job, End end, int attempt);
  /// The process that was to do a job that `next` gave is gone: it was no attempt, and the job is ready again.
  void give_back(std::size_t job) { flight_.erase(job); }
  /// Do workers without shards of their own take jobs of one list?
  bool shares_jobs() const { return options_.steal || options_.shard.of == 1; }
  /// Does no other worker do, or has done, this job that `next` gave? Asked after it is claimed where workers share
  /// jobs: of two that claim the same one, one at least sees the other, and of two that see each other the one with the
  /// lower name takes it. Takes half of the time at most. False: it is given back.
  bool is_ours_alone(std::size_t job);
  /// Attempts at a job that failed so far.
  int attempts_at(std::size_t job) const;
  /// Attempts after which a failing job is given up: those asked for, after those that `retry` forgives.
  int attempts_allowed(const std::string& key) const;
  std::size_t ready() const { return ready_.size(); }  ///< about so many more that `next` will give
  /// Are there jobs that may become ready: in flight here or elsewhere, or waiting for such?
  bool waits_for_others() const { return others_ > 0; }

  Progress progress() const;
  /// Jobs of this shard (with `steal`: of all) by their state, in the order of the plan.
  std::vector<std::size_t> given_up() const, wrong() const, not_done() const;
  /// Of a job that was given up or is wrong: the last failure.
  std::string why(std::size_t job) const;

 private:
  enum class State { ready, waiting, flight, elsewhere, ok, wrong, given_up, blocked };
  State state_of(std::size_t job) const;
  State state_of(const std::string& key) const;
  /// `ready` if those that it needs, and those that it comes after, have ended and left something to read.
  State state_of_inputs(const Job& job) const;
  Diagnostics see_others();
  void sort_for_stealing();
  void begin_at_own_place();
  bool ours(std::size_t job) const { return options_.steal || options_.shard.holds(plan_.jobs[job].key); }

  const Plan& plan_;
  JobStore& store_;
  WorkOptions options_;
  std::set<std::size_t> flight_;
  std::set<std::string> elsewhere_;      ///< what other workers do or claim
  std::set<std::string> taken_;          ///< of these, all but claims of workers that yield to us
  std::map<std::string, int> forgiven_;  ///< attempts before this run, with `retry`
  std::deque<std::size_t> ready_;
  std::size_t others_ = 0;
  double looked_ = 0, look_took_ = 0;  ///< seconds
};

/// For those that read records and do no jobs: a job is given up where the worker that did it last gave it up.
WorkOptions as_recorded();

struct WorkEnd {
  Diagnostics problems;  ///< the store cannot be written, or a child not be started: the work ended early
  std::vector<std::size_t> given_up, wrong, not_done;
  std::size_t done = 0;  ///< jobs that this call did
};
/// `progress` is called every few seconds.
WorkEnd work(const Plan& plan, JobStore& store, const WorkOptions& options, const JobRunner& runner,
             const std::function<void(const Progress&)>& progress);

/// Writes the texts of the plan into the store: then its records can be read without the plan.
Diagnostics put_texts(const Plan& plan, JobStore& store);

}  // namespace isamap::jobs
