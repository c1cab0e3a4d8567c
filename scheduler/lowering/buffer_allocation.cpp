// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lowering/buffer_allocation.h"

#include <algorithm>
#include <map>
#include <set>
#include <variant>

#include "hwdesc/model/program_language.h"
#include "ir/liveness.h"
#include "support/arithmetic.h"

namespace isamap {

namespace {

/// Shapes in which calls access a buffer, one extent for each subscript.
using Shapes = std::set<std::vector<std::int64_t>>;

struct LiveBuffer {
  Interval live;
  /// Tile registers with state (shape) are configured only when none of the file is live. So over `run`, during which
  /// some always are, a register has one shape.
  std::optional<Interval> run;
  Shapes shapes;
};

struct Placed {
  LiveBuffer buffer;
  Interval place;
};

bool overlap(const Interval& a, const Interval& b) { return a.low <= b.high && b.low <= a.high; }

bool may_share(const LiveBuffer& a, const LiveBuffer& b) {
  return !overlap(a.live, b.live) && !(a.run && b.run && overlap(*a.run, *b.run) && a.shapes != b.shapes);
}

// First fit: the lowest aligned address from `from` on where `size` units overlap no buffer that interferes.
std::int64_t first_fit(const std::vector<Placed>& placed, const LiveBuffer& wanted, std::int64_t size,
                       std::int64_t align, std::int64_t from = 0) {
  std::int64_t at = round_up(from, align);
  std::vector<Interval> taken;
  for (const Placed& p : placed)
    if (!may_share(p.buffer, wanted)) taken.push_back(p.place);
  std::sort(taken.begin(), taken.end(), [](const Interval& a, const Interval& b) { return a.low < b.low; });
  for (const Interval& t : taken)
    if (overlap(t, {at, at + size - 1})) at = round_up(t.high + 1, align);
  return at;
}

void find_shapes(const std::vector<Node>& nodes, const HardwareModel& model, std::vector<Shapes>& shapes) {
  for (const Node& node : nodes) {
    if (const auto* loop = std::get_if<Loop>(&node.is)) find_shapes(loop->body, model, shapes);
    if (const auto* guard = std::get_if<Guard>(&node.is)) {
      find_shapes(guard->then, model, shapes);
      find_shapes(guard->otherwise, model, shapes);
    }
    const auto* call = std::get_if<Call>(&node.is);
    if (call == nullptr) continue;
    const Instruction& instruction = model.instruction(call->instruction);
    Ranges ranges;
    for (std::size_t d = 0; d < call->extents.size(); ++d)
      ranges[instruction.statement().domain.dims[d].name] = {0, call->extents[d] - 1};
    for (std::size_t a = 0; a < call->operands.size(); ++a) {
      if (!call->operands[a].buffer.valid()) continue;
      std::vector<std::int64_t> shape;
      for (const AffineExpr& e : access_of(instruction.statement(), static_cast<int>(a)).index) {
        const auto range = bounds(e, ranges);
        shape.push_back(range ? range->high + 1 : 0);
      }
      shapes[call->operands[a].buffer.index()].insert(std::move(shape));
    }
  }
}

/// Maximal intervals during which some buffer of a memory is live.
std::vector<Interval> runs_of(std::vector<Interval> live) {
  std::sort(live.begin(), live.end(), [](const Interval& a, const Interval& b) { return a.low < b.low; });
  std::vector<Interval> runs;
  for (const Interval& each : live) {
    if (each.low > each.high) continue;
    if (runs.empty() || runs.back().high < each.low)
      runs.push_back(each);
    else
      runs.back().high = std::max(runs.back().high, each.high);
  }
  return runs;
}

/// Live ranges and shapes of each buffer.
std::vector<LiveBuffer> live_buffers(const Program& program, const HardwareModel& model) {
  const auto live = live_ranges(program);
  std::vector<Shapes> shapes(program.buffers.size());
  find_shapes(program.body, model, shapes);
  std::map<MemoryId, std::vector<Interval>> in_memory;
  for (std::size_t i = 0; i < live.size(); ++i) in_memory[program.buffers[i].memory].push_back(live[i]);
  std::vector<LiveBuffer> buffers;
  for (std::size_t i = 0; i < live.size(); ++i) {
    buffers.push_back({live[i], std::nullopt, std::move(shapes[i])});
    const MemoryId memory = program.buffers[i].memory;
    if (model.memory(memory).fields.empty()) continue;
    for (const Interval& run : runs_of(in_memory.at(memory)))
      if (overlap(run, live[i])) buffers.back().run = run;
  }
  return buffers;
}

/// A buffer to place in a memory.
struct Wanted {
  Buffer* buffer = nullptr;
  const LiveBuffer* live = nullptr;
  std::int64_t size = 0, align = 1;
};

/// From address 0 on. First fit always places all.
void place_first(const std::vector<Wanted>& buffers) {
  std::vector<Placed> placed;
  for (const auto& [buffer, live, size, align] : buffers) {
    buffer->address = size == 0 ? 0 : first_fit(placed, *live, size, align);
    if (size > 0 && live->live.low <= live->live.high)
      placed.push_back({*live, {buffer->address, buffer->address + size - 1}});
  }
}

/// Next fit: each behind the one before, from address 0 again where the memory ends. False: one did not fit, though
/// first fit may place all.
bool place_next(const std::vector<Wanted>& buffers, std::int64_t capacity) {
  std::vector<Placed> placed;
  std::int64_t next = 0;
  for (const auto& [buffer, live, size, align] : buffers) {
    buffer->address = 0;
    if (size == 0) continue;
    buffer->address = first_fit(placed, *live, size, align, next);
    if (buffer->address + size > capacity) buffer->address = first_fit(placed, *live, size, align);
    if (buffer->address + size > capacity) return false;
    next = buffer->address + size;
    if (live->live.low <= live->live.high) placed.push_back({*live, {buffer->address, next - 1}});
  }
  return true;
}

}  // namespace

void allocate(Program& program, const HardwareModel& model) {
  const auto buffers = live_buffers(program, model);
  std::vector<std::size_t> order(buffers.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return buffers[a].live.low < buffers[b].live.low; });
  std::map<MemoryId, std::vector<Wanted>> memories;
  for (const std::size_t i : order) {
    Buffer& buffer = program.buffers[i];
    const bool is_register = buffer.slots >= 0;
    if (!is_register) buffer.align = std::max(buffer.align, model.memory(buffer.memory).granularity);
    memories[buffer.memory].push_back(
        {&buffer, &buffers[i], footprint(buffer), is_register ? buffer.registers_per_slot : buffer.align});
  }
  for (const auto& [id, wanted] : memories) {
    const Memory& memory = model.memory(id);
    const bool apart = is_command_stream(model) && id != model.home();
    if (!apart || !place_next(wanted, memory.is_register() ? memory.count : memory.capacity)) place_first(wanted);
  }
}

}  // namespace isamap
