// SPDX-License-Identifier: Apache-2.0
#include "scheduler/space/gpu/operand_feeds.h"

#include <algorithm>

#include "hwdesc/layout/move_layouts.h"
#include "hwdesc/model/async_kind.h"
#include "hwdesc/model/parallel_units.h"
#include "scheduler/nest/instruction_timing.h"
#include "scheduler/nest/operand_compatibility.h"
#include "scheduler/nest/split_reduction.h"

namespace isamap {

std::optional<BlockMachine> block_machine(const Instruction& instruction, const HardwareModel& model) {
  BlockMachine machine;
  machine.part = instruction.unit;
  machine.block = outermost_numbered(model, machine.part).value_or(UnitId{});
  if (!machine.block.valid() || machine.block == machine.part || model.unit(machine.part).index.empty())
    return std::nullopt;
  for (std::size_t m = 0; m < model.memories().size(); ++m)
    if (model.memories()[m].kind == MemoryKind::scratchpad && model.memories()[m].per == machine.block)
      machine.scratch = make_id<MemoryId>(m);
  for (int a = 0; a < access_count(instruction.statement()); ++a) {
    const Operand& operand = instruction.operands[operand_of_access(instruction, a).index()];
    if (a > 0 && operand.memory == machine.scratch) continue;
    if (!operand.memory.valid() || !model.memory(operand.memory).is_register() ||
        !model.inside(model.memory(operand.memory).per, machine.part))
      return std::nullopt;
    if (a == 0) machine.registers = operand.memory;
  }
  return machine.scratch.valid() ? std::optional(machine) : std::nullopt;
}

std::string along_rows(const Access& access, const Tensor& tensor) {
  if (access.index.empty()) return "";
  const AffineExpr& last = access.index.back();
  const auto names = last.names();
  if (names.size() != 1) return "";
  const AffineExpr dim = AffineExpr::dim(*names.begin());
  return last == dim || last == mod(dim, std::max<std::int64_t>(tensor.shape.back(), 1)) ? *names.begin() : "";
}

std::string widest_copy(const Access& access, const Tensor& tensor, const BlockMachine& machine,
                        const HardwareModel& model) {
  if (along_rows(access, tensor).empty()) return "";
  const std::int64_t size = std::max(bytes(tensor.dtype), 1), row = tensor.shape.back() * size;
  std::string best;
  std::int64_t most = 0;
  for (const Instruction& move : model.instructions()) {
    if (!is_move(move) || !completes_in_groups(move, model) || move.ranges.size() != 1 || move.ranges[0].min > 0)
      continue;
    if (move.operands[operand_of_access(move, 0).index()].memory != machine.scratch ||
        move.operands[operand_of_access(move, 1).index()].memory != model.home() ||
        !type_refusal(move, 0, tensor.dtype).empty())
      continue;
    const std::int64_t width = move.ranges[0].max * size;
    if (row % width == 0 && width > most) most = width, best = move.name;
  }
  return best;
}

std::string counted_copy(const OperandFeed& feed, const Access& access, const Tensor& tensor,
                         const BlockMachine& machine, const HardwareModel& model) {
  const auto plain = [](const AffineExpr& e) { return e.as_dim().has_value(); };
  if (!feed.swizzle || access.index.size() < 2 || !std::all_of(access.index.begin(), access.index.end(), plain))
    return "";
  for (const Instruction& move : model.instructions()) {
    if (!is_move(move) || !completes_by_counter(move, model) || move.ranges.size() != 2) continue;
    const Operand &to = move.operands[operand_of_access(move, 0).index()],
                  &from = move.operands[operand_of_access(move, 1).index()];
    const auto* rows = std::get_if<StridedLayout>(&to.layout);
    if (to.memory != machine.scratch || from.memory != model.home() || rows == nullptr ||
        rows->swizzle != feed.swizzle || !type_refusal(move, 0, tensor.dtype).empty() ||
        std::none_of(move.ranges.begin(), move.ranges.end(),
                     [&](const DimRange& r) { return r.fixed() && r.max == feed.row; }))
      continue;
    const std::int64_t pitch = tensor.shape.back() * bytes(tensor.dtype);
    if (std::all_of(from.multiple_of.begin(), from.multiple_of.end(),
                    [&](const auto& entry) { return pitch % entry.second == 0; }))
      return move.name;
  }
  return "";
}

namespace {

/// Are elements in the same registers of the same instances? One operand may have more of them.
bool same_places(const Operand& a, const Operand& b) {
  const auto *one = std::get_if<FragmentLayout>(&a.layout), *other = std::get_if<FragmentLayout>(&b.layout);
  if (one == nullptr || other == nullptr) return a.layout == b.layout;
  return one->index == other->index && one->over.size() == other->over.size() &&
         std::equal(one->over.begin(), one->over.end() - 1, other->over.begin());
}

}  // namespace

std::vector<OperandFeed::Place> concurrent_elements(const Operand& operand, std::size_t contiguous) {
  const auto* fragment = std::get_if<FragmentLayout>(&operand.layout);
  if (fragment == nullptr || fragment->index.size() != 2 || fragment->over.size() < 2 || contiguous > 1) return {};
  Bindings first;  // index 0 of all units and elements
  for (const auto& [name, count] : fragment->over) first[name] = 0;
  const auto& [unit, count] = fragment->over[fragment->over.size() - 2];
  std::vector<OperandFeed::Place> places;
  for (std::int64_t instance = 0; instance < count; ++instance) {
    first[unit] = instance;
    places.push_back({evaluate(fragment->index[1 - contiguous], first), evaluate(fragment->index[contiguous], first)});
  }
  return places;
}

InstructionId combine_of_blocks(const Computation& statement, const Instruction& instruction, const Tensor& output,
                                const BlockMachine& machine, const HardwareModel& model) {
  InstructionId best;
  double least = 0;  // cycles for an element
  for (const InstructionId id : combines_for(statement, output, machine.block, model)) {
    const Instruction& combine = model.instruction(id);
    const Operand &to = combine.operands[operand_of_access(combine, 0).index()],
                  &from = combine.operands[operand_of_access(combine, 1).index()];
    if (combine.unit != instruction.unit || to.memory != model.home() || from.memory != machine.registers ||
        !same_places(from, instruction.operands[operand_of_access(instruction, 0).index()]))
      continue;
    if (output.shape.empty() || output.shape.back() * bytes(output.dtype) % to.align != 0) continue;
    double elements = 1;
    for (const std::int64_t extent : full_extents(combine)) elements *= static_cast<double>(extent);
    const double each = full_interval(combine) / elements;
    if (!best.valid() || each < least) best = id, least = each;
  }
  return best;
}

std::string gathering_move(const Instruction& instruction, int access, std::size_t contiguous, const Tensor& tensor,
                           const BlockMachine& machine, const HardwareModel& model) {
  const std::size_t operand = operand_of_access(instruction, access).index();
  for (const Instruction& move : model.instructions()) {
    if (!is_move(move) || !type_refusal(move, 0, tensor.dtype).empty() || !type_refusal(move, 1, tensor.dtype).empty())
      continue;
    const Operand& from = move.operands[operand_of_access(move, 1).index()];
    const auto* strided = std::get_if<StridedLayout>(&from.layout);
    if (from.memory != machine.scratch || strided == nullptr ||
        std::none_of(strided->terms.begin(), strided->terms.end(), [](const StrideTerm& t) { return !t.each.empty(); }))
      continue;
    const auto table = move_table(model, move, bytes(tensor.dtype));
    if (!table) continue;
    for (const Filling& filling : fillings(model, move, *table, instruction, operand))
      if (filling.possible() && filling.calls == 1 && filling.operands == 1 &&
          filling.order.kind == MemoryOrder::Kind::rows && filling.order.index == contiguous)
        return move.name;
  }
  return "";
}

}  // namespace isamap
