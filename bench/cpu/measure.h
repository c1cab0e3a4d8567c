// SPDX-License-Identifier: Apache-2.0
#pragma once
// Interleaved timing in one process: every round runs each candidate once in rotating order, together with peak
// programs. Thread CPU time, so other processes do not count.

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

/// Why a time is rejected: it implies more operations per second than the measured peak. Empty: accepted. `peak`: best
/// operations per second of the same rounds; clocks and frequencies vary by a few per cent.
std::string above_peak(double operations, double seconds, double peak);

/// Pins the thread to its current or the given processor. Returns its number, -1 if not permitted.
int pin(int processor);

}  // namespace isamap::bench
