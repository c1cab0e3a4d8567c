// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ours against ours: the model's choice against its alternatives, and two threads against one.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/cpu/cases.h"

namespace isamap::bench {

struct Comparison {
  std::string part;                      ///< "choice of the model", "two threads"
  std::string shape;                     ///< with its family
  double seconds = 0;                    ///< of the choice; with two threads
  double other = 0;                      ///< of the best candidate; with one thread
  std::string other_name;                ///< "4th of 8, predicted 1.05 times as long"
  bool right = true;                     ///< results equal
  std::string schedule, other_schedule;  ///< where they differ
  double ratio() const { return seconds > 0 ? other / seconds : 0; }
  bool operator==(const Comparison&) const = default;
};

nlohmann::json to_json(const Comparison& comparison);
Comparison comparison_of(const nlohmann::json& line);
std::string line_text(const Comparison& comparison);
/// Claim and result of a part: "geomean 0.97, worst 0.90 (...); claimed: at least 0.95"
std::string summary_text(const std::string& part, const std::vector<Comparison>& all);

constexpr const char* choice_part = "choice of the model";
constexpr const char* threads_part = "two threads";

/// The schedule returned by the search and others that it evaluated, interleaved. The best is selected by the even
/// rounds and timed by the odd ones, which avoids the bias of a minimum of noisy numbers.
Comparison compare_choice(const CpuCase& what, double seconds);
std::vector<CpuCase> choice_cases();

/// Wall time, the minimum of interleaved samples: only for a process whose OpenMP has two threads.
Comparison compare_threads(const CpuCase& what, double seconds);
std::vector<CpuCase> thread_cases();

}  // namespace isamap::bench
