// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a search by the model alone leaves to a formula, or cannot tell apart: for who measures (`isamap tune`).

#include <string>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/kernel.h"
#include "isamap/schedule.h"

namespace isamap {

struct Variation {
  std::string what;  ///< "B asked for 8 steps ahead", "short tiles of j masked"
  Nest nest;
};

/// The same nest with lines asked for at half and at twice the distance, and with none asked for; and with the last
/// tile of a dim whole, its lanes masked, instead of code of its own for what is left. Each of them lowers in
/// `schedule`, whose nest of `statement` it takes the place of.
std::vector<Variation> variations(const Schedule& schedule, std::size_t statement, const Kernel& kernel,
                                  const HardwareModel& model);

}  // namespace isamap
