#include "mapper/value_question.h"

namespace isamap {
namespace {

std::string number(std::int64_t n) { return n < 0 ? "(- " + std::to_string(-n) + ")" : std::to_string(n); }

/// The argument of a cast as an integer expression over the reads v0, v1, ...
std::string as_integer(const ScalarExpr& e) {
  if (const auto* r = std::get_if<Read>(&e.op)) return "v" + std::to_string(r->access);
  if (const auto* c = std::get_if<Constant>(&e.op)) return number(static_cast<std::int64_t>(c->value));
  if (std::holds_alternative<Cast>(e.op)) return as_integer(e.args[0]);
  if (std::holds_alternative<Unary>(e.op)) return "(- " + as_integer(e.args[0]) + ")";
  const BinaryOp op = std::get<Binary>(e.op).op;
  const std::string symbol = op == BinaryOp::add ? "+" : op == BinaryOp::sub ? "-" : "*";
  return "(" + symbol + " " + as_integer(e.args[0]) + " " + as_integer(e.args[1]) + ")";
}

}  // namespace

Question value_question(const Exactness& exact, const Loss& held) {
  Question question;
  question.name = std::string("R: ") + print(held.argument, exact.reads) + " beyond " + std::string(name(held.type));
  question.logic = "QF_NIA";
  for (const int r : reads_of(held.argument)) {
    const Interval& range = exact.ranges[static_cast<std::size_t>(r)];
    const std::string v = "v" + std::to_string(r);
    question.text +=
        "(declare-const " + v + " Int)\n(assert (<= " + number(range.low) + " " + v + " " + number(range.high) + "))\n";
  }
  const Interval all = values_of(held.type);
  question.text +=
      "(assert (not (<= " + number(all.low) + " " + as_integer(held.argument) + " " + number(all.high) + ")))\n";
  return question;
}

}  // namespace isamap
