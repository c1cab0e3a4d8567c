// SPDX-License-Identifier: Apache-2.0
// Statements: `C[i,j] += A[i,k] * B[k,j]`, by recursive descent.
//
//   statement  := access ("=" | "+=" | "*=" | "max=" | "min=" | "sat+=") expression
//   expression := all {"or" all}
//   all        := truth {"and" truth}
//   truth      := "not" truth | comparison
//   comparison := sum [("<" | "<=" | ">" | ">=" | "==" | "!=") sum]
//   sum        := product {("+" | "-") product}
//   product    := factor {("*" | "/") factor}
//   factor     := "-" factor | number | "(" expression ")" | access | function "(" expression {"," expression} ")"
//              | "value" "(" index ")"
//   access     := NAME "[" [index {"," index}] "]" ["outside" number]     (of reads)
//   index      := affine expression | "at" "(" access ")"                 (of reads, one)

#include "ir/text/parse.h"

#include <algorithm>
#include <limits>

#include "ir/scalar/scalar_functions.h"
#include "ir/text/affine_parser.h"

namespace isamap {

namespace {

constexpr int max_operations = 512;
constexpr std::size_t max_reads = 64;

using FunctionOp = std::variant<Unary, Binary, Select>;

struct Function {
  std::size_t arguments;
  FunctionOp op;
};

/// Those that are written as calls.
std::optional<Function> function_named(std::string_view name) {
  const auto is_called = [&](const ScalarFunction& f) { return f.level == binding::primary && f.name == name; };
  for (const UnaryFunction& f : unary_functions())
    if (is_called(f.common)) return Function{1, Unary{f.op}};
  for (const BinaryFunction& f : binary_functions())
    if (is_called(f.common)) return Function{2, Binary{f.op}};
  return name == "select" ? std::optional(Function{3, Select{}}) : std::nullopt;
}

std::string names_of_functions() {
  std::string names;
  const auto add = [&](const ScalarFunction& f) {
    if (f.level == binding::primary) names += std::string(f.name) + " ";
  };
  for (const UnaryFunction& f : unary_functions()) add(f.common);
  for (const BinaryFunction& f : binary_functions()) add(f.common);
  return names + "select";
}

Reduction read_reduction(Cursor& cursor) {
  const std::size_t at = cursor.offset();
  for (const auto& [text, value] : {std::pair{"+=", Reduction::add},
                                    {"*=", Reduction::mul},
                                    {"max=", Reduction::max},
                                    {"min=", Reduction::min},
                                    {"sat+=", Reduction::saturating_add},
                                    {"=", Reduction::assign}})
    if (cursor.accept(text)) return value;
  const bool subtracts = cursor.peek("-=");
  cursor.fail(at, "expected '=', '+=', '*=', 'max=' or 'min=', found " + cursor.found(),
              subtracts ? "write '+= -(...)'" : "");
  return Reduction::assign;
}

class StatementReader {
 public:
  StatementReader(Cursor& cursor, const Bindings& sizes) : cursor_(cursor), sizes_(sizes) {}

  ParsedStatement statement() {
    ParsedStatement result;
    const std::size_t at = cursor_.offset();  // before the name is consumed: arguments have no order
    result.write = access(at, cursor_.expect_name("the written tensor", false));
    if (result.write.computed)
      cursor_.fail(at, "statements write at subscripts of iterators, not at computed ones",
                   "`at(...)` is of reads: turn the statement round, so that it gathers");
    if (cursor_.peek_name() == "outside")
      cursor_.fail(cursor_.offset(), "`outside` is of reads; what is written lies inside", "leave it out");
    result.reduction = read_reduction(cursor_);
    result.body = expression();
    cursor_.expect_end();
    number_values(result.body);
    result.reads = std::move(reads_);
    result.values = std::move(values_);
    result.name_offsets = std::move(name_offsets_);
    return result;
  }

 private:
  ParsedAccess access(std::size_t at, std::string tensor) {
    ParsedAccess result{std::move(tensor), {}, static_cast<int>(at)};
    cursor_.expect("[");
    if (cursor_.accept("]")) return result;
    do {
      const std::size_t begin = cursor_.offset();
      result.index_offsets.push_back(static_cast<int>(begin));
      if (at_computed_index())
        computed_index(begin, result);
      else
        result.index.push_back(affine(begin));
    } while (cursor_.accept(","));
    cursor_.expect("]");
    return result;
  }

  AffineExpr affine(std::size_t begin) {
    const std::string_view text = cursor_.rest();
    AffineExpr e = read_affine(cursor_, sizes_, true);
    note_names(text.substr(0, text.size() - cursor_.rest().size()), begin);
    return e;
  }

  /// `at` is a name like others, unless a parenthesis follows.
  bool at_computed_index() {
    if (cursor_.peek_name() != "at") return false;
    const std::string_view rest = cursor_.rest();
    const std::size_t next = rest.find_first_not_of(' ', rest.find("at") + 2);
    return next != std::string_view::npos && rest[next] == '(';
  }

  void computed_index(std::size_t begin, ParsedAccess& of) {
    if (of.computed) cursor_.fail(begin, "one subscript of an access may be computed, found two");
    cursor_.accept_word("at");
    cursor_.expect("(");
    const std::size_t at = cursor_.offset();
    const ScalarExpr number = numbered(read_access(at, cursor_.expect_name("a tensor of indices", false)));
    cursor_.expect(")");
    of.computed = ComputedIndex{static_cast<int>(of.index.size()), std::get<Read>(number.op).access};
    of.index.emplace_back(0);
  }

  /// `value(i + 1)`. Numbered behind all reads at the end.
  ScalarExpr value_of_dims() {
    cursor_.expect("(");
    const AffineExpr e = affine(cursor_.offset());
    cursor_.expect(")");
    const auto same = std::find(values_.begin(), values_.end(), e);
    const auto number = static_cast<int>(same - values_.begin());
    if (same == values_.end()) values_.push_back(e);
    return read(static_cast<int>(max_reads) + number, DType::s32);
  }

  void number_values(ScalarExpr& e) const {
    if (auto* r = std::get_if<Read>(&e.op); r && r->access >= static_cast<int>(max_reads))
      r->access += static_cast<int>(reads_.size()) - static_cast<int>(max_reads);
    for (ScalarExpr& arg : e.args) number_values(arg);
  }

  ParsedAccess read_access(std::size_t at, const std::string& tensor) {
    ParsedAccess result = access(at, tensor);
    if (!cursor_.accept_word("outside")) return result;
    const double sign = cursor_.accept("-") ? -1 : 1;
    result.outside = sign * (cursor_.accept_word("inf") ? std::numeric_limits<double>::infinity()
                                                        : cursor_.expect_real("the value of reads outside"));
    return result;
  }

  /// Records the positions of the names of one index, for later diagnostics.
  void note_names(std::string_view index, std::size_t begin) {
    const std::string text(index);
    const SourceLocation nowhere;
    for (Cursor cursor(text, nowhere); !cursor.at_end();) {
      const std::size_t at = cursor.offset();
      const std::string name = cursor.name(true);
      if (name.empty())
        cursor.advance(1);
      else
        name_offsets_.emplace(name, static_cast<int>(begin + at));
    }
  }

  // Equal accesses are one read.
  ScalarExpr numbered(const ParsedAccess& found) {
    const auto same = std::find_if(reads_.begin(), reads_.end(), [&](const ParsedAccess& other) {
      return other.tensor == found.tensor && other.index == found.index && other.outside == found.outside &&
             other.computed == found.computed;
    });
    const int number = static_cast<int>(same - reads_.begin());
    if (same == reads_.end()) reads_.push_back(found);
    if (reads_.size() > max_reads)
      cursor_.fail(static_cast<std::size_t>(found.offset),
                   "the statement has more than " + std::to_string(max_reads) + " distinct reads");
    return read(number, DType::f32);
  }

  bool count_operation() {
    if (++operations_ > max_operations)
      cursor_.fail(cursor_.offset(), "the statement has more than " + std::to_string(max_operations) + " operations");
    return !cursor_.failed();
  }

  ScalarExpr expression() {
    ScalarExpr result;
    if (!cursor_.enter()) return result;
    result = operators(binding::either);
    cursor_.leave();
    return result;
  }

  /// The operator of this level at the cursor; of several, the longest.
  const BinaryFunction* operator_at(int level) {
    const BinaryFunction* found = nullptr;
    for (const BinaryFunction& f : binary_functions()) {
      const std::string_view name = f.common.name;
      if (f.common.level != level || (found && found->common.name.size() > name.size())) continue;
      const bool is_word = name.front() >= 'a';
      if (is_word ? cursor_.peek_name() == name : cursor_.peek(name)) found = &f;
    }
    return found;
  }

  /// `not`, which is no access of a tensor of that name.
  bool at_negation() {
    const std::string_view name = function_of(UnaryOp::logical_not).common.name;
    if (cursor_.peek_name() != name) return false;
    const std::string_view after = cursor_.rest().substr(name.size());
    const std::size_t next = after.find_first_not_of(" \t\n");
    return next == std::string_view::npos || after[next] != '[';
  }

  /// Operators of this level of binding and of tighter ones; equal ones associate to the left, comparisons do not.
  ScalarExpr operators(int level) {
    if (level == binding::primary) return factor();
    if (level == binding::negation && at_negation() && count_operation()) {
      cursor_.name(false);
      return unary(UnaryOp::logical_not, operators(level));
    }
    ScalarExpr result = operators(level + 1);
    for (int count = 0; !cursor_.failed(); ++count) {
      const BinaryFunction* f = operator_at(level);
      if (f == nullptr || !count_operation()) break;
      if (level == binding::comparison && count > 0)
        cursor_.fail(cursor_.offset(), "a comparison is compared again",
                     "write a < b and b < c, or parentheses: (a < b) == c");
      cursor_.advance(f->common.name.size());
      result = binary(f->op, std::move(result), operators(level + 1));
    }
    return result;
  }

  ScalarExpr factor() {
    if (cursor_.failed() || !count_operation()) return {};
    if (cursor_.accept("-")) {  // directly before a number it is the number's sign
      if (cursor_.at_number()) return constant(-cursor_.expect_real("a number"), DType::f32);
      if (cursor_.accept_word("inf")) return constant(-std::numeric_limits<double>::infinity(), DType::f32);
      return unary(UnaryOp::negate, factor());
    }
    if (cursor_.at_number()) return constant(cursor_.expect_real("a number"), DType::f32);
    if (cursor_.accept("(")) {
      ScalarExpr inner = expression();
      cursor_.expect(")");
      return inner;
    }
    return named();
  }

  ScalarExpr named() {
    const std::size_t at = cursor_.offset();
    const std::string name = cursor_.expect_name("a tensor, a function, a number or '('", false);
    if (cursor_.failed()) return {};
    if (cursor_.peek("[")) return numbered(read_access(at, name));
    if (name == "value" && cursor_.peek("(")) return value_of_dims();
    if (cursor_.peek("(")) return call(at, name);
    if (const auto size = sizes_.find(name); size != sizes_.end())
      return constant(static_cast<double>(size->second), DType::f32);
    if (name == "inf") return constant(std::numeric_limits<double>::infinity(), DType::f32);
    cursor_.fail(at, "'" + name + "' is neither a tensor access, a function call nor a known size",
                 "a tensor without dims is read as '" + name + "[]'");
    return {};
  }

  std::vector<ScalarExpr> arguments(std::size_t at, const std::string& name, std::size_t count) {
    std::vector<ScalarExpr> args;
    cursor_.expect("(");
    do args.push_back(expression());
    while (cursor_.accept(","));
    cursor_.expect(")");
    if (args.size() != count)
      cursor_.fail(at, "'" + name + "' takes " + std::to_string(count) + (count == 1 ? " argument" : " arguments") +
                           ", found " + std::to_string(args.size()));
    return args;
  }

  ScalarExpr call(std::size_t at, const std::string& name) {
    if (const auto function = function_named(name)) {
      ScalarExpr result;
      result.args = arguments(at, name, function->arguments);
      std::visit([&](const auto& op) { result.op = op; }, function->op);
      return result;
    }
    const bool saturate = name.rfind("sat_", 0) == 0;
    const auto type = parse_dtype(saturate ? name.substr(4) : name);
    if (type) {
      std::vector<ScalarExpr> args = arguments(at, name, 1);
      return cursor_.failed() ? ScalarExpr() : cast(*type, std::move(args[0]), saturate);
    }
    cursor_.fail(at, "there is no function or type '" + name + "'",
                 "functions: " + names_of_functions() + " value; casts: f32(x), sat_s8(x), ...");
    return {};
  }

  Cursor& cursor_;
  const Bindings& sizes_;
  std::vector<ParsedAccess> reads_;
  std::vector<AffineExpr> values_;
  std::map<std::string, int> name_offsets_;
  int operations_ = 0;
};

}  // namespace

Result<ParsedStatement> parse_statement(const std::string& text, const SourceLocation& where, const Bindings& sizes) {
  Cursor cursor(text, where);
  ParsedStatement statement = StatementReader(cursor, sizes).statement();
  if (cursor.failed()) return cursor.problem();
  return statement;
}

}  // namespace isamap
