// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/launches.h"

#include <algorithm>

#include "support/overloaded.h"

namespace isamap {
namespace {

void note(const std::vector<Node>& nodes, BufferUse& use) {
  const auto read = [&](const Ref& ref) {
    if (ref.buffer.valid()) use.read[ref.buffer.index()] = true;
  };
  const auto write = [&](const Ref& ref) {
    if (ref.buffer.valid()) use.written[ref.buffer.index()] = true;
  };
  for (const Node& node : nodes)
    std::visit(overloaded{[&](const Loop& loop) { note(loop.body, use); },
                          [&](const Guard& guard) {
                            note(guard.then, use);
                            note(guard.otherwise, use);
                          },
                          [&](const Call& call) {
                            for (std::size_t i = 0; i < call.operands.size(); ++i)
                              i == 0 ? write(call.operands[i]) : read(call.operands[i]);
                            for (const Ref& mask : call.masks) read(mask);
                            read(call.counter);
                          },
                          [&](const Sync& sync) { read(sync.counter); },
                          [&](const Element& element) {
                            write(element.write);
                            for (const Ref& r : element.reads) read(r);
                          },
                          [](const auto&) {}},
               node.is);
}

bool holds_grid_loop(const std::vector<Node>& nodes, const HardwareModel& model, UnitId grid) {
  return std::any_of(nodes.begin(), nodes.end(), [&](const Node& node) {
    if (const auto* guard = std::get_if<Guard>(&node.is))
      return holds_grid_loop(guard->then, model, grid) || holds_grid_loop(guard->otherwise, model, grid);
    const auto* loop = std::get_if<Loop>(&node.is);
    if (loop == nullptr) return false;
    const auto unit = model.find_unit(loop->unit);
    return (unit && model.inside(grid, *unit)) || holds_grid_loop(loop->body, model, grid);
  });
}

}  // namespace

std::optional<MemoryId> scratchpad_of(const HardwareModel& model, UnitId grid) {
  for (std::size_t m = 0; m < model.memories().size(); ++m)
    if (const Memory& memory = model.memories()[m]; memory.per == grid && memory.kind == MemoryKind::scratchpad)
      return make_id<MemoryId>(m);
  return std::nullopt;
}

bool block_holds(const HardwareModel& model, UnitId grid, std::int64_t bytes) {
  const auto memory = scratchpad_of(model, grid);
  const std::int64_t capacity = memory ? model.memory(*memory).capacity : 0;
  return memory && capacity <= 0 ? true : bytes <= capacity;
}

BufferUse buffer_use(const std::vector<Node>& nodes, const Program& program) {
  BufferUse use{std::vector<bool>(program.buffers.size()), std::vector<bool>(program.buffers.size())};
  note(nodes, use);
  return use;
}

std::vector<HostStep> launches(const std::vector<Node>& body, const Program& program, const HardwareModel& model,
                               UnitId grid) {
  // last[i]: the last node that shares a block-private buffer with node i or an earlier one.
  std::vector<std::size_t> last(body.size());
  std::vector<std::size_t> first_use(program.buffers.size(), body.size());
  for (std::size_t i = 0; i < body.size(); ++i) {
    last[i] = i;
    const BufferUse use = buffer_use({body[i]}, program);
    for (std::size_t b = 0; b < program.buffers.size(); ++b) {
      if (!use.read[b] && !use.written[b]) continue;
      if (!model.inside(model.memory(program.buffers[b].memory).per, grid)) continue;
      first_use[b] = std::min(first_use[b], i);
      last[first_use[b]] = i;
    }
  }
  std::vector<HostStep> steps;
  for (std::size_t i = 0; i < body.size();) {
    std::size_t end = last[i];
    for (std::size_t j = i; j <= end; ++j) end = std::max(end, last[j]);
    const auto* loop = std::get_if<Loop>(&body[i].is);
    if (const auto* comment = std::get_if<Comment>(&body[i].is)) {
      steps.push_back({*comment});
    } else if (end == i && loop != nullptr && loop->unit.empty() && holds_grid_loop(loop->body, model, grid)) {
      steps.push_back({HostLoop{loop->variable, loop->trip, launches(loop->body, program, model, grid)}});
    } else {
      steps.push_back({Launch{
          {body.begin() + static_cast<std::ptrdiff_t>(i), body.begin() + static_cast<std::ptrdiff_t>(end) + 1}}});
    }
    i = end + 1;
  }
  return steps;
}

}  // namespace isamap
