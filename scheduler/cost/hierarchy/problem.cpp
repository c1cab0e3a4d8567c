// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/hierarchy/problem.h"

#include <fmt/format.h>

#include <algorithm>

#include "hwdesc/model/timing_choice.h"
#include "ir/text/access_name.h"
#include "scheduler/nest/instruction_timing.h"
#include "scheduler/nest/rerolled_instruction.h"
#include "scheduler/nest/resolved_nest.h"

namespace isamap::hierarchy {

namespace {

Diagnostic refusal(const std::string& why) {
  return error("the exact search does not apply: " + why,
               "it requires a linear memory hierarchy whose moves take no issue slots");
}

/// Subscripts of one access, or why they do not have this form.
Result<Operand> operand_of(const Kernel& kernel, const Computation& statement, int access) {
  const Access& a = access_of(statement, access);
  const Tensor& tensor = kernel.tensors[a.tensor.index()];
  Operand operand;
  operand.name = access_name(kernel.tensors, statement, access);
  operand.tensor = a.tensor;
  operand.bytes = bytes(tensor.dtype);
  for (const AffineExpr& e : a.index) {
    Subscript subscript;
    if (!e.is_linear()) return refusal("subscript " + print(e) + " of " + tensor.name + " is not linear");
    for (const std::string& name : e.names()) {
      const int d = statement.domain.find(name);
      if (d < 0) continue;
      if (operand.uses(d)) return refusal(name + " occurs in two subscripts of " + tensor.name);
      operand.dims |= 1U << d;
      subscript.push_back({d, std::abs(e.coefficient(name))});
    }
    if (subscript.empty()) continue;
    operand.window = operand.window || subscript.size() > 1;
    operand.subscripts.push_back(std::move(subscript));
  }
  return operand;
}

/// Units that own instances of `inner` but not of `outer`, outermost first, each axis by itself.
std::vector<Axis> axes_between(const HardwareModel& model, MemoryId outer, MemoryId inner) {
  std::vector<Axis> axes;
  for (std::size_t u = 0; u < model.units().size(); ++u) {
    const UnitId id = make_id<UnitId>(u);
    if (!model.inside(model.memory(inner).per, id) || model.inside(model.memory(outer).per, id)) continue;
    const Unit& unit = model.unit(id);
    if (unit.axes.empty() && unit.count > 1 && !unit.queued) axes.push_back({unit.name, unit.count});
    for (const auto& [axis, count] : unit.axes)
      if (count > 1) axes.push_back({unit.name + "." + axis, count});
  }
  return axes;
}

Level::Wire wire_of(const HardwareModel& model, MemoryId from, MemoryId to) {
  const std::vector<LinkId> links = links_between(model, from, to);
  if (links.size() != 1) return {};
  const Link& link = model.link(links.front());
  if (link.energy == 0 && link.bandwidth <= 0) return {};  // costs nothing
  Level::Wire wire{static_cast<std::int32_t>(links.front().index()), link.energy, link.bandwidth};
  for (std::size_t l = 0; l < model.links().size() && wire.port < 0 && !link.port.empty(); ++l)
    if (model.links()[l].port == link.port) wire.port = static_cast<std::int32_t>(l);
  return wire;
}

/// Dims and operands of the statement.
std::optional<Diagnostics> add_statement(const Kernel& kernel, const Computation& statement, Problem& problem) {
  for (int a = 0; a < access_count(statement); ++a) {
    auto operand = operand_of(kernel, statement, a);
    if (!operand) return operand.diagnostics();
    for (const Operand& other : problem.operands)
      if (other.name == operand->name) return Diagnostics{refusal(operand->name + " is read and written")};
    problem.operands.push_back(std::move(*operand));
  }
  problem.inout = kernel.tensors[statement.write.tensor.index()].inout;
  return std::nullopt;
}

/// The memory of all operands of the instruction.
Result<MemoryId> innermost_of(const Mapping& mapping, const Computation& statement, const Instruction& instruction,
                              const HardwareModel& model) {
  MemoryId innermost;
  for (int a = 0; a < access_count(statement); ++a) {
    const int i = instruction_access(mapping, a);
    if (i < 0) return refusal("an operand of the statement is not one of " + instruction.name);
    const MemoryId memory = instruction.operands[operand_of_access(instruction, i).index()].memory;
    if (!memory.valid() || model.memory(memory).is_register()) return refusal("operands are in registers");
    if (innermost.valid() && memory != innermost) return refusal("operands are in different memories");
    innermost = memory;
  }
  return innermost;
}

/// The chain of memories from home to the innermost one.
std::optional<Diagnostics> add_levels(const HardwareModel& model, MemoryId innermost, Problem& problem) {
  const std::vector<MemoryId> down = model.path(model.home(), innermost);
  std::vector<MemoryId> up = model.path(innermost, model.home());
  std::reverse(up.begin(), up.end());
  if (down.size() < 2 || down != up || static_cast<int>(down.size()) > max_levels)
    return Diagnostics{refusal(fmt::format("{} and {} are not connected by one chain of 2 to {} memories",
                                           model.memory(model.home()).name, model.memory(innermost).name, max_levels))};
  for (std::size_t l = 0; l < down.size(); ++l) {
    const Memory& m = model.memory(down[l]);
    if (m.kind == MemoryKind::cache) return Diagnostics{refusal(m.name + " is a cache")};
    Level level;
    level.memory = down[l];
    level.name = m.name;
    level.word = static_cast<double>(std::max<std::int64_t>(1, m.word));
    level.read_energy = m.read_energy;
    level.write_energy = m.write_energy;
    level.read_bandwidth = m.read_bandwidth;
    level.write_bandwidth = m.write_bandwidth;
    level.capacity = l == 0 ? 0 : static_cast<double>(m.capacity);
    if (l == 0 || l + 1 == down.size()) level.must_keep = (1U << problem.operands.size()) - 1;
    if (l + 1 < down.size()) {
      level.axes = axes_between(model, down[l], down[l + 1]);
      if (static_cast<int>(level.axes.size()) > max_axes)
        return Diagnostics{refusal("more than three axes of units at a level")};
      level.down = wire_of(model, down[l], down[l + 1]);
      level.up = wire_of(model, down[l + 1], down[l]);
    }
    problem.levels.push_back(std::move(level));
  }
  return std::nullopt;
}

}  // namespace

Result<Problem> problem_of(const Kernel& kernel, StatementId id, const Mapping& mapping, const HardwareModel& model) {
  if (!mapping.instruction.valid()) return refusal("no instruction computes the statement");
  if (issues_moves(model)) return refusal("moves of " + model.name + " take issue slots");
  const InstructionForm form = instruction_form(mapping, model);
  if (!form) return refusal("the unrolled sum of the instruction is no dim");
  const Instruction& instruction = *form;
  const Computation statement = fuse(kernel.statements[id.index()], mapping);
  Problem problem;
  std::vector<std::int64_t> call;
  for (const DimRange& range : instruction.ranges) call.push_back(range.max);
  for (const Dim& dim : statement.domain.dims) {
    if (dim.extent < 1) return refusal("dim " + dim.name + " is empty");
    problem.dims.push_back({dim.name, dim.extent, 1});
  }
  for (std::size_t m = 0; m < mapping.dims.size(); ++m) {
    const int d = mapping.dims[m].empty() ? -1 : statement.domain.find(fused_name(mapping.dims[m]));
    if (d >= 0 && call[m] != 1) return refusal(instruction.name + " covers more than one point");
  }
  if (problem.dim_count() > max_dims || access_count(statement) > max_operands)
    return refusal(fmt::format("at most {} dims and {} operands", max_dims, max_operands));
  if (auto refused = add_statement(kernel, statement, problem)) return *refused;
  problem.call_energy = instruction.energy_pJ;
  problem.call_cycles = interval_of(instruction, call, model) / ports_of(instruction, model);

  const auto innermost = innermost_of(mapping, statement, instruction, model);
  if (!innermost) return innermost.diagnostics();
  if (auto refused = add_levels(model, *innermost, problem)) return *refused;
  return problem;
}

}  // namespace isamap::hierarchy
