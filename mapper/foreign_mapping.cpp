// SPDX-License-Identifier: Apache-2.0
#include "mapper/foreign_mapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "mapper/match/instruction_tree.h"

namespace isamap {
namespace {

/// Of its instruction, or of those of its tree.
std::string wrong_instruction(const Mapping& mapping, const HardwareModel& model) {
  const std::size_t known = model.instructions().size();
  std::vector<InstructionId> used{mapping.instruction};
  for (const TreeCall& call : mapping.tree.calls) used.push_back(call.instruction);
  for (const InstructionId id : used)
    if (!id.valid() || id.index() >= known)
      return fmt::format("it is of instruction number {}, and {} has {}", id.value, model.name, known);
  if (!mapping.tree.empty() && !mapping.tree.form) return "its tree of instructions has no form";
  const Instruction& instruction = instruction_of(mapping, model);
  return instruction.semantics.empty() ? "instruction " + instruction.name + " computes nothing" : "";
}

std::string wrong_operands(const Mapping& mapping, const Computation& statement, const Instruction& instruction) {
  const auto operands = static_cast<std::size_t>(access_count(instruction.statement()));
  if (mapping.rolled.empty() ? mapping.operands.size() != operands : mapping.operands.size() > operands)  // rerolled
    return fmt::format("instruction {} has {} operands, the mapping {}", instruction.name, operands,
                       mapping.operands.size());
  const int most = access_count(statement) - (mapping.constant ? 0 : 1);
  for (const int access : mapping.operands)
    if (access < 0 || access > most)
      return fmt::format("an operand is access {} of statement {}, which has accesses 0 to {}", access, statement.name,
                         access_count(statement) - 1);
  const std::size_t dims = instruction.statement().domain.dims.size() + mapping.rolled.size();
  if (mapping.dims.size() != dims)
    return fmt::format("instruction {} has {} dims, the mapping {}", instruction.name, dims, mapping.dims.size());
  return "";
}

std::string wrong_dims(const Mapping& mapping, const Computation& statement) {
  std::set<std::string> names;
  for (const auto& digits : mapping.dims)
    for (const Digit& digit : digits) names.merge(digit.column.names());
  for (const ResidualLoop& loop : mapping.loops) names.merge(loop.step.names());
  names.insert(mapping.outer.begin(), mapping.outer.end());
  const auto unknown = std::find_if(names.begin(), names.end(),
                                    [&](const std::string& name) { return statement.domain.find(name) < 0; });
  return unknown == names.end() ? "" : fmt::format("statement {} has no dim {}", statement.name, *unknown);
}

}  // namespace

std::string why_foreign(const Mapping& mapping, const Kernel& kernel, const HardwareModel& model) {
  if (!mapping.statement.valid() || mapping.statement.index() >= kernel.statements.size())
    return fmt::format("it is of statement number {}, and kernel {} has {}", mapping.statement.value, kernel.name,
                       kernel.statements.size());
  if (std::string why = wrong_instruction(mapping, model); !why.empty()) return why;
  const Computation& statement = kernel.statements[mapping.statement.index()];
  if (std::string why = wrong_operands(mapping, statement, instruction_of(mapping, model)); !why.empty()) return why;
  return wrong_dims(mapping, statement);
}

void check_own(const Mapping& mapping, const Kernel& kernel, const HardwareModel& model) {
  if (const std::string why = why_foreign(mapping, kernel, model); !why.empty())
    internal_error(__FILE__, __LINE__,
                   fmt::format("the mapping is not one of {} on {}: {}", kernel.name, model.name, why));
}

}  // namespace isamap
