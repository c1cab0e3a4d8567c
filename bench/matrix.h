// SPDX-License-Identifier: Apache-2.0
#pragma once
// Times a function on every example x model; the benchmark fails when its claim does not hold.

#include <functional>
#include <string>

#include "isamap/hardware.h"
#include "isamap/mapper.h"

namespace isamap::bench {

/// CPU time in seconds, the minimum of three runs.
double best_of_three(const std::function<void()>& work);

/// Best of three; prints the ten slowest and the number above `limit` seconds. Returns the exit code.
int time_matrix(const std::string& what, double limit,
                const std::function<std::string(const Kernel&, const HardwareModel&)>& work);

}  // namespace isamap::bench
