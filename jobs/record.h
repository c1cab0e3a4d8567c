// SPDX-License-Identifier: Apache-2.0
#pragma once
// A record: how one attempt at a job ended, as one line of JSON. Failures are records too. The key and the end come
// first and a hash of the line last, so that a reader of many lines need not parse them.

#include <optional>
#include <string>
#include <string_view>

#include "jobs/job.h"

namespace isamap::jobs {

enum class End {
  ok,      ///< it has a result
  wrong,   ///< a program computed a wrong result: never tried again
  failed,  ///< it has none: an error, a signal, a limit
};
std::string_view name(End end);

/// Why there is no result.
struct Failure {
  int exit = 0;       ///< exit code of the job (include/isamap/compile.h); 0: it did not exit
  int signal = 0;     ///< that ended its process; 0: none
  bool late = false;  ///< the limit of time was reached
  std::string text;   ///< its messages
};
/// "exit code 3: ...", "signal 9", "not done after 60 s".
std::string text_of(const Failure& failure);

/// Where it was done. Never part of a key.
struct By {
  std::string host, isamap;  ///< isamap: version
  std::string device;        ///< key of the machine (jobs/device.h)
};

struct Record {
  std::string key, job;  ///< job: its text
  End end = End::ok;
  int attempt = 1;
  int attempts = 0;    ///< of a failed job: how many its worker makes before it gives up; 0: not said
  std::string result;  ///< JSON; "null" unless ok
  Failure failure;
  By by;
  double seconds = 0;  ///< that the job took
};

std::string line_of(const Record& record);  ///< with its newline
/// Nothing: the line is no record.
std::optional<Record> parse_record(std::string_view line);

/// The start of a line of `line_of`, without parsing the rest.
struct RecordHead {
  std::string_view key;
  End end = End::ok;
  int attempt = 0, attempts = 0;
};
std::optional<RecordHead> head_of(std::string_view line);

/// What ends a line of `line_of`: the hash of all that is before it, `,"check":"6c62272e07bb0142"}`. Nothing: it has
/// none, as those of older programs.
std::optional<bool> check_holds(std::string_view line);
/// The start of a line that is a record as it was written: its check holds. Without one it can be parsed, and its key
/// is that of its job.
std::optional<RecordHead> head_of_record(std::string_view line);

}  // namespace isamap::jobs
