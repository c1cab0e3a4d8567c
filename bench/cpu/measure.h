// SPDX-License-Identifier: Apache-2.0
#pragma once
// Candidates in one process: every round runs each once, in an order that rotates, beside programs that show what the
// processor can do at that moment. Other processes do not count: time is that of the thread.

#include <functional>
#include <string>
#include <vector>

namespace isamap::bench {

double thread_seconds();

struct Candidate {
  std::string name;
  std::function<void()> run;
  std::vector<double> seconds = {};  ///< of one run, one value a round
};

/// Of sorted or unsorted values; 0 where there are none. `share` 0.5 is the median.
double quantile(std::vector<double> values, double share);
inline double median(const std::vector<double>& values) { return quantile(values, 0.5); }

/// Samples of at least 2 ms, five rounds or more, until `budget` seconds are spent or 41 rounds are done.
void measure(std::vector<Candidate>& candidates, double budget);

/// Why a time is not believed: it needs more operations a second than the processor was seen to do. Empty: it is fine.
/// `peak` is the best operations a second of the same rounds. Clocks and frequencies shake by a few per cent.
std::string above_peak(double operations, double seconds, double peak);

/// The thread stays on one processor: the one it runs on, or the given one. Returns which, -1 where none was allowed.
int pin(int processor);

}  // namespace isamap::bench
