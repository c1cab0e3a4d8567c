// SPDX-License-Identifier: Apache-2.0
#include "backends/assembly/command_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/encoding/real_number.h"

namespace isamap {
namespace {

/// Encodings are aligned in one column after short texts.
constexpr std::size_t word_column = 40;

class CommandText {
 public:
  CommandText(const Instruction& instruction, const HardwareModel& model, const ValueOf& value_of,
              const std::function<std::string(const Reference&)>& spelling)
      : instruction_(instruction), model_(model), value_of_(value_of), spelling_(spelling) {}

  Result<std::string> print() {
    const Template& text = instruction_.assembly.empty() ? instruction_.emit : instruction_.assembly;
    if (text.empty())
      return error_at(instruction_.where, fmt::format("'{}' has neither `emit` nor `asm`", instruction_.name));
    std::string line = fill(text, [&](const Placeholder& p) { return placeholder(p); });
    if (!problem_ && instruction_.encoding) {
      const std::string& sign = model_.program.comment;
      line.resize(std::max(line.size() + 1, word_column), ' ');
      line += fmt::format("{} {}", sign.empty() ? "#" : sign, word(*instruction_.encoding));
    }
    if (problem_) return *problem_;
    return line;
  }

 private:
  std::string placeholder(const Placeholder& p) {
    if (p.expr.op == IntExpr::Op::reference) {
      if (const FormatUse* use = packed_by(p.expr.reference, instruction_)) return word(*use);
      if (auto spelled = spelling_(p.expr.reference); !spelled.empty()) return spelled;
    }
    const auto value = evaluate(p.expr, value_of_);
    if (value) return number_text(*value, p, instruction_, model_);
    problem_ = without_value(p);
    return "?";
  }

  Diagnostic without_value(const Placeholder& p) const {
    Diagnostic problem =
        error_at(instruction_.where, fmt::format("{{{}}} of '{}' has no value here", p.text, instruction_.name));
    for (const Reference& r : references(p.expr))
      for (const Operand& operand : instruction_.operands) {
        if (operand.name != r.object || !r.property.empty() || !operand.memory.valid()) continue;
        const Memory& memory = model_.memory(operand.memory);
        if (memory.is_register() || memory.granularity <= 1) continue;
        problem.message +=
            fmt::format(": addresses in {} are in units of {} bytes, and this use of {} is not aligned to them",
                        memory.name, memory.granularity, operand.name);
        problem.hint = fmt::format("write align: {}B at operand {}", memory.granularity, operand.name);
      }
    return problem;
  }

  std::string word(const FormatUse& use) {
    const auto word = encode(use, instruction_, model_, value_of_);
    if (word) return word->hexadecimal();
    if (!problem_) problem_ = word.diagnostics().front();
    return "?";
  }

  const Instruction& instruction_;
  const HardwareModel& model_;
  const ValueOf& value_of_;
  const std::function<std::string(const Reference&)>& spelling_;
  std::optional<Diagnostic> problem_;
};

}  // namespace

Result<std::string> command_text(const Instruction& instruction, const HardwareModel& model, const ValueOf& value_of,
                                 const std::function<std::string(const Reference&)>& spelling) {
  return CommandText(instruction, model, value_of, spelling).print();
}

}  // namespace isamap
