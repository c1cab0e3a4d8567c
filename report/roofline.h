// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parts of a model over the roofline of its machine (Williams, Waterman, Patterson: "Roofline", CACM 52(4), 2009).

#include <string>
#include <vector>

#include "isamap/hardware.h"

namespace isamap {

/// A link from a memory, outermost first; where there are caches, those that fill them.
struct RoofLevel {
  std::string link, from;
  double bandwidth = 0;       ///< bytes in a cycle
  std::int64_t capacity = 0;  ///< of the memory it comes from
};

struct Roof {
  double operations = 0;    ///< at most, in a cycle: of one of these instructions, at its interval on all its ports
  std::string instruction;  ///< that one
  std::vector<RoofLevel> levels;
};

/// `instructions`: by name, those that the schedules use; trees by their first one. One instance of each unit.
Roof roof_of(const HardwareModel& machine, const std::vector<std::string>& instructions);

struct RoofPoint {
  std::string name;
  double operations = 0, bytes = 0;         ///< of one run; bytes: inputs, weights and outputs, each once
  double cycles = 0, predicted_cycles = 0;  ///< measured (0: not timed), and by the cost model
};

/// Operations in a cycle that the roof allows: the bytes come from the smallest memory that holds all of them.
double attainable(const Roof& roof, const RoofPoint& point);

/// The figure, and a table of the parts with their share of what the roof allows.
std::string roofline(const Roof& roof, const std::vector<RoofPoint>& points);

}  // namespace isamap
