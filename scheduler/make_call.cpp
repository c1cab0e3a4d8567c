// SPDX-License-Identifier: Apache-2.0
// A call and the masks for its extents: mask registers are filled once, before everything else.

#include <fmt/format.h>

#include "ir/legal.h"
#include "scheduler/operand_check.h"
#include "scheduler/transfer.h"

namespace isamap {

Result<Ref> Lowering::mask(MemoryId memory, std::int64_t full, std::int64_t extent) {
  const std::string name = fmt::format("mask{}of{}", extent, full);
  for (std::size_t i = 0; i < program.buffers.size(); ++i)
    if (program.buffers[i].name == name && program.buffers[i].memory == memory)
      return Ref{make_id<BufferId>(i), {AffineExpr(0)}};
  for (std::size_t i = 0; i < model.instructions().size(); ++i) {
    const Instruction& fill = model.instructions()[i];
    if (fill_value(fill) != 1.0 || fill.operands[0].memory != memory || fill.ranges.size() != 1) continue;
    if (fill.ranges[0].max != full || !allows(fill.ranges[0], extent) || !extents_fit(fill, {extent})) continue;
    Buffer buffer;
    buffer.name = name;
    buffer.memory = memory;
    buffer.dtype = DType::b1;
    buffer.extents = {full};
    buffer.slots = 0;
    program.buffers.push_back(buffer);
    const BufferId id = make_id<BufferId>(program.buffers.size() - 1);
    Call call;
    call.instruction = make_id<InstructionId>(i);
    call.operands = {{id, {AffineExpr::dim("$" + fill.statement().domain.dims[0].name)}}};
    call.extents = {extent};
    mask_fills.push_back(Node{std::move(call)});
    return Ref{id, {AffineExpr(0)}};
  }
  return error(fmt::format("no fill of {} with 1 over {} of {} positions", model.memory(memory).name, extent, full),
               "describe one: compute \"D[j] = 1\", dims {j: {max: ...}}, inactive zero");
}

Result<Call> make_call(Lowering& lowering, InstructionId id, std::vector<Ref> operands,
                       std::vector<std::int64_t> extents) {
  const Instruction& instruction = lowering.model.instruction(id);
  Call call;
  call.instruction = id;
  call.operands = std::move(operands);
  for (const auto& [dim, memory] : instruction.masks) {
    const auto d = static_cast<std::size_t>(instruction.statement().domain.find(dim));
    auto mask = lowering.mask(memory, instruction.ranges[d].max, extents[d]);
    if (!mask) return mask.diagnostics();
    call.masks.push_back(*mask);
  }
  call.extents = std::move(extents);
  if (const std::string no = broken_condition(instruction, call, lowering.program.buffers, lowering.ranges);
      !no.empty())
    return error(no);
  return call;
}

}  // namespace isamap
