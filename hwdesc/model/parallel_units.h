// SPDX-License-Identifier: Apache-2.0
#pragma once
// The units whose instances run in parallel in the programs of a machine.

#include <algorithm>
#include <optional>
#include <vector>

#include "isamap/hardware.h"

namespace isamap {

/// As threads of the language (`threads`), or as instances that read their index: the unit has an `index`, or one
/// inside it has.
inline bool side_by_side(const HardwareModel& model, UnitId unit) {
  if (!model.unit(unit).threads.loop.empty()) return true;
  for (std::size_t u = 0; u < model.units().size(); ++u)
    if (const UnitId id = make_id<UnitId>(u); !model.unit(id).index.empty() && model.inside(id, unit)) return true;
  return false;
}

/// The unit whose instances are threads of the language, if there are several; nothing: programs have one thread.
inline std::optional<UnitId> threads_of_programs(const HardwareModel& model) {
  for (std::size_t u = 0; u < model.units().size(); ++u)
    if (!model.units()[u].threads.loop.empty() && model.units()[u].count > 1) return make_id<UnitId>(u);
  return std::nullopt;
}

/// Threads that share a packed copy of so many elements outside of distributed loops: all, where what they save of its
/// least time (`copy_contiguous`) exceeds the start of a loop on them, otherwise one.
inline double threads_of_copy(const HardwareModel& model, double elements) {
  const auto unit = threads_of_programs(model);
  if (!unit) return 1;
  const auto count = static_cast<double>(model.unit(*unit).count);
  return elements * model.timing.copy_contiguous * (1 - 1 / count) > model.unit(*unit).threads.start ? count : 1;
}

/// The outermost unit with an `index` that is or encloses `inner`: the thread blocks of a launch.
inline std::optional<UnitId> outermost_numbered(const HardwareModel& model, UnitId inner) {
  std::optional<UnitId> found;
  for (UnitId at = inner; at.valid(); at = model.unit(at).parent)
    if (!model.unit(at).index.empty()) found = at;
  return found;
}

/// The units with an `index` inside `block`, outermost first: what the threads of a block are numbered by.
inline std::vector<UnitId> units_of_threads(const HardwareModel& model, UnitId block) {
  std::vector<UnitId> units;
  for (std::size_t u = 0; u < model.units().size(); ++u)
    if (const UnitId id = make_id<UnitId>(u); id != block && model.inside(id, block) && !model.unit(id).index.empty())
      units.push_back(id);
  std::sort(units.begin(), units.end(), [&](UnitId a, UnitId b) { return a != b && model.inside(b, a); });
  return units;
}

}  // namespace isamap
