// SPDX-License-Identifier: Apache-2.0
#pragma once
// A store of records: a folder of files of lines, one file for each process that writes, so that writers need no locks
// and a network file system will do.
//
//   STORE/HOST.PID.jsonl   one record a line, each appended with one write()
//   STORE/HOST.PID.now     jobs that this process is doing, for `status` and for --steal
//   STORE/blobs/HASH       long texts: kernels, machines, schedules
//
// The lines are the truth; everything else (an SQLite index, a table) is made from them. A line that was cut off, by a
// kill or a full disk, or changed later, is left out, and its job is done again.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "jobs/record.h"

namespace isamap::jobs {

std::string host_name();

/// Where a record is in the files.
struct Place {
  std::size_t file = 0;
  std::uint64_t offset = 0, size = 0;  ///< bytes; size without the newline
  bool checked = false;                ///< the hash in the line is that of the line
};

/// What the records say of a job.
struct Known {
  std::vector<Place> ok, wrong, failed;      ///< in the order they were read
  int attempts = 0;                          ///< the number of the last that failed
  int allowed = 0;                           ///< attempts that its worker made before it gave up; 0: not said
  std::optional<Place> last_failed;          ///< of that attempt, whatever was read first
  bool told_ok = false, told_wrong = false;  ///< by `note`: the record may not be visible here yet

  void failed_at(int attempt, int of);  ///< a failed record says so; one of an earlier attempt changes nothing
};

/// A job that a process is doing.
struct Running {
  std::string key, host;
  int pid = 0;
  double since = 0;    ///< seconds since 1970, by the clock of that host
  bool alive = true;   ///< false: its process has ended, or was not heard of for a minute
  bool claim = false;  ///< it looks whether others do the job, and begins if none does
};

class JobStore {
 public:
  /// `create`: makes a missing folder. A file is an error.
  static Result<JobStore> open(const std::string& path, bool create);
  ~JobStore();
  JobStore(JobStore&&) noexcept;

  const std::string& path() const;
  /// Reads what was written since the last call. Warnings: lines that are no records, each once.
  Diagnostics refresh();
  std::size_t damaged() const;  ///< lines that are no records, so far
  const std::map<std::string, Known>& jobs() const;
  const Known* find(const std::string& key) const;
  Result<Record> read(const Place& place) const;
  /// File and line, for messages.
  SourceLocation where(const Place& place) const;
  /// Of the results of this job only those count for which `keep` is true: as if the others were not there.
  void keep_results(const std::string& key, const std::function<bool(const Place&)>& keep);
  /// The bytes of a record, without a newline.
  Result<std::string> line(const Place& place) const;

  /// Appends to the file of this process, whole or not at all: what a full disk cut off is removed again. Records that
  /// were appended are known at once.
  Diagnostics append(const Record& record);
  Diagnostics append_lines(const std::string& lines);

  /// Another process has told us of a record that it wrote.
  void note(const std::string& key, End end, int attempt, int allowed);

  /// Writes a long text once; returns its hash.
  Result<std::string> put(const std::string& text);
  Result<std::string> get(const std::string& hash) const;
  std::vector<std::string> blobs() const;

  /// What this process is doing from now on; empty: nothing. Repeat it every few seconds: it says that we are alive.
  struct Mark {
    std::string key;
    double since = 0;  ///< seconds since 1970
    bool claim = false;
  };
  void mark(const std::vector<Mark>& marks);
  std::vector<Running> running() const;

 private:
  struct State;
  explicit JobStore(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace isamap::jobs
