// SPDX-License-Identifier: Apache-2.0
#pragma once
// A child process that does jobs, one after the other: a job that crashes, eats memory or does not end takes the child
// with it and nothing else. The child is a fork, so what it has read (machines, mappings) serves the next job.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "jobs/record.h"

namespace isamap::jobs {

/// How a job ended: code 0 with a result, or another exit code of the program (include/isamap/compile.h).
struct Outcome {
  int code = 0;
  std::string result;  ///< JSON
  std::string text;    ///< messages of a failure; else nothing
};
struct JobRunner {
  std::function<Outcome(const Job&)> run;
  std::function<void()> begin = [] {};  ///< called once in each child, before its first job
};

struct ChildLimits {
  double seconds = 3600;          ///< of each job
  std::int64_t memory_bytes = 0;  ///< of the process; 0: not limited
};

/// Address space of this process, which a child begins with and which counts for its limit; 0: not known.
std::int64_t mapped_bytes();

class JobChild {
 public:
  JobChild(JobRunner runner, ChildLimits limits) : runner_(std::move(runner)), limits_(limits) {}
  ~JobChild();
  JobChild(const JobChild&) = delete;
  JobChild& operator=(const JobChild&) = delete;

  /// Starts the child if there is none. Not while it is busy. Empty: it has the job; else the error.
  std::string give(const Job& job);
  bool busy() const { return busy_; }
  const Job& job() const { return job_; }
  double since() const { return since_; }  ///< seconds since 1970

  /// Readable when there may be an end.
  int descriptor() const { return socket_; }
  /// The end of the job, without waiting: its record without attempt and place. A child whose time is over is ended.
  std::optional<Record> poll();

 private:
  std::string start();
  [[noreturn]] void serve(int socket);
  Record ended(bool late);
  int reap();
  void end_child();

  JobRunner runner_;
  ChildLimits limits_;
  pid_t child_ = 0;
  int socket_ = -1, messages_ = -1;  ///< messages_: a file in memory, stderr of the child
  bool busy_ = false;
  Job job_;
  double since_ = 0, begun_ = 0;  ///< begun_: by a clock that only goes forward
  std::string received_;
};

}  // namespace isamap::jobs
