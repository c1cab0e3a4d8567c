// SPDX-License-Identifier: Apache-2.0
#pragma once
// Times something on every example x model; a benchmark fails when its claim does not hold.

#include <functional>
#include <string>

#include "isamap/hardware.h"
#include "isamap/mapper.h"

namespace isamap::bench {

/// Seconds of processor time of the quickest of three runs: other processes do not count.
double best_of_three(const std::function<void()>& work);

/// Best of three; prints the ten slowest and how many are above `limit` seconds. Returns the exit code.
int time_matrix(const std::string& what, double limit,
                const std::function<std::string(const Kernel&, const HardwareModel&)>& work);

}  // namespace isamap::bench
