// SPDX-License-Identifier: Apache-2.0
#pragma once
// The measurement of one shape; one line of the results file each.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace isamap::bench {

/// Seconds of one call: the median of the samples, and their quartiles.
struct Timing {
  std::string name;  ///< "isamap", "oneDNN 3.2.0"
  double seconds = 0, low = 0, high = 0;
  int samples = 0;
  std::string rejected;  ///< why it is rejected; empty: accepted
  bool operator==(const Timing&) const = default;
};

struct Record {
  std::string family, shape;
  std::string target, schedule;  ///< the chosen one
  double operations = 0;         ///< two for each multiply-add, those with padding left out
  double bytes = 0;              ///< of all arguments, once
  double peak = 0;               ///< operations a second, the best of the same rounds; 0: not measured
  std::string peak_of;           ///< "mma of npu, 24 sums"
  double bandwidth = 0;          ///< bytes a second of data of that size, median of the same rounds; 0: not measured
  double difference = 0;         ///< of all results: largest difference over largest value
  double compile_seconds = 0, predicted_cycles = 0;
  std::string compiler;
  std::vector<Timing> timings;  ///< ours first
  std::vector<std::string> notes;
  bool operator==(const Record&) const = default;
};

/// The fastest accepted peer; nullptr: none.
const Timing* best_peer(const Record& record);
/// Time of the best peer over ours; 0: one of them is missing or rejected.
double ratio(const Record& record);
/// Operations a second over the peak; 0: not known.
double peak_share(const Record& record, const Timing& timing);
/// Roofline time (by operations and bytes) over the measured time; 0: unknown.
double roof_share(const Record& record, const Timing& timing);

nlohmann::json to_json(const Record& record);
Record record_of(const nlohmann::json& line);

struct FamilySummary {
  std::string family;
  std::size_t shapes = 0, compared = 0;
  double geomean = 0, worst = 0;  ///< ratio to the best peer; 0: nothing was compared
  std::string worst_shape;
  double peak_share = 0, roof_share = 0;  ///< of ours, geometric means
};
/// In order of the families.
std::vector<FamilySummary> summarize(const std::vector<Record>& records);

/// With a unit prefix: "1.23 ms".
std::string time_text(double seconds);
std::string line_text(const Record& record);
std::string line_text(const FamilySummary& summary);

}  // namespace isamap::bench
