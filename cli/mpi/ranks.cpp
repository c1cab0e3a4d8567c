// SPDX-License-Identifier: Apache-2.0
#include "cli/mpi/ranks.h"

#include <fmt/format.h>
#include <mpi.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "cli/common.h"
#include "cli/mpi/deaths.h"

namespace isamap::cli {
namespace {

constexpr int to_manager = 1, to_worker = 2;  ///< tags
constexpr int nap_us = 50;
constexpr std::int64_t no_job = -1;
constexpr double look_for_deaths = 0.02;  ///< seconds between two looks

bool begun_here = false, died_here = false;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// From a worker: what it has done, and that it is free.
struct Report {
  std::int64_t job = no_job;
  int end = 0, attempt = 0;
  double waited = 0;       ///< seconds from its last report to the job
  char problem[512] = {};  ///< its store cannot be written; empty: it can
};

/// To a worker.
struct Order {
  std::int64_t job = no_job;      ///< none: the work is over
  int attempt = 1, attempts = 0;  ///< attempts: after which it is given up
};

/// Waits without using the processor, which may be another rank's, but for the first moment. Nothing: rank 0 has died.
std::optional<Order> next_order() {
  constexpr double eager = 200e-6;
  int there = 0;
  for (const double begun = seconds_now(); there == 0;) {
    if (MPI_Iprobe(0, to_worker, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE) != MPI_SUCCESS) return std::nullopt;
    if (there == 0 && seconds_now() - begun > eager) ::usleep(nap_us);
  }
  Order order;
  if (MPI_Recv(&order, sizeof order, MPI_BYTE, 0, to_worker, MPI_COMM_WORLD, MPI_STATUS_IGNORE) != MPI_SUCCESS)
    return std::nullopt;
  return order;
}

jobs::Record done_by(jobs::JobChild& child, const jobs::Job& job) {
  jobs::Record record;
  if (const std::string problem = child.give(job); !problem.empty()) {
    record.key = job.key;
    record.job = job.text;
    record.end = jobs::End::failed;
    record.failure.text = "a process for the job cannot be started: " + problem;
    return record;
  }
  while (true) {
    pollfd descriptor{child.descriptor(), POLLIN, 0};
    ::poll(&descriptor, 1, 50);
    if (auto ended = child.poll()) return std::move(*ended);
  }
}

void be_worker(const jobs::Plan& plan, jobs::JobStore& store, const jobs::WorkOptions& options,
               const jobs::JobRunner& runner) {
  jobs::JobChild child(runner, options.limits);
  Report report;
  while (true) {
    const double asked = seconds_now();
    const int sent = MPI_Send(&report, sizeof report, MPI_BYTE, 0, to_manager, MPI_COMM_WORLD);
    const auto order = sent == MPI_SUCCESS ? next_order() : std::nullopt;
    if (!order) MPI_Abort(MPI_COMM_WORLD, static_cast<int>(Exit::limit));  // no rank distributes jobs any more
    if (order->job == no_job) break;
    report = Report{order->job, 0, order->attempt, seconds_now() - asked, {}};
    const jobs::Job& job = plan.jobs[static_cast<std::size_t>(order->job)];
    const double since = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    store.mark({{job.key, since, false}});
    jobs::Record record = done_by(child, job);
    record.by = options.by;
    record.attempt = order->attempt;
    record.attempts = order->attempts;
    report.end = static_cast<int>(record.end);
    if (const Diagnostics failed = store.append(record); has_errors(failed))
      std::strncpy(report.problem, render(failed).c_str(), sizeof report.problem - 1);
    // Rank 0 reads marks, as of any other process, and would wait for the end of one that is to be tried again.
    if (record.end == jobs::End::failed) store.mark({});
  }
  store.mark({});
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// A rank that works, as rank 0 sees it.
struct Worker {
  enum class State { coming, there, dead };
  State state = State::coming;    ///< it comes with its first report
  std::vector<std::size_t> jobs;  ///< that it was given and has not done, in the order of their orders
};

/// Rank 0.
class Manager {
 public:
  Manager(const jobs::Plan& plan, jobs::JobStore& store, const jobs::WorkOptions& options,
          const jobs::JobRunner& runner, int ranks)
      : plan_(plan),
        queue_(plan, store, options),
        child_(runner, options.limits),
        workers_(static_cast<std::size_t>(ranks)) {}

  jobs::WorkEnd run(const std::function<void(const jobs::Progress&)>& progress) {
    queue_.refresh();
    double told = 0;
    while (true) {
      receive();
      bury();
      own_job();
      hand_out();
      if (all_idle() && (!end_.problems.empty() || !more())) break;
      if (seconds_now() - told > 1) progress(queue_.progress()), told = seconds_now();
      nap();
    }
    const Order over;
    for (std::size_t worker = 1; worker < workers_.size(); ++worker)
      if (workers_[worker].state != Worker::State::dead)
        MPI_Send(&over, sizeof over, MPI_BYTE, static_cast<int>(worker), to_worker, MPI_COMM_WORLD);
    tell(fmt::format("work: {} ranks; medians: handing out a job took rank 0 {:.1f} us, a worker waited {:.1f} us",
                     workers_.size(), 1e6 * median(handing_), 1e6 * median(waited_)));
    queue_.refresh();
    end_.given_up = queue_.given_up();
    end_.wrong = queue_.wrong();
    end_.not_done = queue_.not_done();
    return std::move(end_);
  }

 private:
  void receive() {
    Report report;
    MPI_Status status;
    int there = 0;
    while (workers_.size() > 1 &&
           MPI_Iprobe(MPI_ANY_SOURCE, to_manager, MPI_COMM_WORLD, &there, &status) == MPI_SUCCESS && there != 0) {
      const double begun = seconds_now();
      if (MPI_Recv(&report, sizeof report, MPI_BYTE, status.MPI_SOURCE, to_manager, MPI_COMM_WORLD, &status) !=
          MPI_SUCCESS)
        return;  // it has died since
      Worker& worker = workers_[static_cast<std::size_t>(status.MPI_SOURCE)];
      if (worker.state == Worker::State::coming) worker.state = Worker::State::there;  // a dead one's words may be late
      if (report.job != no_job) {
        const auto job = static_cast<std::size_t>(report.job);
        std::erase(worker.jobs, job);
        queue_.note(job, static_cast<jobs::End>(report.end), report.attempt);
        changed_ = true;
        ++end_.done;
        if (report.waited > 0 && !starved_) waited_.push_back(report.waited);
        if (report.problem[0] != '\0') end_.problems.push_back(error(report.problem));
      }
      hand_out();
      handing_.push_back(seconds_now() - begun);
    }
  }

  /// Jobs of ranks that died since the last look are done by others.
  void bury() {
    if (seconds_now() - looked_ < look_for_deaths) return;
    looked_ = seconds_now();
    for (const int rank : dead_ranks()) {
      Worker& worker = workers_[static_cast<std::size_t>(rank)];
      if (worker.state == Worker::State::dead) continue;
      worker.state = Worker::State::dead;
      const std::string again =
          worker.jobs.empty() ? "" : fmt::format(", and do its {} again", counted(worker.jobs.size(), "job"));
      tell(fmt::format("work: rank {} has died; the others go on{}", rank, again));
      for (const std::size_t job : worker.jobs) queue_.give_back(job);
      worker.jobs.clear();
      changed_ = true;
    }
  }

  bool all_idle() const {
    return !child_.busy() && std::all_of(workers_.begin() + 1, workers_.end(), [](const Worker& worker) {
      return worker.state != Worker::State::coming && worker.jobs.empty();
    });
  }

  void own_job() {
    if (auto record = child_.poll()) {
      if (Diagnostics failed = queue_.record(std::move(*record)); has_errors(failed))
        end_.problems.insert(end_.problems.end(), failed.begin(), failed.end());
      changed_ = true;
      ++end_.done;
    }
    if (child_.busy() || !end_.problems.empty()) return;
    const auto job = next();
    if (!job) return;
    if (const std::string problem = child_.give(plan_.jobs[*job]); !problem.empty())
      end_.problems.push_back(error("a process for a job cannot be started: " + problem));
  }

  /// One job to each idle worker; while there are plenty, one more, so that no rank waits for this one.
  void hand_out() {
    for (const std::size_t load : {0U, 1U})
      for (std::size_t number = 1; number < workers_.size() && end_.problems.empty(); ++number) {
        Worker& worker = workers_[number];
        if (worker.state != Worker::State::there || worker.jobs.size() != load) continue;
        if (load == 1 && queue_.ready() < 4 * workers_.size()) continue;
        const auto job = next();
        if (!job) {
          starved_ = true;  // from now on workers wait for jobs, not for us
          return;
        }
        const Order order{static_cast<std::int64_t>(*job), 1 + queue_.attempts_at(*job),
                          queue_.attempts_allowed(plan_.jobs[*job].key)};
        worker.jobs.push_back(*job);
        MPI_Send(&order, sizeof order, MPI_BYTE, static_cast<int>(number), to_worker, MPI_COMM_WORLD);
      }
  }

  /// Sorts the jobs anew only when something ended since.
  std::optional<std::size_t> next() {
    if (const auto job = queue_.next()) return job;
    if (!changed_) return std::nullopt;
    changed_ = false;
    queue_.refresh();
    return queue_.next();
  }

  /// With everybody idle: is there anything left, or may others of the store make something ready?
  bool more() {
    queue_.refresh();
    if (const auto job = queue_.next()) {
      if (const std::string problem = child_.give(plan_.jobs[*job]); !problem.empty())
        end_.problems.push_back(error("a process for a job cannot be started: " + problem));
      return true;
    }
    if (!queue_.waits_for_others()) return false;
    ::usleep(500'000);
    return true;
  }

  void nap() {
    pollfd descriptor{child_.busy() ? child_.descriptor() : -1, POLLIN, 0};
    const timespec time{0, nap_us * 1000};
    ::ppoll(&descriptor, 1, &time, nullptr);
  }

  const jobs::Plan& plan_;
  jobs::JobQueue queue_;
  jobs::JobChild child_;
  std::vector<Worker> workers_;  ///< by rank; ours is not used
  bool changed_ = true, starved_ = false;
  jobs::WorkEnd end_;
  std::vector<double> handing_, waited_;  ///< seconds, of each job
  double looked_ = 0;                     ///< for deaths, seconds
};

}  // namespace

bool rank_has_begun() { return begun_here; }

bool ranks_have_died() { return died_here; }

bool all_ranks_begin(bool this_one) {
  begun_here = true;
  int mine = this_one ? 1 : 0, all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return all != 0;
}

jobs::WorkEnd work_on_ranks(const jobs::Plan& plan, jobs::JobStore& store, const jobs::WorkOptions& options,
                            const jobs::JobRunner& runner, const std::function<void(const jobs::Progress&)>& progress) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  jobs::WorkEnd end;
  if (rank == 0) end.problems = jobs::put_texts(plan, store);  // before anybody reads them
  if (!all_ranks_begin(!has_errors(end.problems))) {
    if (end.problems.empty())
      end.problems.push_back(error("a rank cannot read the plan or write the store",
                                   "both must be on a file system that all nodes share"));
    return end;
  }
  go_on_after_deaths();
  if (rank == 0)
    end = Manager(plan, store, options, runner, ranks).run(progress);
  else
    be_worker(plan, store, options, runner);
  died_here = !all_ranks_live();
  return end;
}

}  // namespace isamap::cli
