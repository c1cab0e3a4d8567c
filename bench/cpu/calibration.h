// SPDX-License-Identifier: Apache-2.0
#pragma once
// Peak rates measured in the same process: by operand types the fastest instruction, and by data size the sustained
// read bandwidth.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/cpu/peak.h"

namespace isamap::bench {

/// Read bandwidth of a working set of `bytes`, at the start of the run.
struct Level {
  std::string name;  ///< "L2, 1 MiB": the smallest cache that fits, or "memory"
  double bytes = 0, rate = 0;
};

class Calibration {
 public:
  /// "f32", "bf16", "u8s8". Nothing: no instruction for them runs here.
  PeakProgram* compute(const std::string& types);
  /// The smallest measured working set of at least so many bytes, or the largest.
  PeakProgram* stream(double bytes);
  static double stream_size(double bytes);  ///< which that is
  /// Ascending, the largest working set of each level.
  std::vector<Level> levels();

 private:
  std::map<std::string, std::unique_ptr<PeakProgram>> compute_;
  std::map<std::int64_t, std::unique_ptr<PeakProgram>> stream_;
};

}  // namespace isamap::bench
