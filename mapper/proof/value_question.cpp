// SPDX-License-Identifier: Apache-2.0
#include "mapper/proof/value_question.h"

#include <cmath>

#include "ir/scalar/scalar_functions.h"
#include "mapper/proof/question_writer.h"

namespace isamap {

std::optional<std::string> integer_text(const ScalarExpr& e, const std::map<int, std::int64_t>& constants) {
  if (const auto* r = std::get_if<Read>(&e.op)) {
    const auto found = constants.find(r->access);
    return found != constants.end() ? number(found->second) : "v" + std::to_string(r->access);
  }
  if (const auto* c = std::get_if<Constant>(&e.op)) {
    if (c->value != std::floor(c->value) || std::abs(c->value) > 0x1p53) return std::nullopt;
    return number(static_cast<std::int64_t>(c->value));
  }
  std::vector<std::string> args;
  for (const ScalarExpr& arg : e.args) {
    const auto text = integer_text(arg, constants);
    if (!text) return std::nullopt;
    args.push_back(*text);
  }
  if (std::holds_alternative<Cast>(e.op)) return is_truth(e.type) ? std::nullopt : std::optional(args[0]);
  if (const auto* unary = std::get_if<Unary>(&e.op)) {
    const std::string_view smt = function_of(unary->op).common.smt;
    return smt.empty() ? std::nullopt : std::optional("(" + std::string(smt) + " " + args[0] + ")");
  }
  const auto* binary = std::get_if<Binary>(&e.op);
  if (binary == nullptr) return std::nullopt;
  const std::string_view smt = function_of(binary->op).common.smt;
  return smt.empty() ? std::nullopt : std::optional("(" + std::string(smt) + " " + args[0] + " " + args[1] + ")");
}

Question value_question(const Exactness& exact, const Loss& cast) {
  Question question;
  question.name = std::string("R: ") + print(cast.argument, exact.reads) + " beyond " + std::string(name(cast.type));
  question.logic = "QF_NIA";
  for (const int r : reads_of(cast.argument)) {
    const Interval& range = exact.ranges[static_cast<std::size_t>(r)];
    const std::string v = "v" + std::to_string(r);
    question.text +=
        "(declare-const " + v + " Int)\n(assert (<= " + number(range.low) + " " + v + " " + number(range.high) + "))\n";
  }
  const auto argument = integer_text(cast.argument, {});
  if (!argument) return question;  // no proof
  const Interval all = values_of(cast.type);
  question.text += "(assert (not (<= " + number(all.low) + " " + *argument + " " + number(all.high) + ")))\n";
  return question;
}

}  // namespace isamap
