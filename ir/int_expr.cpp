// SPDX-License-Identifier: Apache-2.0
// Integer expressions of hardware files, by precedence climbing. Levels of binding, loosest first:
//   1 |    2 &    3 << >>    4 + -    5 * / %    6 numbers, references, calls, parentheses

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "ir/condition.h"
#include "ir/text/cursor.h"
#include "isamap/expression.h"
#include "support/arithmetic.h"

namespace isamap {

namespace {

using Op = IntExpr::Op;

constexpr int max_int_operations = 512;
constexpr int atom_level = 6;

struct Symbol {
  Op op;
  std::string_view text;
  int level;
};

constexpr std::array<Symbol, 9> symbols{{{Op::bor, "|", 1},
                                         {Op::band, "&", 2},
                                         {Op::shl, "<<", 3},
                                         {Op::shr, ">>", 3},
                                         {Op::add, "+", 4},
                                         {Op::sub, "-", 4},
                                         {Op::mul, "*", 5},
                                         {Op::div, "/", 5},
                                         {Op::mod, "%", 5}}};

struct ComparisonSign {
  Condition::Op op;
  std::string_view text;
};

// Longer ones first: `<` begins `<=`.
constexpr std::array<ComparisonSign, 6> comparisons{{{Condition::Op::equal, "=="},
                                                     {Condition::Op::unequal, "!="},
                                                     {Condition::Op::at_most, "<="},
                                                     {Condition::Op::at_least, ">="},
                                                     {Condition::Op::less, "<"},
                                                     {Condition::Op::more, ">"}}};

struct IntFunction {
  Op op;
  std::string_view name;
  std::size_t arguments;
};

constexpr std::array<IntFunction, 3> int_functions{{{Op::min, "min", 2}, {Op::max, "max", 2}, {Op::bits, "bits", 1}}};

IntExpr number(std::int64_t value) {
  IntExpr e;
  e.number = value;
  return e;
}

IntExpr operation(Op op, std::vector<IntExpr> args) {
  IntExpr e;
  e.op = op;
  e.args = std::move(args);
  return e;
}

class IntReader {
 public:
  explicit IntReader(Cursor& cursor) : cursor_(cursor) {}

  IntExpr expression(int level) {
    if (level == 1 && !cursor_.enter()) return {};
    if (level == atom_level) return atom();
    IntExpr result = expression(level + 1);
    while (const Symbol* symbol = next(level)) {
      const std::size_t at = cursor_.offset();
      IntExpr right = expression(level + 1);
      const bool divides = symbol->op == Op::div || symbol->op == Op::mod;
      if (divides && evaluate(right, [](const Reference&) { return std::nullopt; }) == 0)
        cursor_.fail(at, "division by zero", "write a number from 1 on");
      result = operation(symbol->op, {std::move(result), std::move(right)});
    }
    if (level == 1) cursor_.leave();
    return result;
  }

 private:
  const Symbol* next(int level) {
    for (const Symbol& symbol : symbols)
      if (symbol.level == level && cursor_.accept(symbol.text)) return count_operation() ? &symbol : nullptr;
    return nullptr;
  }

  bool count_operation() {
    if (++operations_ > max_int_operations)
      cursor_.fail(cursor_.offset(),
                   "the expression has more than " + std::to_string(max_int_operations) + " operations");
    return !cursor_.failed();
  }

  IntExpr atom() {
    if (cursor_.failed()) return {};
    if (cursor_.accept("-")) {
      if (!count_operation()) return {};
      if (cursor_.at_number()) return number(-integer());
      return operation(Op::sub, {number(0), atom()});
    }
    if (cursor_.at_number()) return number(integer());
    if (cursor_.accept("(")) {
      IntExpr inner = expression(1);
      cursor_.expect(")");
      return inner;
    }
    return named();
  }

  std::int64_t integer() { return cursor_.expect_integer("a number", std::numeric_limits<std::int64_t>::max()); }

  IntExpr named() {
    const std::size_t at = cursor_.offset();
    IntExpr result;
    result.op = Op::reference;
    result.reference.object = cursor_.expect_name("a number, a name or '('", false);
    if (cursor_.peek("(")) return call(at, result.reference.object);
    if (cursor_.accept(".")) result.reference.property = cursor_.expect_name("a property", false);
    if (!cursor_.accept("[")) return result;
    result.reference.argument = argument();
    cursor_.expect("]");
    return result;
  }

  std::string argument() {  // a dim, an operand, or the number of an axis without a name: `.0`
    std::string dot = cursor_.accept(".") ? "." : "";
    if (cursor_.at_number()) return dot + std::to_string(integer());
    std::string term = dot + cursor_.expect_name("a dim or an operand", true);
    for (const char* division : {"/", "%"})  // the term of a stride: `S.pitch[k/4]`
      if (cursor_.accept(division)) return term + division + std::to_string(integer());
    return term;
  }

  IntExpr call(std::size_t at, const std::string& name) {
    const auto function =
        std::find_if(int_functions.begin(), int_functions.end(), [&](const IntFunction& f) { return f.name == name; });
    if (function == int_functions.end()) {
      cursor_.fail(at, "there is no function '" + name + "'", "functions: min(a, b), max(a, b), bits(x)");
      return {};
    }
    cursor_.expect("(");
    if (function->op == Op::bits && cursor_.at_number()) return bits_of_literal();
    std::vector<IntExpr> args;
    do args.push_back(expression(1));
    while (cursor_.accept(","));
    cursor_.expect(")");
    if (args.size() != function->arguments)
      cursor_.fail(at, "'" + name + "' takes " + std::to_string(function->arguments) +
                           (function->arguments == 1 ? " argument" : " arguments") + ", found " +
                           std::to_string(args.size()));
    return operation(function->op, std::move(args));
  }

  IntExpr bits_of_literal() {  // bits(1.5) is a number
    const float value = static_cast<float>(cursor_.expect_real("a number"));
    cursor_.expect(")");
    return number(std::bit_cast<std::uint32_t>(value));
  }

  Cursor& cursor_;
  int operations_ = 0;
};

int level_of(const IntExpr& e) {
  for (const Symbol& symbol : symbols)
    if (symbol.op == e.op) return symbol.level;
  return atom_level;
}

std::string print_at(const IntExpr& e, int level) { return level_of(e) < level ? "(" + print(e) + ")" : print(e); }

std::string print(const Reference& r) {
  return r.object + (r.property.empty() ? "" : "." + r.property) + (r.argument.empty() ? "" : "[" + r.argument + "]");
}

void collect(const IntExpr& e, std::vector<Reference>& found) {
  if (e.op == Op::reference) found.push_back(e.reference);
  for (const IntExpr& arg : e.args) collect(arg, found);
}

std::optional<std::int64_t> shifted_left(std::int64_t a, std::int64_t b) {
  if (b < 0 || b > 62) return std::nullopt;
  return checked_mul(a, std::int64_t{1} << b);
}

std::optional<std::int64_t> divided(std::int64_t a, std::int64_t b, bool remainder) {
  if (b == 0 || (a == std::numeric_limits<std::int64_t>::min() && b == -1)) return std::nullopt;
  return remainder ? floor_mod(a, b) : floor_div(a, b);
}

std::optional<std::int64_t> apply(Op op, std::int64_t a, std::int64_t b) {
  std::int64_t difference = 0;
  switch (op) {
    case Op::add:
      return checked_add(a, b);
    case Op::sub:
      return __builtin_sub_overflow(a, b, &difference) ? std::nullopt : std::optional(difference);
    case Op::mul:
      return checked_mul(a, b);
    case Op::div:
      return divided(a, b, false);
    case Op::mod:
      return divided(a, b, true);
    case Op::shl:
      return shifted_left(a, b);
    case Op::shr:
      return b < 0 || b > 63 ? std::nullopt : std::optional(a >> b);
    case Op::band:
      return a & b;
    case Op::bor:
      return a | b;
    case Op::min:
      return std::min(a, b);
    case Op::max:
      return std::max(a, b);
    default:
      return std::nullopt;
  }
}

}  // namespace

OperandProperty property_of(const Reference& reference) {
  using enum OperandProperty;
  static constexpr std::pair<std::string_view, OperandProperty> words[] = {
      {"", none},         {"index", index}, {"type", type},  {"group", group},
      {"stride", stride}, {"pitch", pitch}, {"coord", coord}};
  for (const auto& [word, property] : words)
    if (reference.property == word) return property;
  return field;
}

bool is_position(const Reference& reference) {
  const OperandProperty property = property_of(reference);
  return property == OperandProperty::none || property == OperandProperty::index;
}

bool is_distance(const Reference& reference) {
  const OperandProperty property = property_of(reference);
  return property == OperandProperty::stride || property == OperandProperty::pitch;
}

Result<IntExpr> parse_int_expr(const std::string& text, const SourceLocation& where) {
  Cursor cursor(text, where);
  IntExpr e = IntReader(cursor).expression(1);
  cursor.expect_end();
  if (cursor.failed()) return cursor.problem();
  return e;
}

Result<Condition> parse_condition(const std::string& text, const SourceLocation& where, const std::string& examples) {
  const std::string hint = "write a condition like " + examples;
  Cursor cursor(text, where);
  Condition condition;
  condition.left = IntReader(cursor).expression(1);
  const auto found = std::find_if(comparisons.begin(), comparisons.end(),
                                  [&](const ComparisonSign& c) { return !cursor.failed() && cursor.accept(c.text); });
  if (found == comparisons.end()) {
    const bool assigns = !cursor.failed() && cursor.peek("=");
    cursor.fail(cursor.offset(), "expected a comparison (== != < <= > >=), found " + cursor.found(),
                assigns ? "write ==" : hint);
  } else {
    condition.op = found->op;
    condition.right = IntReader(cursor).expression(1);
    if (!cursor.failed() && !cursor.at_end())
      cursor.fail(cursor.offset(), "expected the end of the condition, found " + cursor.found(),
                  "each condition is an entry of its own, like " + examples);
  }
  if (!cursor.failed()) return condition;
  Diagnostic problem = cursor.problem();
  if (problem.hint.empty()) problem.hint = hint;
  return problem;
}

std::string print(const Condition& c) {
  for (const ComparisonSign& comparison : comparisons)
    if (comparison.op == c.op) return print(c.left) + " " + std::string(comparison.text) + " " + print(c.right);
  return "";
}

std::vector<Reference> references(const Condition& c) {
  std::vector<Reference> found = references(c.left);
  collect(c.right, found);
  return found;
}

std::optional<bool> holds(const Condition& c, const Lookup& lookup) {
  const auto left = evaluate(c.left, lookup), right = evaluate(c.right, lookup);
  if (!left || !right) return std::nullopt;
  switch (c.op) {
    case Condition::Op::equal:
      return *left == *right;
    case Condition::Op::unequal:
      return *left != *right;
    case Condition::Op::less:
      return *left < *right;
    case Condition::Op::at_most:
      return *left <= *right;
    case Condition::Op::more:
      return *left > *right;
    case Condition::Op::at_least:
      return *left >= *right;
  }
  return std::nullopt;
}

std::string print(const IntExpr& e) {
  if (e.op == Op::number) return std::to_string(e.number);
  if (e.op == Op::reference) return print(e.reference);
  for (const Symbol& symbol : symbols)
    if (symbol.op == e.op)
      return print_at(e.args[0], symbol.level) + " " + std::string(symbol.text) + " " +
             print_at(e.args[1], symbol.level + 1);
  std::string text;
  for (const IntFunction& function : int_functions)
    if (function.op == e.op) text = std::string(function.name) + "(";
  for (std::size_t i = 0; i < e.args.size(); ++i) text += (i > 0 ? ", " : "") + print(e.args[i]);
  return text + ")";
}

std::vector<Reference> references(const IntExpr& e) {
  std::vector<Reference> found;
  collect(e, found);
  return found;
}

std::optional<std::int64_t> evaluate(const IntExpr& e,
                                     const std::function<std::optional<std::int64_t>(const Reference&)>& lookup) {
  if (e.op == Op::number) return e.number;
  if (e.op == Op::reference) return lookup(e.reference);
  const auto a = evaluate(e.args[0], lookup);
  if (!a) return std::nullopt;
  if (e.op == Op::bits) return std::bit_cast<std::uint32_t>(static_cast<float>(*a));
  const auto b = evaluate(e.args[1], lookup);
  if (!b) return std::nullopt;
  return apply(e.op, *a, *b);
}

}  // namespace isamap
