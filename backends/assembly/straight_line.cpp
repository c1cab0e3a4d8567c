// SPDX-License-Identifier: Apache-2.0
#include "backends/assembly/straight_line.h"

#include <algorithm>

#include "ir/operand_use.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

/// Does a nest hold calls; element statements?
struct Content {
  bool calls = false, elements = false;
};

Content content(const Node& node) {
  Content all;
  const auto add = [&](const std::vector<Node>& nodes) {
    for (const Node& inner : nodes) {
      const Content c = content(inner);
      all.calls = all.calls || c.calls;
      all.elements = all.elements || c.elements;
    }
  };
  std::visit(overloaded{
                 [&](const Loop& loop) { add(loop.body); },
                 [&](const Guard& guard) {
                   add(guard.then);
                   add(guard.otherwise);
                 },
                 [&](const Call&) { all.calls = true; },
                 [&](const Element&) { all.elements = true; },
                 [](const auto&) {},
             },
             node.is);
  return all;
}

class Unroller {
 public:
  Unroller(const Program& program, const HardwareModel& model, const LoopSlots& slots, const LineVisitor& visitor)
      : program_(program), model_(model), slots_(slots), visitor_(visitor), values_(slots.names().size() + 1, 0) {}

  void nodes(const std::vector<Node>& list) {
    for (const Node& node : list) {
      if (visitor_.stop()) return;
      const auto [found, fresh] = content_.try_emplace(&node);
      if (fresh) found->second = content(node);
      const Content c = found->second;
      if (c.elements && !c.calls)
        visitor_.host(node, values_.data());
      else
        std::visit([&](const auto& n) { visit(n); }, node.is);
    }
  }

 private:
  void visit(const Loop& loop) {
    std::int64_t& value = values_[slots_.slot(loop.variable)];
    ranges_[loop.variable] = {0, loop.trip - 1};
    for (std::int64_t i = 0; i < loop.trip && !visitor_.stop(); ++i) {
      value = i;
      nodes(loop.body);
    }
    ranges_.erase(loop.variable);
    value = 0;
  }
  void visit(const Guard& guard) {
    auto [found, fresh] = guards_.try_emplace(&guard);
    if (fresh)
      for (const AffineExpr& e : guard.conditions) found->second.emplace_back(e, slots_.names());
    const bool holds = std::all_of(found->second.begin(), found->second.end(),
                                   [&](const CompiledAffine& e) { return e(values_.data()) >= 0; });
    nodes(holds ? guard.then : guard.otherwise);
  }
  void visit(const Call& call) {
    auto [found, fresh] = sites_.try_emplace(&call);
    if (fresh) found->second = site(call);
    visitor_.call(found->second, values_.data());
  }
  void visit(const Comment& comment) { visitor_.comment(comment.text); }
  void visit(const Element&) {}  // always host
  void visit(const Sync&) {}     // one stream of commands with in-order semantics

  CallSite site(const Call& call) const {
    CallSite s;
    s.call = &call;
    s.instruction = &model_.instruction(call.instruction);
    s.ranges = ranges_of_call(ranges_, *s.instruction, call);
    for (const Ref& ref : call.operands) {
      s.offsets.emplace_back();
      s.base.emplace_back();
      s.slot.emplace_back();
      s.inside.emplace_back();
      if (!ref.buffer.valid()) continue;
      const Buffer& buffer = program_.buffers[ref.buffer.index()];
      if (buffer.slots < 0) {
        const int access = static_cast<int>(s.offsets.size()) - 1;
        s.offsets.back() = element_offset(buffer, ref, ranges_of_call(ranges_, *s.instruction, call, access));
        s.base.back() = CompiledAffine(at_origin(s.offsets.back(), s.ranges), slots_.names());
        continue;
      }
      AffineExpr slot;
      for (std::size_t a = 0; a < ref.index.size(); ++a) {
        const AffineExpr index = at_origin(ref.index[a], s.ranges);
        if (static_cast<int>(a) < buffer.slots)
          slot = slot * buffer.extents[a] + index;
        else
          s.inside.back().emplace_back(index, slots_.names());
      }
      s.slot.back() = CompiledAffine(slot, slots_.names());
    }
    return s;
  }

  const Program& program_;
  const HardwareModel& model_;
  const LoopSlots& slots_;
  const LineVisitor& visitor_;
  std::vector<std::int64_t> values_;
  Ranges ranges_;
  std::map<const Node*, Content> content_;
  std::map<const Guard*, std::vector<CompiledAffine>> guards_;
  std::map<const Call*, CallSite> sites_;
};

std::optional<std::int64_t> operand_property(const Reference& r, int access, const CallSite& site,
                                             const Program& program, const HardwareModel& model,
                                             const std::int64_t* loops) {
  if (is_position(r)) return operand_number(site, access, program, model, loops);
  const OperandProperty property = property_of(r);
  const auto a = static_cast<std::size_t>(access);
  const Operand& operand = operand_of(*site.instruction, access);
  if (property == OperandProperty::group) return operand.group;
  const Ref& ref = site.call->operands[a];
  if (!ref.buffer.valid()) return std::nullopt;
  const Buffer& buffer = program.buffers[ref.buffer.index()];
  if (property == OperandProperty::coord) {
    const Access& subscripts = access_of(site.instruction->statement(), access);
    for (std::size_t s = 0; s < subscripts.index.size() && s < site.inside[a].size(); ++s)
      if (subscripts.index[s].names().contains(r.argument)) return site.inside[a][s](loops);
    return std::nullopt;
  }
  const bool in_bytes = property == OperandProperty::pitch;
  if (buffer.slots >= 0 || (!in_bytes && property != OperandProperty::stride)) return std::nullopt;
  const auto stride = stride_along(site.offsets[a], *site.instruction, *site.call, access, r.argument, site.ranges);
  if (!stride) return std::nullopt;
  const std::int64_t pitch = *stride * bytes(buffer.dtype);
  return in_bytes ? pitch : pitch / bytes(operand.dtype.value_or(buffer.dtype));
}

}  // namespace

LoopSlots::LoopSlots(const Program& program) {
  collect(program.prepack);
  collect(program.body);
}

void LoopSlots::collect(const std::vector<Node>& nodes) {
  for (const Node& node : nodes)
    std::visit(overloaded{
                   [&](const Loop& loop) {
                     if (slots_.try_emplace(loop.variable, names_.size()).second) names_.push_back(loop.variable);
                     collect(loop.body);
                   },
                   [&](const Guard& guard) {
                     collect(guard.then);
                     collect(guard.otherwise);
                   },
                   [](const auto&) {},
               },
               node.is);
}

std::optional<std::int64_t> operand_number(const CallSite& site, int access, const Program& program,
                                           const HardwareModel& model, const std::int64_t* loops) {
  const auto a = static_cast<std::size_t>(access);
  const Ref& ref = site.call->operands[a];
  if (!ref.buffer.valid()) {
    if (!ref.index.empty() && ref.index[0].is_constant()) return ref.index[0].constant();
    return std::nullopt;
  }
  const Buffer& buffer = program.buffers[ref.buffer.index()];
  const Memory& memory = model.memory(buffer.memory);
  if (buffer.slots >= 0) return buffer.address + site.slot[a](loops) * buffer.registers_per_slot;
  const std::int64_t at = buffer.address + site.base[a](loops) * bytes(buffer.dtype);
  if (at % memory.granularity != 0) return std::nullopt;
  return memory.base + at / memory.granularity;
}

std::optional<std::int64_t> value_of(const Reference& r, const CallSite& site, const Program& program,
                                     const HardwareModel& model, const std::int64_t* loops) {
  const Instruction& instruction = *site.instruction;
  if (r.object == "extent" && r.property.empty()) {
    const int d = instruction.statement().domain.find(r.argument);
    if (d < 0) return std::nullopt;
    return site.call->extents[static_cast<std::size_t>(d)];
  }
  if (r.object == "start" && r.property.empty()) {
    for (const auto& [operand, choices] : instruction.start)
      if (operand == r.argument) return std::find(choices.begin(), choices.end(), site.call->start) - choices.begin();
    return std::nullopt;
  }
  if (r.object == "mask") {
    const Ref* mask = mask_of(instruction, *site.call, r.argument);
    return mask == nullptr ? std::nullopt : std::optional(program.buffers[mask->buffer.index()].address);
  }
  const int access = access_named(instruction, *site.call, r.object);
  return access < 0 ? std::nullopt : operand_property(r, access, site, program, model, loops);
}

void loop_line(const Program& program, const HardwareModel& model, const LoopSlots& slots, const LineVisitor& visitor) {
  Unroller loop(program, model, slots, visitor);
  loop.nodes(program.prepack);
  loop.nodes(program.body);
  visitor.end();
}

std::int64_t count_calls(const std::vector<Node>& nodes, std::int64_t limit) {
  std::int64_t count = 0;
  for (const Node& node : nodes) {
    count += std::visit(overloaded{
                            [&](const Loop& loop) {
                              const std::int64_t inner = count_calls(loop.body, limit);
                              return inner > 0 && loop.trip > limit / inner ? limit + 1 : inner * loop.trip;
                            },
                            [&](const Guard& guard) {
                              return std::max(count_calls(guard.then, limit), count_calls(guard.otherwise, limit));
                            },
                            [](const Call&) { return std::int64_t{1}; },
                            [](const auto&) { return std::int64_t{0}; },
                        },
                        node.is);
    if (count > limit) return limit + 1;
  }
  return count;
}

}  // namespace isamap
