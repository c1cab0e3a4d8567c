// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lowering/lower_tree.h"

#include <fmt/format.h>

#include <algorithm>

namespace isamap {
namespace {

const Operand& operand_at(const Instruction& i, int access) { return i.operands[operand_of_access(i, access).index()]; }

DType type_at(const Instruction& i, int access) {
  const TensorId t = operand_of_access(i, access);
  return i.operands[t.index()].dtype.value_or(i.tensors[t.index()].dtype);
}

/// The index of an operand within one register, over the instruction's dims.
std::vector<AffineExpr> own_index(const Instruction& instruction, int access) {
  std::map<std::string, AffineExpr> to;
  for (const Dim& dim : instruction.statement().domain.dims) to[dim.name] = AffineExpr::dim("$" + dim.name);
  std::vector<AffineExpr> index;
  for (const AffineExpr& e : access_of(instruction.statement(), access).index) index.push_back(substitute(e, to));
  return index;
}

/// The register (or group) of this name, made where it is used first.
std::pair<BufferId, bool> register_named(Lowering& lowering, const std::string& name, const Instruction& instruction,
                                         int access) {
  const Operand& operand = operand_at(instruction, access);
  std::vector<Buffer>& buffers = lowering.program.buffers;
  for (std::size_t i = 0; i < buffers.size(); ++i)
    if (buffers[i].name == name && buffers[i].memory == operand.memory) return {make_id<BufferId>(i), false};
  Buffer buffer;
  buffer.name = name;
  buffer.memory = operand.memory;
  buffer.dtype = type_at(instruction, access);
  buffer.extents = operand_box(instruction, access);
  buffer.slots = 0;
  buffer.registers_per_slot = operand.group;
  buffers.push_back(std::move(buffer));
  return {make_id<BufferId>(buffers.size() - 1), true};
}

std::string shape_text(const Instruction& instruction, int access) {
  std::string text(name(type_at(instruction, access)));
  for (const std::int64_t extent : operand_box(instruction, access)) text += fmt::format("x{}", extent);
  return text;
}

std::string number_text(double value) {
  std::string text = fmt::format("{}", value);
  for (char& c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = c == '-' ? 'm' : '_';
  return text;
}

bool same_place(const Operand& a, const Operand& b) {
  return a.memory == b.memory && a.group == b.group && a.layout == b.layout;
}

/// Does it write one value to all elements of the operand? A fill with the value, or a broadcast from home memory.
bool sets_all(const Instruction& setting, const Instruction& reader, int access, const HardwareModel& model) {
  if (!same_place(operand_at(setting, 0), operand_at(reader, access)) ||
      operand_box(setting, 0) != operand_box(reader, access) || type_at(setting, 0) != type_at(reader, access))
    return false;
  return fill_value(setting) || is_broadcast(setting, model);
}

std::vector<std::int64_t> all_extents(const Instruction& instruction) {
  std::vector<std::int64_t> extents;
  for (const DimRange& range : instruction.ranges) extents.push_back(range.max);
  return extents;
}

}  // namespace

bool is_broadcast(const Instruction& instruction, const HardwareModel& model) {
  return is_move(instruction) && instruction.async_by.empty() && instruction.masks.empty() &&
         instruction.statement().reads[0].index.empty() && operand_at(instruction, 1).memory == model.home();
}

Result<Ref> constant_in_memory(Lowering& lowering, DType type, double value) {
  const auto unit = lowering.model.scalar_unit_for(lowering.model.home());
  if (!unit) return error("no scalar unit sets the constant in memory");
  const std::string held = fmt::format("constant_{}_{}", name(type), number_text(value));
  const std::vector<Buffer>& buffers = lowering.program.buffers;
  for (std::size_t i = 0; i < buffers.size(); ++i)
    if (buffers[i].name == held && buffers[i].role == BufferRole::local)
      return Ref{make_id<BufferId>(i), {AffineExpr(0)}};
  Buffer buffer;
  buffer.name = held;
  buffer.memory = lowering.model.home();
  buffer.dtype = type;
  buffer.extents = {1};
  buffer.strides = {1};
  lowering.program.buffers.push_back(std::move(buffer));
  const Ref ref{make_id<BufferId>(lowering.program.buffers.size() - 1), {AffineExpr(0)}};
  Element element;
  element.unit = *unit;
  element.write = ref;
  element.body = constant(value, type);
  lowering.mask_fills.push_back(Node{std::move(element)});
  return ref;
}

Result<Ref> constant_register(Lowering& lowering, const Instruction& instruction, int access, double value) {
  const std::string name = fmt::format("all_{}_{}", shape_text(instruction, access), number_text(value));
  const auto [buffer, fresh] = register_named(lowering, name, instruction, access);
  const Ref ref{buffer, own_index(instruction, access)};
  if (!fresh) return ref;
  const auto& all = lowering.model.instructions();
  for (const bool fill : {true, false})
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (is_setter(all[i]) || fill_value(all[i]).has_value() != fill || (fill && *fill_value(all[i]) != value))
        continue;
      if (!sets_all(all[i], instruction, access, lowering.model)) continue;
      std::vector<Ref> operands{{buffer, own_index(all[i], 0)}};
      if (!fill) {
        auto element = constant_in_memory(lowering, type_at(instruction, access), value);
        if (!element) return element;
        operands.push_back(*element);
      }
      auto call = make_call(lowering, make_id<InstructionId>(i), std::move(operands), all_extents(all[i]));
      if (!call) return call.diagnostics();
      lowering.mask_fills.push_back(Node{std::move(*call)});
      return ref;
    }
  return error(fmt::format("no instruction sets {} in {} to {}", operand_at(instruction, access).name,
                           lowering.model.memory(operand_at(instruction, access).memory).name, value),
               "describe a broadcast, compute \"D[j] = S[]\", or a fill");
}

Result<Nodes> lower_tree(Lowering& lowering, const std::string& statement, const InstructionTree& tree,
                         const std::vector<Ref>& refs, const std::vector<std::int64_t>& extents) {
  const std::vector<int> temporaries = result_registers(tree, lowering.model);
  std::vector<Ref> results;
  Nodes nodes;
  for (std::size_t c = 0; c < tree.calls.size(); ++c) {
    const TreeCall& call = tree.calls[c];
    const Instruction& instruction = lowering.model.instruction(call.instruction);
    Ref result = refs[0];
    if (temporaries[c] >= 0) {
      const std::string name = fmt::format("{}_between_{}_{}", statement, shape_text(instruction, 0), temporaries[c]);
      result = {register_named(lowering, name, instruction, 0).first, own_index(instruction, 0)};
    }
    std::vector<Ref> operands{result};
    for (std::size_t r = 0; r < call.inputs.size(); ++r) {
      const TreeInput& input = call.inputs[r];
      const auto number = static_cast<std::size_t>(input.number);
      if (input.from == TreeInput::From::constant) {
        auto held = constant_register(lowering, instruction, static_cast<int>(r) + 1, input.value);
        if (!held) return held.diagnostics();
        operands.push_back(std::move(*held));
      } else {
        operands.push_back(input.from == TreeInput::From::read ? refs[number + 1] : results[number]);
      }
    }
    auto made = make_call(lowering, call.instruction, std::move(operands), extents);
    if (!made) return made.diagnostics();
    nodes.push_back(Node{std::move(*made)});
    results.push_back(std::move(result));
  }
  return nodes;
}

}  // namespace isamap
