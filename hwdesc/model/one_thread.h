// SPDX-License-Identifier: Apache-2.0
#pragma once
// The threads of a machine's programs, and the machine without them: what is the same for any number of threads is
// searched and priced there.

#include "hwdesc/model/parallel_units.h"

namespace isamap {

/// How many threads a program has.
inline std::int64_t thread_count(const HardwareModel& model) {
  const auto unit = threads_of_programs(model);
  return unit ? model.instances(*unit) : 1;
}

/// The same machine, whose programs have one thread.
inline HardwareModel on_one_thread(const HardwareModel& model) {
  HardwareModel one = model;
  std::vector<Unit> units = model.units();
  for (Unit& unit : units) {
    if (unit.threads.loop.empty()) continue;
    unit.count = 1;
    for (auto& [axis, count] : unit.axes) count = 1;
  }
  one.finish({std::move(units), model.memories(), model.links(), model.instructions(), model.states(), model.formats(),
              model.barriers(), model.async_objects(), model.symbols(), model.objects()});
  return one;
}

}  // namespace isamap
