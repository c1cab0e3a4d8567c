// SPDX-License-Identifier: Apache-2.0
#pragma once
// A job: one unit of work that any process may do at any time, as text. Its key is the hash of that text, so it holds
// what decides the result (verb, kernel, machine, options, seed, versions) and never a clock, a host or a position.
//
//   {"kernel":"6c62..","options":{..},"seed":3,"target":"a01f..","verb":"lab","versions":{"isamap":"0.1.0","record":1}}
//
// Long texts (kernels, machines) are in it by their hash; the plan and the store hold them once (docs/clusters.md).

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "isamap/result.h"

namespace isamap::jobs {

constexpr int record_version = 1;  ///< of plans, jobs and records

/// 32 hexadecimal digits of a text: FNV-1a, 128 bits.
std::string content_key(std::string_view text);

struct Job {
  std::string text;                ///< canonical: JSON on one line, members in alphabetical order
  std::string key;                 ///< content_key(text)
  std::string verb, name;          ///< "lab"; "gemm_64, genetic, seed 3": for messages
  std::vector<std::string> needs;  ///< keys of jobs whose results it reads
  std::vector<std::string> after;  ///< keys of jobs that end before, with a result or without; it reads those there are
  std::vector<std::string> texts;  ///< hashes of the texts it refers to
  std::string device;              ///< key of the only device that may do it; empty: any
};

/// From JSON in any layout: an object with `verb`, `name` and, where they apply, `needs`, `after`, `texts`, `device`.
Result<Job> job_of(const std::string& json, const SourceLocation& where = {});

/// Jobs in their order, and the texts they refer to.
struct Plan {
  std::string verb;                          ///< "lab", "tune", "sweep"
  std::string head;                          ///< JSON that the results of the whole plan need
  std::vector<Job> jobs;                     ///< no key twice
  std::map<std::string, std::string> texts;  ///< by content_key

  /// Adds a text; returns its hash.
  std::string add_text(const std::string& text);
  /// Adds a job unless it is there; returns its key.
  std::string add(const std::string& json);
  std::map<std::string, std::size_t> places;  ///< of the jobs, by key
};

/// JSON lines: a header, the texts, the jobs.
std::string print(const Plan& plan);
Result<Plan> parse_plan(const std::string& text, const std::string& file);

/// "3/8": the jobs whose key, its halves combined and mixed, is 3 modulo 8.
struct Shard {
  std::uint64_t number = 0, of = 1;
  std::uint64_t number_of(const std::string& key) const;  ///< of the shard that holds it
  bool holds(const std::string& key) const { return number_of(key) == number; }
};
Result<Shard> parse_shard(const std::string& text);

}  // namespace isamap::jobs
