// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the processor can do, measured in the same process as everything else: for types of operands the instruction
// that does most, and for a size of data the rate at which it is read again and again.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/cpu/peak.h"

namespace isamap::bench {

/// Reading `bytes` of data over and over, at the start of the run.
struct Level {
  std::string name;  ///< "L2, 1 MiB": the cache that holds them by its size, "memory" where none does
  double bytes = 0, rate = 0;
};

class Calibration {
 public:
  /// "f32", "bf16", "u8s8". Nothing: no instruction for them runs here.
  PeakProgram* compute(const std::string& types);
  /// Data of at least so many bytes, up to the largest that is measured.
  PeakProgram* stream(double bytes);
  static double stream_size(double bytes);  ///< which that is
  /// From small to large, the largest data of each level.
  std::vector<Level> levels();

 private:
  std::map<std::string, std::unique_ptr<PeakProgram>> compute_;
  std::map<std::int64_t, std::unique_ptr<PeakProgram>> stream_;
};

}  // namespace isamap::bench
