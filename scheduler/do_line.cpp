// SPDX-License-Identifier: Apache-2.0
// The text of a `do` line and the mapping that it states.

#include <fmt/format.h>

#include <algorithm>

#include "ir/access_name.h"
#include "scheduler/lowerable.h"
#include "scheduler/nest_view.h"
#include "support/yaml.h"

namespace isamap {

namespace {

/// Reads of the instruction in order meet reads of the statement in order, unless the line names tensors.
Result<std::vector<int>> operand_order(const Do& line, const Kernel& kernel, const Computation& statement,
                                       const Instruction& instruction) {
  const Computation& semantics = instruction.statement();
  const int held = static_cast<int>(line.constants.size());
  if (line.operands.empty() && access_count(semantics) - held != access_count(statement))
    return error(fmt::format("{} has {} operands; {} has {}", instruction.name, access_count(semantics) - held,
                             statement.name, access_count(statement)));
  std::vector<int> order;
  std::vector<bool> taken(static_cast<std::size_t>(access_count(statement)), false);
  int next = 0;  // access of the statement
  for (int i = 0; i < access_count(semantics); ++i) {
    const std::string& operand = instruction.tensors[operand_of_access(instruction, i).index()].name;
    if (i > 0 && held > 0 && line.constants.front().first == operand) {
      order.push_back(access_count(statement));
      continue;
    }
    int found = line.operands.empty() || i == 0 ? next : -1;
    ++next;
    for (const auto& [name, tensor] : line.operands) {
      if (name != operand || i == 0) continue;
      for (const bool again : {false, true})  // x*x is one read on two operands
        for (int a = 1; a < access_count(statement) && found < 0; ++a)
          if (taken[static_cast<std::size_t>(a)] == again && access_name(kernel.tensors, statement, a) == tensor)
            found = a;
      if (found < 0)
        return error(
            fmt::format("operand {} of {}: no read of '{}' in {}", operand, instruction.name, tensor, statement.name));
    }
    if (found < 0) return error(fmt::format("operand {} of {} has no tensor", operand, instruction.name));
    taken[static_cast<std::size_t>(found)] = true;
    order.push_back(found);
  }
  if (const auto left = std::find(taken.begin(), taken.end(), false); left != taken.end())
    return error(fmt::format("no operand of {} takes {}", instruction.name,
                             access_name(kernel.tensors, statement, static_cast<int>(left - taken.begin()))));
  return order;
}

/// The form that has the dims which the line names.
InstructionForm form_named_by(const Do& line, InstructionId id, const HardwareModel& model) {
  const std::vector<std::string> own = dim_names(model.instruction(id).statement());
  for (const auto& [name, digits] : line.dims) {
    if (std::find(own.begin(), own.end(), name) != own.end()) continue;
    const InstructionForm summed = summed_form(model, id);
    if (summed && summed->statement().domain.dims.back().name == name) return summed;
  }
  return written_form(model, id);
}

}  // namespace

Result<Mapping> mapping_of(const Do& line, const Kernel& kernel, StatementId statement, const HardwareModel& model) {
  const Computation& computation = kernel.statements[statement.index()];
  Mapping mapping;
  mapping.statement = statement;
  if (line.instruction.empty() || line.instruction == "scalar") return mapping;
  const auto id = model.find_instruction(line.instruction);
  std::vector<std::string> known;
  for (const Instruction& i : model.instructions())
    if (is_compute(i)) known.push_back(i.name);
  if (!id)
    return error("no instruction '" + line.instruction + "' in " + model.name,
                 yaml::did_you_mean(line.instruction, known));
  if (is_setter(model.instruction(*id))) return error(line.instruction + " computes nothing: it is a setter");
  mapping.instruction = *id;
  const InstructionForm form = form_named_by(line, *id, model);
  const Instruction& instruction = *form;
  if (form->ranges.size() > model.instruction(*id).ranges.size())
    mapping.rolled = {form->statement().domain.dims.back()};
  auto order = operand_order(line, kernel, computation, instruction);
  if (!order) return order.diagnostics();
  mapping.operands = *order;
  if (line.constants.size() > 1) return error("one operand at most holds a number");
  if (!line.constants.empty()) {
    mapping.constant = line.constants.front().second;
    if (std::count(order->begin(), order->end(), access_count(computation)) == 0)
      return error(fmt::format("no operand '{}' in {}", line.constants.front().first, instruction.name));
    const auto held = std::find(order->begin(), order->end(), access_count(computation)) - order->begin();
    mapping.constant = as_held(instruction, static_cast<int>(held), *mapping.constant);
    if (const std::string no = not_lowered(mapping, model); !no.empty()) return error(no);
  }
  const std::vector<std::string> dims = dim_names(instruction.statement());
  mapping.dims.resize(dims.size());
  for (const auto& [name, digits] : line.dims) {
    const auto at = std::find(dims.begin(), dims.end(), name);
    if (at == dims.end()) return error("no dim '" + name + "' in " + instruction.name, yaml::did_you_mean(name, dims));
    if (!mapping.dims[static_cast<std::size_t>(at - dims.begin())].empty())
      return error("dim " + name + " of " + instruction.name + " is given twice",
                   "several dims on one: " + name + "=c.r.s, the last one fastest");
    for (Digit digit : digits) {
      const auto dim = digit.column.as_dim();
      const int d = dim ? computation.domain.find(*dim) : -1;
      if (!dim) return error("digit " + print(digit.column) + " of " + name + ": only plain dims are lowered yet");
      if (d < 0)
        return error("no dim '" + *dim + "' in " + computation.name, yaml::did_you_mean(*dim, dim_names(computation)));
      const std::int64_t whole = computation.domain.dims[static_cast<std::size_t>(d)].extent;
      if (digit.extent != 1 && digit.extent != whole)
        return error(fmt::format("digit {} takes {} of {} points: digits that split a dim are not lowered yet", *dim,
                                 digit.extent, whole));
      digit.extent = whole;
      mapping.dims[static_cast<std::size_t>(at - dims.begin())].push_back(digit);
    }
  }
  return mapping;
}

Do do_line(const Mapping& mapping, const Kernel& kernel, const HardwareModel& model) {
  const Computation& statement = kernel.statements[mapping.statement.index()];
  Do line;
  line.statement = statement.name;
  if (!mapping.instruction.valid()) return line;
  const InstructionForm form = instruction_form(mapping, model);
  const Instruction& instruction = *form;
  line.instruction = instruction.name;
  for (std::size_t m = 0; m < mapping.dims.size(); ++m)
    if (!mapping.dims[m].empty()) {
      line.dims.push_back({instruction.statement().domain.dims[m].name, mapping.dims[m]});
      for (Digit& digit : line.dims.back().second) digit.extent = 1;  // the text of a whole dim
    }
  bool in_order = true;
  int next = 0;
  for (std::size_t i = 0; i < mapping.operands.size(); ++i)
    if (is_constant_operand(mapping, i))
      line.constants.push_back(
          {instruction.tensors[operand_of_access(instruction, static_cast<int>(i)).index()].name, *mapping.constant});
    else
      in_order &= mapping.operands[i] == next++;
  if (in_order) return line;
  for (std::size_t i = 0; i < mapping.operands.size(); ++i)
    if (!is_constant_operand(mapping, i))
      line.operands.push_back({instruction.tensors[operand_of_access(instruction, static_cast<int>(i)).index()].name,
                               access_name(kernel.tensors, statement, mapping.operands[i])});
  return line;
}

}  // namespace isamap
