// SPDX-License-Identifier: Apache-2.0
// Properties of an instruction, derived from its statement.

#include "isamap/instruction.h"

#include <fmt/core.h>

#include <algorithm>

#include "ir/start.h"
#include "ir/verify/verify_internal.h"
#include "support/overloaded.h"

namespace isamap {

std::string_view name(Inactive inactive) {
  constexpr std::string_view names[] = {"none", "zero", "keep", "undefined"};
  return names[static_cast<std::size_t>(inactive)];
}

std::string_view name(Start start) {
  constexpr std::string_view names[] = {"keep", "zero"};
  return names[static_cast<std::size_t>(start)];
}

std::string_view name(Change change) {
  constexpr std::string_view names[] = {"any", "raise", "lower"};
  return names[static_cast<std::size_t>(change)];
}

std::string_view name(Numerics::Round round) {
  constexpr std::string_view names[] = {"each", "once", "truncate"};
  return names[static_cast<std::size_t>(round)];
}

namespace {

bool is_plain_assignment(const Instruction& instruction) {
  return instruction.semantics.size() == 1 && instruction.statement().reduction == Reduction::assign;
}

std::string show_index(const std::vector<AffineExpr>& index) {
  std::string text;
  for (const AffineExpr& e : index) text += (text.empty() ? "" : ", ") + print(e);
  return "[" + text + "]";
}

std::string show_range(const Dim& dim, const DimRange& range) {
  if (range.fixed()) return fmt::format("{} {}", dim.name, dim.extent);
  const std::string step = range.multiple_of > 1 ? fmt::format(" step {}", range.multiple_of) : "";
  return fmt::format("{} {}..{}{}", dim.name, range.min, range.max, step);
}

std::string show_operand(const Operand& operand, const Tensor& tensor) {
  std::string shape;
  for (const std::int64_t extent : tensor.shape) shape += (shape.empty() ? "" : ",") + std::to_string(extent);
  const std::string type = operand.dtype ? std::string(name(*operand.dtype)) : "any";
  std::string text = fmt::format("  {}: {}[{}]", operand.name, type, shape);
  if (operand.memory.valid()) text += fmt::format(" in memory {}", operand.memory.value);
  if (!operand.state.empty()) text += " in state " + operand.state;
  if (!operand.immediate.empty()) text += fmt::format(" immediate ({} values)", operand.immediate.size());
  const std::string layout = print(operand.layout);
  return text + (layout.empty() ? "" : " {" + layout + "}") + "\n";
}

void check_ranges(const Instruction& instruction, Diagnostics& problems) {
  const std::vector<Dim>& dims = instruction.statement().domain.dims;
  const std::string who = "instruction '" + instruction.name + "': ";
  if (instruction.ranges.size() != dims.size()) {
    problems.push_back(error_at(instruction.where,
                                fmt::format("{}{} dims have {} ranges", who, dims.size(), instruction.ranges.size())));
    return;
  }
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const DimRange& range = instruction.ranges[d];
    if (range.min < 0 || range.multiple_of < 1 || range.max < range.min) {
      problems.push_back(
          error_at(instruction.where, fmt::format("{}dim {} ranges from {} to {} in steps of {}", who, dims[d].name,
                                                  range.min, range.max, range.multiple_of)));
    } else if (range.max != dims[d].extent) {
      problems.push_back(
          error_at(instruction.where, fmt::format("{}dim {} has extent {}, but its largest allowed extent is {}", who,
                                                  dims[d].name, dims[d].extent, range.max)));
    }
  }
}

}  // namespace

std::vector<std::int64_t> touched_extents(const Instruction& instruction, const std::vector<std::int64_t>& extents) {
  std::vector<std::int64_t> touched = extents;
  const bool says = instruction.inactive == Inactive::zero || instruction.inactive == Inactive::undefined;
  for (std::size_t d = 0; says && d < touched.size(); ++d)
    if (!instruction.ranges[d].kept && uses(instruction.statement().write, instruction.statement().domain.dims[d].name))
      touched[d] = instruction.ranges[d].max;
  return touched;
}

const std::string& port_name(const Instruction& instruction) {
  return instruction.timing.port.empty() ? instruction.name : instruction.timing.port;
}

bool is_setter(const Instruction& instruction) { return instruction.semantics.empty(); }

bool is_move(const Instruction& instruction) {
  return is_plain_assignment(instruction) && std::holds_alternative<Read>(instruction.statement().body.op);
}

std::optional<double> fill_value(const Instruction& instruction) {
  if (!is_plain_assignment(instruction)) return std::nullopt;
  const Constant* c = std::get_if<Constant>(&instruction.statement().body.op);
  return c ? std::optional(c->value) : std::nullopt;
}

bool is_combine(const Instruction& instruction) {
  return instruction.atomic.valid() && instruction.semantics.size() == 1 &&
         instruction.statement().reduction != Reduction::assign && may_start(instruction, Start::keep) &&
         std::holds_alternative<Read>(instruction.statement().body.op);
}

bool is_compute(const Instruction& instruction) {
  return !is_setter(instruction) && !is_move(instruction) && !fill_value(instruction) && !is_combine(instruction);
}

TensorId operand_of_access(const Instruction& instruction, int access) {
  return access_of(instruction.statement(), access).tensor;
}

std::vector<std::int64_t> operand_box(const Instruction& instruction, int access) {
  const Computation& statement = instruction.statement();
  const Ranges ranges = ranges_of(statement.domain);
  std::vector<std::int64_t> box;
  for (const AffineExpr& index : access_of(statement, access).index) {
    const auto values = bounds(index, ranges);
    box.push_back(values ? std::max<std::int64_t>(values->high + 1, 0) : 0);
  }
  return box;
}

std::string print(const OperandLayout& layout) {
  std::string text;
  const auto more = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  const auto strides = [&](const StridedLayout& strided) {
    for (const StrideTerm& t : strided.terms)
      more(print(t.term) + ": " + (t.stride ? print(*t.stride) : t.each.empty() ? "any" : "each " + t.each));
    if (const auto& swizzle = strided.swizzle)
      more(fmt::format("xor {} bits {} to {}", swizzle->bits, swizzle->from, swizzle->to));
  };
  const auto fragment = [&](const FragmentLayout& f) {
    for (const auto& [unit, count] : f.over) {
      const auto varies =
          std::find_if(f.varying.begin(), f.varying.end(), [&](const auto& v) { return v.first == unit; });
      more(unit + ": " + (varies == f.varying.end() ? std::to_string(count) : print(varies->second)));
    }
    text = (f.replicated ? "over " + text + ", replicated" : "over " + text) + " -> " + show_index(f.index);
  };
  std::visit(overloaded{[](const DenseLayout&) {}, strides, fragment}, layout);
  return text;
}

std::string print(const Instruction& instruction) {
  std::string text = instruction.name + ":\n";
  for (const Computation& statement : instruction.semantics)
    text += "  " + print(statement, instruction.tensors) + "\n";
  if (is_setter(instruction))
    text += "  sets state only\n";
  else if (instruction.ranges.size() == instruction.statement().domain.dims.size()) {
    text += "  dims:";
    for (std::size_t d = 0; d < instruction.ranges.size(); ++d) {
      text += (d > 0 ? ", " : " ") + show_range(instruction.statement().domain.dims[d], instruction.ranges[d]);
    }
    text += "\n";
  }
  for (std::size_t o = 0; o < instruction.operands.size(); ++o) {
    text += show_operand(instruction.operands[o], instruction.tensors[o]);
  }
  return text;
}

Diagnostics verify(const Instruction& instruction) {
  Diagnostics problems;
  const std::string who = "instruction '" + instruction.name + "': ";
  if (instruction.operands.size() != instruction.tensors.size()) {
    problems.push_back(error_at(
        instruction.where,
        fmt::format("{}{} tensors have {} operands", who, instruction.tensors.size(), instruction.operands.size())));
    return problems;
  }
  if (is_setter(instruction)) return problems;
  for (const Tensor& tensor : instruction.tensors) check_tensor(tensor, who, instruction.where, problems);
  if (!problems.empty()) return problems;
  for (const Computation& statement : instruction.semantics) {
    check_statement(statement, instruction.tensors, who, {instruction.where, {}}, problems);
  }
  check_ranges(instruction, problems);
  for (std::size_t o = 0; o < instruction.operands.size(); ++o) {
    const Operand& operand = instruction.operands[o];
    if (operand.dtype && *operand.dtype != instruction.tensors[o].dtype) {
      problems.push_back(error_at(
          instruction.where, fmt::format("{}operand {} is {}, but the statement computes with {}", who, operand.name,
                                         name(*operand.dtype), name(instruction.tensors[o].dtype))));
    }
  }
  return problems;
}

bool may_start(const Instruction& instruction, Start start) {
  if (instruction.semantics.empty()) return start == Start::keep;
  const std::string& output = instruction.tensors[instruction.statement().write.tensor.index()].name;
  for (const auto& [operand, choices] : instruction.start)
    if (operand == output) return std::find(choices.begin(), choices.end(), start) != choices.end();
  return start == Start::keep;
}

bool always_overwrites(const Instruction& instruction) {
  return !instruction.semantics.empty() && instruction.statement().reduction != Reduction::assign &&
         !may_start(instruction, Start::keep);
}

}  // namespace isamap
