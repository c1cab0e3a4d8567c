// SPDX-License-Identifier: Apache-2.0
#pragma once
// Seconds since something began.

#include <chrono>

namespace isamap {

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

}  // namespace isamap
