// SPDX-License-Identifier: Apache-2.0
#pragma once
// Variants that the cost model cannot rank, or leaves to a formula; `isamap tune` measures them.

#include <string>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/kernel.h"
#include "isamap/schedule.h"

namespace isamap {

struct TuningVariant {
  std::string what;  ///< "B prefetched 8 steps ahead", "tail of j masked"
  Nest nest;
};

/// The nest with prefetch at half and at twice the distance, and without; and with masked tails in place of tail code.
/// Each variant lowers in `schedule`, where it replaces the nest of `statement`.
std::vector<TuningVariant> tuning_variants(const Schedule& schedule, std::size_t statement, const Kernel& kernel,
                                           const HardwareModel& model);

}  // namespace isamap
