// SPDX-License-Identifier: Apache-2.0
#pragma once
// How far ahead the scheduler of command streams looks (backends/assembly/command_order.h), and with it what a price
// may take to overlap (scheduler/stream_time.h).

#include <algorithm>
#include <cstdlib>
#include <string>

#include "hwdesc/hardware_model.h"

namespace isamap {

constexpr const char* stream_window_param = "stream_window";
constexpr std::size_t default_stream_window = 32;

/// Has the machine queues that tokens order? Their commands stay in the order of the text.
inline bool orders_itself(const HardwareModel& model) {
  return std::any_of(model.units().begin(), model.units().end(), [](const Unit& unit) { return unit.tokens; });
}

/// Commands of the line among which the next one is chosen; 1: they leave in its order. A machine states its own as the
/// parameter `stream_window`.
inline std::size_t stream_window(const HardwareModel& model) {
  if (orders_itself(model)) return 1;
  const auto stated = model.params.find(stream_window_param);
  if (stated == model.params.end()) return default_stream_window;
  return static_cast<std::size_t>(std::clamp<std::int64_t>(std::strtoll(stated->second.c_str(), nullptr, 10), 1, 4096));
}

}  // namespace isamap
