// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stores as something else: one store out of several, tables, an SQLite index. All are made from the lines and may be
// thrown away.

#include <string>
#include <vector>

#include "jobs/store.h"

namespace isamap::jobs {

struct Merged {
  std::size_t records = 0, new_records = 0, texts = 0;
  Diagnostics damaged;  ///< texts that are not what their hash names: left out
};
/// Adds the records and texts of `from` that `to` lacks, byte for byte; equal lines once.
Result<Merged> merge(const std::vector<JobStore*>& from, JobStore& to);

/// One row a record, by key, end and attempt.
struct Row {
  std::string key, verb, name, end, host, device, isamap, job, result, failure;
  int attempt = 0;
  double seconds = 0;
};
Result<std::vector<Row>> rows_of(const JobStore& store);

/// Every record as its line, in the order of the files.
Result<std::string> lines(const JobStore& store);
/// One line a job, by key, with what is a function of the job alone: {"key":..,"end":..,"job":..,"result":..}. Equal
/// stores of equal plans give equal bytes, whoever did the jobs and however often. Results that say where and when they
/// were measured are left out of that promise.
Result<std::string> sorted_lines(const JobStore& store);
/// `sorted`: the columns of `sorted_lines` only, equal rows once.
std::string csv(const std::vector<Row>& rows, bool sorted);

/// Makes the table `record` anew in an SQLite file. Refused where SQLite is not safe (support/file_system.h).
Diagnostics write_index(const std::vector<Row>& rows, const std::string& path);

/// Parquet, where the program was built with Arrow's C++ library.
bool parquet_supported();
Diagnostics write_parquet(const std::vector<Row>& rows, const std::string& path);

}  // namespace isamap::jobs
