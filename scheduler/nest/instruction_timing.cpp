// SPDX-License-Identifier: Apache-2.0
#include "scheduler/nest/instruction_timing.h"

#include <algorithm>

#include "hwdesc/model/memory_time.h"
#include "ir/legal.h"

namespace isamap {

namespace {

double cycles(const std::optional<IntExpr>& e, const Instruction& instruction,
              const std::vector<std::int64_t>& extents) {
  if (!e) return 1;
  const auto value = evaluate(*e, [&](const Reference& r) -> std::optional<std::int64_t> {
    if (r.object == "extent") {
      const int d = instruction.statement().domain.find(r.argument);
      return d < 0 ? std::nullopt : std::optional(extents[static_cast<std::size_t>(d)]);
    }
    return std::nullopt;
  });
  return value ? std::max<double>(0, static_cast<double>(*value)) : 1;
}

/// Estimates of nests ask for these most: numbers need no extents.
double full_cycles(const std::optional<IntExpr>& e, const Instruction& instruction) {
  const bool number = !e || e->op == IntExpr::Op::number;
  return cycles(e, instruction, number ? std::vector<std::int64_t>{} : full_extents(instruction));
}

double elements(const Instruction& instruction) {
  double product = 1;
  for (const DimRange& r : instruction.ranges) product *= static_cast<double>(r.max);
  return product;
}

}  // namespace

std::vector<std::int64_t> full_extents(const Instruction& instruction) { return largest_extents(instruction); }

double interval_of(const Instruction& i, const std::vector<std::int64_t>& extents, const HardwareModel&) {
  return cycles(i.timing.interval, i, extents);
}

double command_interval(const Instruction& i, const std::vector<std::int64_t>& extents, const HardwareModel& model) {
  return std::max(interval_of(i, extents, model), transfer_cycles(shared_port_uses(i, extents, DType::f32, model), i,
                                                                  carried_bytes(i, extents, DType::f32), model));
}

double command_latency(const Instruction& i, const std::vector<std::int64_t>& extents, const HardwareModel& model) {
  return result_latency(command_interval(i, extents, model), latency_of(i, extents, model), i, model);
}

double latency_of(const Instruction& i, const std::vector<std::int64_t>& extents, const HardwareModel&) {
  return cycles(i.timing.latency, i, extents);
}

double full_interval(const Instruction& i) { return full_cycles(i.timing.interval, i); }

double full_latency(const Instruction& i) { return full_cycles(i.timing.latency, i); }

double ports_of(const Instruction& instruction, const HardwareModel& model) {
  if (!instruction.unit.valid()) return 1;
  const auto& ports = model.unit(instruction.unit).ports;
  const auto at = ports.find(instruction.timing.port);
  return at == ports.end() ? 1 : std::max<double>(1, static_cast<double>(at->second));
}

const Instruction* move_between(const HardwareModel& model, MemoryId from, MemoryId to, DType dtype) {
  const Instruction* best = nullptr;
  bool of_type = false;  // else of the other signedness
  for (const InstructionId move : model.moves_between(from, to)) {
    const Instruction& i = model.instruction(move);
    const auto& t = i.operands[1].dtype;
    const bool own = !t || *t == dtype || is_bits(*t);
    if (!own && (of_type || !same_ring(*t, dtype))) continue;
    if (!best || own != of_type || elements(i) > elements(*best)) best = &i;
    of_type = own;
  }
  return best;
}

const std::vector<LinkId>& links_between(const HardwareModel& model, MemoryId from, MemoryId to) {
  return model.links_on_path(from, to);
}

}  // namespace isamap
