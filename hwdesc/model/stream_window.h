// SPDX-License-Identifier: Apache-2.0
#pragma once
// The reordering window of command streams (backends/assembly/command_order.h), which bounds the overlap that the cost
// model assumes (scheduler/cost/command_stream_model.h).

#include <algorithm>

#include "isamap/hardware.h"

namespace isamap {

/// Has the machine queues that tokens order? Their commands stay in the order of the text.
inline bool orders_itself(const HardwareModel& model) {
  return std::any_of(model.units().begin(), model.units().end(), [](const Unit& unit) { return unit.tokens; });
}

/// Commands in program order among which the next one is chosen; 1: no reordering.
inline std::size_t stream_window(const HardwareModel& model) {
  return orders_itself(model) ? 1 : static_cast<std::size_t>(std::max<std::int64_t>(model.program.window, 1));
}

}  // namespace isamap
