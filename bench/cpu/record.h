// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is known of one shape after it was measured; one line of the results file each.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace isamap::bench {

/// Seconds of one call: the median of the samples, and their quartiles.
struct Timing {
  std::string name;  ///< "isamap", "oneDNN 3.2.0"
  double seconds = 0, low = 0, high = 0;
  int samples = 0;
  std::string rejected;  ///< why it counts for nothing; empty: it counts
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

/// The fastest of the others that counts; nullptr: there is none.
const Timing* best_peer(const Record& record);
/// Time of the best peer over ours; 0: one of them is missing or rejected.
double ratio(const Record& record);
/// Operations a second over the peak; 0: not known.
double peak_share(const Record& record, const Timing& timing);
/// The least time that operations and bytes need, over the time taken; 0: not known.
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
/// In the order in which the families come.
std::vector<FamilySummary> summarize(const std::vector<Record>& records);

/// "0.00123 s" is hard to read: "1.23 ms".
std::string time_text(double seconds);
std::string line_text(const Record& record);
std::string line_text(const FamilySummary& summary);

}  // namespace isamap::bench
