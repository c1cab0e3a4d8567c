// SPDX-License-Identifier: Apache-2.0
#include "program/exceeded_capacities.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "ir/liveness.h"

namespace isamap {

namespace {

class CapacityCheck {
 public:
  CapacityCheck(const Program& program, const HardwareModel& model) : program_(program), model_(model) {}

  Diagnostics run() {
    std::map<std::string, std::int64_t> around;
    collect(program_.body, around);
    const auto live = live_ranges(program_, constants_in_registers());
    for (std::size_t m = 0; m < model_.memories().size(); ++m) {
      const Memory& memory = model_.memories()[m];
      std::vector<std::size_t> here;
      for (std::size_t b = 0; b < live.size(); ++b)
        if (program_.buffers[b].memory.index() == m && live[b].low <= live[b].high) here.push_back(b);
      std::int64_t most = 0, highest = 0;
      std::string who;
      for (std::size_t b : here) {
        std::int64_t sum = 0;
        std::string names;
        for (std::size_t other : here)
          if (live[other].low <= live[b].low && live[b].low <= live[other].high) {
            const std::int64_t share = footprint(program_.buffers[other]) / instances_of(other);
            sum += share;
            names += fmt::format("{}{} {}", names.empty() ? "" : ", ", program_.buffers[other].name, share);
          }
        if (sum > most) most = sum, who = names;
        if (instances_of(b) == 1)
          highest = std::max(highest, program_.buffers[b].address + footprint(program_.buffers[b]));
      }
      check(memory, most, highest, who);
    }
    return std::move(problems_);
  }

 private:
  // A buffer above a parallel loop (with uses inside and outside of it), owned by the loop's unit or an inner one, is
  // distributed: it holds the tiles of all instances, and each instance stores its part.
  struct UnitLoops {
    std::set<std::map<std::string, std::int64_t>> around_one;  // of each use: trips of loops around, by variable@unit
    std::map<std::string, std::int64_t> around_all;            // of those around every use
    bool seen = false;
  };

  /// Outermost calls that set a register to a constant, once: a compiler sets such a register again, or reads the
  /// constant from memory, rather than spill another between its uses.
  std::set<const Node*> constants_in_registers() const {
    std::map<std::int32_t, int> writes;
    count_writes(program_.body, writes);
    std::set<std::int32_t> constants;
    std::set<const Node*> found;
    for (const Node& node : program_.body) {
      const auto* element = std::get_if<Element>(&node.is);
      if (element != nullptr && element->reads.empty() && writes[element->write.buffer.value] == 1)
        constants.insert(element->write.buffer.value);
      const auto* call = std::get_if<Call>(&node.is);
      if (call == nullptr || call->operands.empty() || writes[call->operands.front().buffer.value] != 1) continue;
      if (std::any_of(call->operands.begin() + 1, call->operands.end(),
                      [&](const Ref& read) { return read.buffer.valid() && !constants.contains(read.buffer.value); }))
        continue;
      const BufferId set = call->operands.front().buffer;
      if (set.valid() && model_.memory(program_.buffers[set.index()].memory).named_by_compiler()) found.insert(&node);
    }
    return found;
  }

  static void count_writes(const std::vector<Node>& nodes, std::map<std::int32_t, int>& writes) {
    for (const Node& node : nodes) {
      if (const auto* loop = std::get_if<Loop>(&node.is)) count_writes(loop->body, writes);
      if (const auto* guard = std::get_if<Guard>(&node.is)) {
        count_writes(guard->then, writes);
        count_writes(guard->otherwise, writes);
      }
      if (const auto* call = std::get_if<Call>(&node.is); call != nullptr && !call->operands.empty())
        ++writes[call->operands.front().buffer.value];
      if (const auto* element = std::get_if<Element>(&node.is)) ++writes[element->write.buffer.value];
    }
  }

  void collect(const std::vector<Node>& nodes, std::map<std::string, std::int64_t>& around) {
    for (const Node& node : nodes) {
      for_each_ref(node, [&](const Ref& r) {
        UnitLoops& u = unit_loops_[r.buffer.value];
        if (!u.seen) u.around_all = around;
        u.seen = true;
        std::erase_if(u.around_all, [&](const auto& entry) { return !around.contains(entry.first); });
        u.around_one.insert(around);
      });
      if (const auto* loop = std::get_if<Loop>(&node.is)) {
        if (!loop->unit.empty()) around[loop->variable + "@" + loop->unit] = loop->trip;
        collect(loop->body, around);
        if (!loop->unit.empty()) around.erase(loop->variable + "@" + loop->unit);
      } else if (const auto* guard = std::get_if<Guard>(&node.is)) {
        collect(guard->then, around);
        collect(guard->otherwise, around);
      }
    }
  }

  // Largest product of parallel trip counts around a use.
  std::int64_t instances_of(std::size_t buffer) {
    const UnitLoops& u = unit_loops_[static_cast<std::int32_t>(buffer)];
    std::int64_t most = 1;
    for (const auto& around : u.around_one) {
      std::int64_t instances_here = 1;
      for (const auto& [key, trip] : around) {
        const std::string unit = key.substr(key.find('@') + 1);
        const auto id = model_.find_unit(unit.substr(0, unit.find('.')));
        if (!u.around_all.contains(key) && id && model_.inside(model_.memory(program_.buffers[buffer].memory).per, *id))
          instances_here *= trip;
      }
      most = std::max(most, instances_here);
    }
    return most;
  }

  // `most`: live bytes or registers; `highest`: end of the last buffer at an address of its own.
  void check(const Memory& memory, std::int64_t most, std::int64_t highest, const std::string& who) {
    const bool is_register = memory.is_register();
    const std::int64_t available = is_register ? memory.count : memory.capacity;
    if (available <= 0) return;
    const std::int64_t needed = memory.named_by_compiler() ? most : std::max(most, highest);
    if (needed <= available) return;
    Diagnostic d = error(fmt::format("memory {} holds {} {}; {} are needed at once", memory.name, available,
                                     is_register ? "registers" : "bytes", needed));
    d.notes.push_back("live at once: " + who);
    problems_.push_back(d);
  }

  const Program& program_;
  const HardwareModel& model_;
  Diagnostics problems_;
  std::map<std::int32_t, UnitLoops> unit_loops_;  // by buffer
};

}  // namespace

Diagnostics exceeded_capacities(const Program& program, const HardwareModel& model) {
  return CapacityCheck(program, model).run();
}

}  // namespace isamap
