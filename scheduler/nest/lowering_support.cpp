// SPDX-License-Identifier: Apache-2.0
#include "scheduler/nest/lowering_support.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "hwdesc/model/async_kind.h"
#include "hwdesc/model/program_language.h"
#include "isamap/program.h"
#include "scheduler/nest/rerolled_instruction.h"

namespace isamap {

namespace {

/// Is the constant, rounded to the operand's type, one of its encodable immediates?
bool allows(const Operand& operand, double constant) {
  const bool real = operand.dtype && is_float(*operand.dtype);
  const std::int64_t number = constant_ref(operand, constant).index[0].constant();
  return (real || constant == static_cast<double>(number)) &&
         std::find(operand.immediate.begin(), operand.immediate.end(), number) != operand.immediate.end();
}

/// A constant needs an operand without a memory (state field or immediate), and only a constant fits there.
std::string constants_refusal(const Mapping& mapping, const Instruction& instruction) {
  for (std::size_t i = 0; i < mapping.operands.size(); ++i) {
    const Operand& operand = instruction.operands[operand_of_access(instruction, static_cast<int>(i)).index()];
    const bool held = mapping.constant && is_constant_operand(mapping, i);
    if (held && operand.memory.valid())
      return "an operand in a memory has the constant value " + constant_name(mapping);
    if (!held && !operand.memory.valid())
      return "operand " + operand.name + " is an immediate or a state field, and the kernel has a tensor there";
    if (!operand.immediate.empty() && !allows(operand, *mapping.constant))
      return constant_name(mapping) + " is no encodable value of operand " + operand.name;
  }
  return "";
}

/// A call has one address for an operand; further reads of it at other places need a layout that tiles do not have.
std::string read_in_several_ways(const Instruction& instruction) {
  const Computation& unit = instruction.statement();
  for (int a = 0; a < access_count(unit); ++a)
    for (int b = a + 1; b < access_count(unit); ++b)
      if (access_of(unit, a).tensor == access_of(unit, b).tensor && access_of(unit, a) != access_of(unit, b))
        return fmt::format("{} reads operand {} in several ways, and an operand is fetched once", instruction.name,
                           instruction.tensors[access_of(unit, a).tensor.index()].name);
  return "";
}

/// x*x: one tile for two operands, which must have the same memory and layout.
std::string one_tile_for_two_operands(const Mapping& mapping, const Instruction& instruction) {
  const auto operand = [&](std::size_t i) {
    Operand found = instruction.operands[operand_of_access(instruction, static_cast<int>(i)).index()];
    found.name.clear();
    return found;
  };
  const auto taken = [&](std::size_t i) -> const Access& {
    return access_of(instruction.statement(), static_cast<int>(i));
  };
  for (std::size_t i = 1; i < mapping.operands.size(); ++i)
    for (std::size_t j = i + 1; j < mapping.operands.size(); ++j)
      if (mapping.operands[i] == mapping.operands[j] && (operand(i) != operand(j) || taken(i).index != taken(j).index))
        return "one access is bound to two operands with different layouts";
  return "";
}

}  // namespace

std::string not_lowered(const Instruction& instruction, const HardwareModel& model) {
  const bool groups = completes_in_groups(instruction, model) && is_compute(instruction);
  if (!instruction.async_by.empty() && !groups)
    return "it completes later, by '" + instruction.async_by + "', and no waits are placed";
  if (!is_command_stream(model)) return "";
  for (const Operand& operand : instruction.operands) {
    const auto* layout = std::get_if<StridedLayout>(&operand.layout);
    if (layout && layout->swizzle) return "'" + operand.name + "' is swizzled, and no tile is stored so";
  }
  return "";
}

double round_to_operand(const Instruction& instruction, int access, double number) {
  const TensorId t = operand_of_access(instruction, access);
  const DType type = instruction.operands[t.index()].dtype.value_or(instruction.tensors[t.index()].dtype);
  return is_float(type) ? round_to(type, number) : number;
}

std::string not_lowered(const Mapping& mapping, const HardwareModel& model) {
  for (const TreeCall& call : mapping.tree.calls)
    if (std::string why = not_lowered(model.instruction(call.instruction), model); !why.empty()) return why;
  if (std::string why = not_lowered(model.instruction(mapping.instruction), model); !why.empty()) return why;
  const InstructionForm form = instruction_form(mapping, model);
  if (!form || (!mapping.rolled.empty() && mapping.dims.back().empty()))
    return "the sum over " + mapping.rolled[0].name + " is unrolled in the instruction, " +
           (form ? "and no dim of the statement is mapped to it"
                 : "and lowering needs it accumulated, with a subscript of its own and the first term first");
  if (const std::string no = read_in_several_ways(*form); !no.empty()) return no;
  if (const std::string no = constants_refusal(mapping, *form); !no.empty()) return no;
  if (mapping.kinds.count(Kind::partial) > 0) return "partial sums have to be added up after it";
  std::set<AffineExpr> columns;
  for (const std::vector<Digit>& digits : mapping.dims) {
    for (const Digit& digit : digits) {
      if (!digit.column.as_dim()) return "(" + print(digit.column) + ") is no plain dim";
      if (!columns.insert(digit.column).second) return print(digit.column) + " is tied on two instruction dims";
    }
  }
  return one_tile_for_two_operands(mapping, *form);
}

}  // namespace isamap
