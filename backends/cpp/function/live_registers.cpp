// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/function/live_registers.h"

#include "ir/operand_use.h"

namespace isamap {
namespace {

struct Liveness {
  const Program& program;
  const HardwareModel& model;

  /// Upward-exposed reads of a block.
  LiveRegisters needed_by(const std::vector<Item>& items) const { return before(items, {}).front(); }

  std::vector<LiveRegisters> before(const std::vector<Item>& items, const LiveRegisters& after) const {
    std::vector<LiveRegisters> live(items.size() + 1);
    live.back() = after;
    for (std::size_t i = items.size(); i-- > 0;) live[i] = before(items[i], live[i + 1]);
    return live;
  }

  LiveRegisters before(const Item& item, LiveRegisters live) const {
    if (std::holds_alternative<Loop>(item.node->is)) {
      live.merge(needed_by(item.body));
    } else if (std::holds_alternative<Guard>(item.node->is)) {
      LiveRegisters either = before(item.body, live).front();
      either.merge(before(item.otherwise, live).front());
      return either;
    } else if (const auto* call = std::get_if<Call>(&item.node->is)) {
      const Instruction& instruction = model.instruction(call->instruction);
      for (std::size_t p = 0; p < item.places.size(); ++p) {
        if (item.places[p].kind != Place::Kind::numbered) continue;
        const std::pair where(program.buffers[item.places[p].buffer.index()].memory, item.places[p].number);
        if (p == 0 && overwrites(instruction, *call))
          live.erase(where);
        else
          live.insert(where);
      }
    }
    return live;
  }
};

}  // namespace

std::vector<LiveRegisters> live_before(const std::vector<Item>& items, const LiveRegisters& after,
                                       const Program& program, const HardwareModel& model) {
  return Liveness{program, model}.before(items, after);
}

LiveRegisters live_at_end_of_body(const Item& item, const LiveRegisters& after, const Program& program,
                                  const HardwareModel& model) {
  LiveRegisters live = after;
  if (std::holds_alternative<Loop>(item.node->is)) live.merge(Liveness{program, model}.needed_by(item.body));
  return live;
}

}  // namespace isamap
