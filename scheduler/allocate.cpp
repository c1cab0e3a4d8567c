#include "scheduler/allocate.h"

#include <algorithm>
#include <map>

#include "ir/liveness.h"
#include "support/arithmetic.h"

namespace isamap {

namespace {

struct Placed {
  Interval live, place;
};

bool overlap(const Interval& a, const Interval& b) { return a.low <= b.high && b.low <= a.high; }

// The lowest aligned address at which `size` units meet nothing that is alive at the same time.
std::int64_t first_fit(const std::vector<Placed>& placed, const Interval& live, std::int64_t size, std::int64_t align) {
  std::int64_t at = 0;
  std::vector<Interval> taken;
  for (const Placed& p : placed)
    if (overlap(p.live, live)) taken.push_back(p.place);
  std::sort(taken.begin(), taken.end(), [](const Interval& a, const Interval& b) { return a.low < b.low; });
  for (const Interval& t : taken)
    if (overlap(t, {at, at + size - 1})) at = round_up(t.high + 1, align);
  return at;
}

}  // namespace

void allocate(Program& program, const HardwareModel& model) {
  const auto live = live_ranges(program);
  std::vector<std::size_t> order(live.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return live[a].low < live[b].low; });
  std::map<MemoryId, std::vector<Placed>> memories;
  for (std::size_t i : order) {
    Buffer& buffer = program.buffers[i];
    const std::int64_t size = footprint(buffer);
    const bool is_register = buffer.slots >= 0;
    if (!is_register) buffer.align = std::max(buffer.align, model.memory(buffer.memory).granularity);
    const std::int64_t align = is_register ? buffer.registers_per_slot : buffer.align;
    auto& placed = memories[buffer.memory];
    buffer.address = size == 0 ? 0 : first_fit(placed, live[i], size, align);
    if (size > 0 && live[i].low <= live[i].high)
      placed.push_back({live[i], {buffer.address, buffer.address + size - 1}});
  }
}

}  // namespace isamap
