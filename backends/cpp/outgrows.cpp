#include "backends/cpp/outgrows.h"

#include <algorithm>

namespace isamap {
namespace {

constexpr std::int64_t unrolled_by_compilers = 16;  ///< steps, at the most (GCC: max-completely-peel-times)

bool has_loops(const std::vector<Item>& items) {
  return std::any_of(items.begin(), items.end(), [](const Item& item) {
    return std::holds_alternative<Loop>(item.node->is) || has_loops(item.body) || has_loops(item.otherwise);
  });
}

/// Places in memory from which calls take operands beside registers, each once.
void taken_in_place(const std::vector<Item>& items, const HardwareModel& model,
                    std::vector<std::pair<BufferId, AffineExpr>>& found) {
  for (const Item& item : items) {
    taken_in_place(item.body, model, found);
    taken_in_place(item.otherwise, model, found);
    const auto* call = std::get_if<Call>(&item.node->is);
    if (call == nullptr || is_move(model.instruction(call->instruction))) continue;
    for (const Place& place : item.places) {
      const std::pair at(place.buffer, place.offset);
      if (place.kind == Place::Kind::memory && std::find(found.begin(), found.end(), at) == found.end())
        found.push_back(at);
    }
  }
}

}  // namespace

bool outgrows_registers(const Loop& loop, const Item& item, const Places& places, const Program& program,
                        const HardwareModel& model) {
  if (!loop.unit.empty() || loop.trip < 2 || loop.trip > unrolled_by_compilers || has_loops(item.body)) return false;
  std::vector<std::pair<BufferId, AffineExpr>> in_place;
  taken_in_place(item.body, model, in_place);
  if (in_place.empty()) return false;
  std::map<MemoryId, std::int64_t> named;  // registers of each file
  for (const int v : item.variables) {
    const Buffer& buffer = program.buffers[places.variables[static_cast<std::size_t>(v)].buffer.index()];
    named[buffer.memory] += buffer.registers_per_slot;
  }
  return std::any_of(named.begin(), named.end(), [&](const auto& one) {
    const Memory& file = model.memory(one.first);
    return file.named_by_compiler() && one.second + 2 * static_cast<std::int64_t>(in_place.size()) > file.count;
  });
}

}  // namespace isamap
