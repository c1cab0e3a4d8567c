// SPDX-License-Identifier: Apache-2.0
#include "mapper/mapping_names.h"

#include <algorithm>

#include "ir/text/access_name.h"
#include "mapper/match/instruction_tree.h"

namespace isamap {
namespace {

std::string without_spaces(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  return text;
}

/// The instruction operand of access `a` of the mapping.
const std::string& operand_name(const Mapping& mapping, const Instruction& instruction, int a) {
  const Computation& semantics = instruction.statement();
  std::vector<TensorId> tensors;
  for (int t = 0; t < access_count(semantics); ++t) {
    const TensorId tensor = access_of(semantics, t).tensor;
    const bool again = t > 1 && std::find(tensors.begin() + 1, tensors.end(), tensor) != tensors.end();
    if (mapping.rolled.empty() || !again) tensors.push_back(tensor);
  }
  return instruction.tensors[tensors[static_cast<std::size_t>(a)].index()].name;
}

}  // namespace

std::vector<std::pair<std::string, std::vector<std::string>>> named_digits(const Mapping& mapping,
                                                                           const HardwareModel& model) {
  std::vector<std::pair<std::string, std::vector<std::string>>> named;
  std::vector<Dim> dims = instruction_of(mapping, model).statement().domain.dims;
  dims.insert(dims.end(), mapping.rolled.begin(), mapping.rolled.end());
  for (std::size_t d = 0; d < mapping.dims.size(); ++d) {
    named.push_back({dims[d].name, {}});
    for (const Digit& digit : mapping.dims[d]) named.back().second.push_back(without_spaces(print(digit.column)));
  }
  return named;
}

std::vector<std::pair<std::string, std::string>> named_operands(const Mapping& mapping, const Kernel& kernel,
                                                                const HardwareModel& model) {
  std::vector<std::pair<std::string, std::string>> named;
  const Instruction& instruction = instruction_of(mapping, model);
  const Computation& statement = kernel.statements[mapping.statement.index()];
  for (std::size_t a = 0; a < mapping.operands.size(); ++a) {
    const int found = mapping.operands[a];
    const bool constant = found < 0 || found >= access_count(statement);
    named.emplace_back(operand_name(mapping, instruction, static_cast<int>(a)),
                       constant ? "constant" : access_name(kernel.tensors, statement, found));
  }
  return named;
}

std::vector<std::pair<std::string, std::string>> named_carriers(const Mapping& mapping, const HardwareModel& model) {
  std::vector<std::pair<std::string, std::string>> named;
  const Instruction& instruction = instruction_of(mapping, model);
  for (const Carrier& carrier : mapping.carriers) {
    const auto place = std::find(mapping.operands.begin(), mapping.operands.end(), carrier.access);
    if (place == mapping.operands.end()) continue;
    const int access = static_cast<int>(place - mapping.operands.begin());
    named.emplace_back(carrier.reason, operand_name(mapping, instruction, access));
  }
  return named;
}

bool has_partial_extents(const Mapping& mapping, const Kernel& kernel) {
  const IterationDomain& domain = kernel.statements[mapping.statement.index()].domain;
  for (const auto& digits : mapping.dims)
    for (const Digit& digit : digits) {
      const auto dim = digit.column.as_dim();
      const int position = dim ? domain.find(*dim) : -1;
      if (position < 0 || domain.dims[static_cast<std::size_t>(position)].extent != digit.extent) return true;
    }
  return false;
}

std::string digits_text(const Mapping& mapping, const HardwareModel& model) {
  std::string text;
  for (const auto& [dim, columns] : named_digits(mapping, model)) {
    text += (text.empty() ? "" : ", ") + dim + " = ";
    for (std::size_t c = 0; c < columns.size(); ++c) text += (c > 0 ? "." : "") + columns[c];
    if (columns.empty()) text += "1";
  }
  return text;
}

std::string_view name(Proof proof) {
  switch (proof) {
    case Proof::unproved:
      return "unproved";
    case Proof::proved:
      return "proved";
    case Proof::unknown:
      return "unknown";
  }
  return "";
}

std::string_view name(Rule rule) {
  switch (rule) {
    case Rule::access:
      return "access";
    case Rule::full:
      return "full";
    case Rule::all:
      return "all";
  }
  return "";
}

}  // namespace isamap
