// SPDX-License-Identifier: Apache-2.0
#pragma once
// A run as one HTML file: machine and its peaks, and for each family a summary, a roofline with ours and the best peer,
// and every shape with every candidate.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/cpu/calibration.h"
#include "bench/cpu/comparisons.h"
#include "bench/cpu/record.h"

namespace isamap::bench {

struct Machine {
  std::string processor, compiler;
  std::vector<std::string> peers;
  std::vector<Level> levels;
  int pinned = -1;
  double load = 0;  ///< one-minute load average
};
nlohmann::json to_json(const Machine& machine);
Machine machine_of(const nlohmann::json& line);

struct CpuRun {
  Machine machine;
  std::vector<Record> records;
  std::vector<Comparison> comparisons;
};

std::string page_of(const CpuRun& run);

}  // namespace isamap::bench
