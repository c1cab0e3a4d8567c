// SPDX-License-Identifier: Apache-2.0
// Every row of the table of scalar functions: its text, its types, its values at a point and in rows, its error bound.

#include "ir/scalar/scalar_functions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>

#include "ir/evaluation/row_expr.h"
#include "ir/text/parse.h"
#include "isamap/frontends.h"
#include "isamap/interpret.h"

namespace isamap::scalar_functions {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();

struct AnyFunction {
  ScalarFunction common;
  std::variant<Unary, Binary> op;
};

std::vector<AnyFunction> all_functions() {
  std::vector<AnyFunction> rows;
  for (const UnaryFunction& f : unary_functions()) rows.push_back({f.common, Unary{f.op}});
  for (const BinaryFunction& f : binary_functions()) rows.push_back({f.common, Binary{f.op}});
  return rows;
}

ScalarExpr applied(const AnyFunction& row, const ScalarExpr& a, const ScalarExpr& b) {
  if (const auto* u = std::get_if<Unary>(&row.op)) return unary(u->op, a);
  return binary(std::get<Binary>(row.op).op, a, b);
}

std::string reprinted(const std::string& body) {
  const auto s = parse_statement("y[] = " + body);
  if (!s) return render(s.diagnostics());
  std::vector<std::string> names;
  for (const ParsedAccess& read : s->reads) names.push_back(read.tensor + "[]");
  return print(s->body, names);
}

std::string typed(const std::string& body, const std::vector<DType>& types, DType output) {
  const auto s = parse_statement("y[] = " + body);
  if (!s) return render(s.diagnostics());
  ScalarExpr raw = s->body;
  std::vector<std::string> names;
  std::vector<DType> read_types;
  for (const ParsedAccess& read : s->reads) {
    names.push_back(read.tensor + "[]");
    read_types.push_back(types[static_cast<std::size_t>(read.tensor.front() - 'a')]);
  }
  const std::function<void(ScalarExpr&)> type_reads = [&](ScalarExpr& e) {
    if (const auto* r = std::get_if<Read>(&e.op)) e.type = read_types[static_cast<std::size_t>(r->access)];
    for (ScalarExpr& arg : e.args) type_reads(arg);
  };
  type_reads(raw);
  const auto result = elaborate(raw, output, {});
  return result ? print(*result, names) : result.diagnostics().front().message;
}

TEST(ScalarFunctions, EachPrintsAsItReads) {
  const ScalarExpr a = read(0, DType::f32), b = read(1, DType::f32), c = read(2, DType::f32);
  const std::vector<std::string> names{"a[]", "b[]", "c[]"};
  for (const AnyFunction& outer : all_functions()) {
    const std::string plain = print(applied(outer, a, b), names);
    EXPECT_EQ(reprinted(plain), plain);
    for (const AnyFunction& inner : all_functions()) {
      const ScalarExpr first = applied(outer, applied(inner, a, b), c),
                       second = applied(outer, a, applied(inner, b, c));
      for (const ScalarExpr& e : {first, second}) {
        const auto s = parse_statement("y[] = " + print(e, names));
        ASSERT_TRUE(s) << print(e, names) << render(s.diagnostics());
        EXPECT_EQ(reprinted(print(e, names)), print(e, names));
        EXPECT_EQ(s->body.op, e.op) << print(e, names);
        EXPECT_EQ(s->body.args[0].op, e.args[0].op) << print(e, names);
      }
    }
  }
}

std::string documentation(const std::string& page) {
  std::ifstream file(std::string(ISAMAP_SOURCE_DIR) + "/docs/" + page);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool is_in_words(const std::string& text, std::string_view name) {
  const auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1))
    if (!in_word(name.front()) || (!in_word(text[at - 1]) && !in_word(text[at + name.size()]))) return true;
  return false;
}

TEST(ScalarFunctions, EachIsDocumented) {
  const std::string page = documentation("kernels.md");
  const std::size_t table = page.find("| Functions | Of | Meaning |");
  ASSERT_NE(table, std::string::npos);
  const std::string functions = page.substr(table, page.find("\n\n", table) - table);
  for (const AnyFunction& f : all_functions())
    EXPECT_TRUE(is_in_words(f.common.level == binding::primary ? functions : page, f.common.name)) << f.common.name;
  for (const DTypeFormat& f : dtype_formats())
    if (f.kind != DTypeKind::bits && f.type != DType::b1) {
      EXPECT_TRUE(is_in_words(page, f.name)) << f.name;
    }
}

TEST(ScalarFunctions, OperatorsBindAsUsual) {
  EXPECT_EQ(reprinted("a[] + b[] < c[] * 2 and not a[] == 1 or b[] >= 0"),
            "a[] + b[] < c[] * 2 and not a[] == 1 or b[] >= 0");
  EXPECT_EQ(reprinted("((a[] < b[])) == (b[] < c[])"), "(a[] < b[]) == (b[] < c[])");
  EXPECT_EQ(reprinted("not (a[] and b[])"), "not (a[] and b[])");
  EXPECT_EQ(reprinted("not not a[]"), "not not a[]");
  EXPECT_EQ(reprinted("select(a[]<=b[], a[], -b[]) + (a[] != b[])"), "select(a[] <= b[], a[], -b[]) + (a[] != b[])");
  EXPECT_EQ(reprinted("not[] + and[] * or[]"), "not[] + and[] * or[]");  // tensors of these names
}

TEST(ScalarFunctions, MistakesAreExplained) {
  const auto problem = [](const std::string& body) {
    const auto s = parse_statement("C[i] = " + body, {"k.yaml", 7, 5});
    return s ? "read" : render(s.diagnostics());
  };
  EXPECT_EQ(problem("a[] < b[] < c[]"),
            "k.yaml:7:22: a comparison is compared again\n"
            "  hint: write a < b and b < c, or parentheses: (a < b) == c\n");
  EXPECT_EQ(problem("a[] and"), "k.yaml:7:19: expected a tensor, a function, a number or '(', found the end\n");
  EXPECT_EQ(problem("mod(a[])"), "k.yaml:7:12: 'mod' takes 2 arguments, found 1\n");
  EXPECT_EQ(problem("1 + not a[]"),
            "k.yaml:7:16: 'not' is neither a tensor access, a function call nor a known size\n"
            "  hint: a tensor without dims is read as 'not[]'\n");
}

TEST(ScalarFunctions, ComparisonsHaveTypesOfTheirOwn) {
  const DType f32 = DType::f32, s8 = DType::s8, u8 = DType::u8, b = DType::boolean;
  EXPECT_EQ(typed("a[] < b[]", {s8, u8}, b), "s16(a[]) < s16(b[])");
  EXPECT_EQ(typed("a[] < b[]", {s8, u8}, f32), "f32(s16(a[]) < s16(b[]))");
  EXPECT_EQ(typed("a[] * (b[] < 1)", {f32, s8}, f32), "a[] * f32(b[] < 1)");
  EXPECT_EQ(typed("select(a[] < 0 and b[] > 0.5, a[], 2)", {s8, f32}, s8), "select(a[] < 0 and b[] > 0.5, a[], 2)");
  EXPECT_EQ(typed("not a[] or b[]", {f32, b}, b), "not bool(a[]) or b[]");
  EXPECT_EQ(typed("isnan(a[])", {f32}, b), "isnan(a[])");
  EXPECT_EQ(typed("(a[] < b[]) == (b[] < 1)", {s8, s8}, DType::s32), "s32((a[] < b[]) == (b[] < 1))");
  EXPECT_EQ(typed("max(a[], b[])", {b, b}, b), "max(a[], b[])");
  EXPECT_EQ(typed("1 < 2 and not a[]", {b}, b), "1 and not a[]");
}

TEST(ScalarFunctions, TypesThatDoNotFitAreRefused) {
  const DType f32 = DType::f32, s8 = DType::s8, b = DType::boolean;
  EXPECT_EQ(typed("sin(a[])", {s8}, s8), "sin is computed in s8, but needs a float type");
  EXPECT_EQ(typed("isnan(a[])", {s8}, b), "isnan is computed in s8, but needs a float type");
  EXPECT_EQ(typed("shl(a[], 1)", {f32}, f32), "shl is computed in f32, but needs an integer type");
  EXPECT_EQ(typed("a[] + b[]", {b, b}, b), "+ is not defined on bool");
  EXPECT_EQ(typed("a[]", {s8}, b), "a value of s8 is used where bool is computed: that would lose values");
  EXPECT_EQ(typed("a[] == b[]", {DType::b8, DType::b8}, b), "no arithmetic is defined on b8");
  EXPECT_EQ(typed("a[] < 0.5", {s8}, b), "the constant 0.5 is not a value of s8");
  EXPECT_EQ(typed("a[] or 2", {b}, b), "the constant 2 is not a value of bool");
}

double value(const std::string& body, DType type, double a = 0, double b = 0) {
  const auto s = parse_statement("y[] = " + body);
  EXPECT_TRUE(s) << render(s.diagnostics());
  ScalarExpr raw = s->body;
  const std::function<void(ScalarExpr&)> type_reads = [&](ScalarExpr& e) {
    if (std::holds_alternative<Read>(e.op)) e.type = type;
    for (ScalarExpr& arg : e.args) type_reads(arg);
  };
  type_reads(raw);
  const auto e = elaborate(raw, DType::f64, {});
  EXPECT_TRUE(e) << render(e.diagnostics());
  const Scalar operands[] = {convert({a, 0}, DType::f64, type, false), convert({b, 0}, DType::f64, type, false)};
  return evaluate(*e, operands).real;
}

TEST(ScalarFunctions, HaveTheValuesOfTheDocumentation) {
  for (const auto& [a, b, floored, truncated] : std::vector<std::array<double, 4>>{
           {7, 3, 1, 1}, {-7, 3, 2, -1}, {7, -3, -2, 1}, {-7, -3, -1, -1}, {6, 3, 0, 0}}) {
    for (const DType type : {DType::s8, DType::s32, DType::s64, DType::f32, DType::f64, DType::bf16}) {
      EXPECT_EQ(value("f64(mod(a[], b[]))", type, a, b), floored) << a << " " << b << " " << name(type);
      EXPECT_EQ(value("f64(fmod(a[], b[]))", type, a, b), truncated) << a << " " << b << " " << name(type);
    }
  }
  EXPECT_EQ(value("f64(mod(a[], b[]))", DType::s32, 5, 0), 0);
  EXPECT_TRUE(std::isnan(value("f64(mod(a[], b[]))", DType::f32, 5, 0)));
  for (const auto& [x, rounded] :
       std::vector<std::array<double, 2>>{{0.5, 0}, {1.5, 2}, {2.5, 2}, {-0.5, 0}, {-1.5, -2}})
    EXPECT_EQ(value("round(a[])", DType::f64, x), rounded);
  EXPECT_EQ(value("floor(a[])", DType::f64, -1.5), -2);
  EXPECT_EQ(value("ceil(a[])", DType::f64, -1.5), -1);
  EXPECT_EQ(value("trunc(a[])", DType::f64, -1.5), -1);
  EXPECT_EQ(value("sign(a[])", DType::f64, -3), -1);
  EXPECT_FALSE(std::signbit(value("sign(a[])", DType::f64, -0.0)));
  EXPECT_TRUE(std::isnan(value("sign(a[])", DType::f64, nan)));
  EXPECT_EQ(value("f64(pow(a[], b[]))", DType::s32, -3, 3), -27);
  EXPECT_EQ(value("f64(pow(a[], b[]))", DType::s8, 2, 7), -128);
  EXPECT_EQ(value("f64(pow(a[], b[]))", DType::s32, 2, -1), 0);
  EXPECT_EQ(value("f64(pow(a[], b[]))", DType::s32, -1, -3), -1);
  EXPECT_EQ(value("pow(a[], b[])", DType::f64, 2, 0.5), std::sqrt(2.0));
  EXPECT_EQ(value("f64(shl(a[], b[]))", DType::u8, 129, 1), 2);
  EXPECT_EQ(value("f64(shl(a[], b[]))", DType::s32, 1, 64), 0);
  EXPECT_EQ(value("f64(shr(a[], b[]))", DType::s32, -5, 1), -3);
  EXPECT_EQ(value("f64(shr(a[], b[]))", DType::s8, -5, 100), -1);
  EXPECT_EQ(value("f64(shr(a[], b[]))", DType::u64, 0x1p63, 62), 2);
  EXPECT_EQ(value("f64(shr(a[], b[]))", DType::u64, 0x1p63, 64), 0);
  EXPECT_EQ(value("f64(a[] / b[])", DType::u64, 0x1p63, 2), 0x1p62);
  EXPECT_EQ(value("f64(a[] / b[])", DType::u64, 0x1p63, 0), 0);
  EXPECT_EQ(value("f64(mod(a[], b[]))", DType::u64, 0x1p63, 3), 2);
  EXPECT_EQ(value("f64(fmod(a[], b[]))", DType::u64, 0x1p63, 3), 2);
  EXPECT_EQ(value("f64(pow(a[], b[]))", DType::u64, 2, 63), 0x1p63);
  EXPECT_EQ(value("f64(max(a[], b[]))", DType::u64, 0x1p63, 1), 0x1p63);
  EXPECT_EQ(value("f64(min(a[], b[]))", DType::u64, 0x1p63, 1), 1);
  EXPECT_EQ(value("f64(abs(a[]))", DType::u64, 0x1p63 + 0x1p60), 0x1p63 + 0x1p60);
  EXPECT_EQ(value("f64(sign(a[]))", DType::u64, 0x1p63), 1);
  EXPECT_EQ(value("a[] < b[]", DType::u64, 0x1p63, 1), 0);
  EXPECT_EQ(value("a[] >= b[]", DType::u64, 0x1p63, 1), 1);
  EXPECT_EQ(value("f64(bitxor(a[], b[]))", DType::u8, 12, 10), 6);
  EXPECT_EQ(value("f64(bitnot(a[]))", DType::u8, 12), 243);
  EXPECT_EQ(value("a[] == b[]", DType::f32, nan, nan), 0);
  EXPECT_EQ(value("a[] != b[]", DType::f32, nan, nan), 1);
  EXPECT_EQ(value("not a[] < b[]", DType::f32, nan, 1), 1);
  EXPECT_EQ(value("a[] == b[]", DType::f32, 0.0, -0.0), 1);
  EXPECT_EQ(value("not a[]", DType::f32, nan), 0);  // not 0
  EXPECT_EQ(value("isnan(a[]) or isinf(b[])", DType::bf16, 1, -infinity), 1);
}

constexpr DType types[] = {DType::f32, DType::f64, DType::bf16, DType::e4m3, DType::s8,
                           DType::u8,  DType::s32, DType::s64,  DType::u64,  DType::boolean};

bool is_defined(const ScalarFunction& f, DType type) {
  if (f.operands == Operands::truth || (type == DType::boolean && !f.of_truth)) return f.of_truth && is_truth(type);
  return is_float(type) ? !f.text.empty() : !f.integer_text.empty();
}

std::vector<Scalar> some_values(DType type, Random& random) {
  std::vector<Scalar> values;
  for (const double x : {0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 100.0, infinity, -infinity, nan, 1e-40, -7.0, 64.0})
    values.push_back(convert({x, 0}, DType::f64, type, is_integer(type)));
  for (int i = 0; i < 30; ++i) {
    Scalar x = is_float(type)
                   ? Scalar{round_to(type, 8 * random.unit() - 4), 0}
                   : Scalar{0, wrap_to(type, random.between(-(1LL << 62), 1LL << 62) >> random.between(0, 62))};
    values.push_back(x);
  }
  return values;
}

bool same(Scalar a, Scalar b) {
  return a.integer == b.integer &&
         (std::isnan(a.real) ? std::isnan(b.real) : a.real == b.real && std::signbit(a.real) == std::signbit(b.real));
}

TEST(ScalarFunctions, RowsHaveTheValuesOfPoints) {
  for (const AnyFunction& row : all_functions())
    for (const DType type : types) {
      if (!is_defined(row.common, type)) continue;
      Random random(5);
      const ScalarExpr e = applied(row, read(0, type), read(1, type));
      const std::vector<Scalar> values = some_values(type, random);
      RowExpr in_rows(e);
      for (const Scalar& b : values) {
        std::vector<double> real, real_b(values.size(), b.real);
        std::vector<std::int64_t> integer, integer_b(values.size(), b.integer);
        for (const Scalar& a : values) {
          real.push_back(a.real);
          integer.push_back(a.integer);
        }
        for (const bool uniform : {false, true}) {
          const Row found = in_rows.evaluate(
              {{false, real.data(), integer.data()}, {uniform, real_b.data(), integer_b.data()}}, std::ssize(values));
          for (std::size_t i = 0; i < values.size(); ++i) {
            const Scalar operands[] = {values[i], b}, expected = evaluate(e, operands);
            const Scalar here = is_float(e.type) ? Scalar{found.real[i], 0} : Scalar{0, found.integer[i]};
            ASSERT_TRUE(same(here, expected)) << row.common.name << " of " << name(type) << ": " << values[i].real
                                              << " " << values[i].integer << ", " << b.real << " " << b.integer;
          }
        }
      }
    }
}

/// A bound holds for all arguments within the estimates, up to roundings of this computation.
void expect_bounded(const ScalarFunction& f, double bound, double exact, double other, const std::string& at) {
  if (std::isnan(exact) || bound == infinity || exact == other) return;
  EXPECT_LE(std::fabs(other - exact), bound * (1 + 1e-9) + 1e-12 * std::fabs(exact)) << f.name << " of " << at;
}

TEST(ScalarFunctions, ErrorsAreWithinTheirBounds) {
  Random random(11);
  const auto estimate = [&](double scale) {
    const double error = random.between(0, 3) == 0 ? 0 : std::ldexp(1.0, 2 - static_cast<int>(random.between(0, 22)));
    const double v =
        random.between(0, 2) == 0 ? static_cast<double>(random.between(-4, 4)) : scale * (2 * random.unit() - 1);
    return Estimate{v, error};
  };
  const auto near = [&](const Estimate& a) {
    const std::int64_t which = random.between(0, 3);
    return which == 0   ? a.value - a.error
           : which == 1 ? a.value + a.error
                        : a.value + a.error * (2 * random.unit() - 1);
  };
  for (int round = 0; round < 4000; ++round) {
    const Estimate a = estimate(round % 2 ? 1.2 : 6), b = estimate(4);
    const double other_a = near(a), other_b = near(b);
    const std::string at = std::to_string(a.value) + " +- " + std::to_string(a.error) + ", " + std::to_string(b.value) +
                           " +- " + std::to_string(b.error);
    for (const UnaryFunction& f : unary_functions())
      if (f.real != nullptr && other_a >= f.lowest && other_a <= f.highest)
        expect_bounded(f.common, propagated(f, a), f.real(a.value), f.real(other_a), at);
    for (const BinaryFunction& f : binary_functions()) {
      const bool below_zero = f.op == BinaryOp::pow && other_a < 0;  // where it may be undefined
      if (f.real != nullptr && !below_zero) {
        const double exact = f.real(a.value, b.value);
        expect_bounded(f.common, propagated(f, a, b, exact), exact, f.real(other_a, other_b), at);
      }
    }
  }
}

TEST(ScalarFunctions, LogicIsCertainWhereOneOperandDecides) {
  const Estimate yes{1, 0}, no{0, 0}, perhaps{1, 1};
  const auto error = [](BinaryOp op, const Estimate& a, const Estimate& b) {
    const std::int64_t value = apply_integer(op, DType::boolean, a.value != 0, b.value != 0);
    return propagated(function_of(op), a, b, static_cast<double>(value));
  };
  EXPECT_EQ(error(BinaryOp::logical_and, no, perhaps), 0);
  EXPECT_EQ(error(BinaryOp::logical_and, yes, perhaps), 1);
  EXPECT_EQ(error(BinaryOp::logical_or, yes, perhaps), 0);
  EXPECT_EQ(error(BinaryOp::logical_or, perhaps, no), 1);
}

TEST(ErrorBounds, OfComparisonsAreZeroWhereTheOperandsAreFarApart) {
  const auto kernel = parse_kernel_yaml(
      "kernel: k\ntensors: {X: {shape: [3]}, E: {shape: [3]}, M: {shape: [3], dtype: bool}}\n"
      "compute: ['E[i] = exp(X[i])', 'M[i] = E[i] < 2']\n",
      "k.yaml");
  ASSERT_TRUE(kernel) << render(kernel.diagnostics());
  std::vector<TensorData> data = random_data(*kernel, Fill::real, 1);
  const double close = std::log(2.0);  // exp of it may be on either side of 2
  for (std::int64_t i = 0; i < 3; ++i) data[0].set(i, {i == 0 ? 0.0 : i == 1 ? close : 1.0, 0});
  interpret(*kernel, data);
  for (const std::int64_t changed : {std::int64_t{0}, std::int64_t{1}}) {
    std::vector<TensorData> other = data;
    other[2].set(changed, {0, data[2].get(changed).integer == 0});
    EXPECT_EQ(compare(*kernel, data, other).equal, changed == 1) << changed;
  }
}

TEST(Booleans, AreBytesOfZeroAndOne) {
  EXPECT_EQ(bytes(DType::boolean), 1);
  EXPECT_EQ(encode(DType::boolean, {0, 7}), 1U);
  EXPECT_EQ(decode(DType::boolean, 2).integer, 1);
  EXPECT_EQ(convert({0.25, 0}, DType::f32, DType::boolean, false).integer, 1);
  EXPECT_EQ(convert({0, 256}, DType::s32, DType::boolean, false).integer, 1);
  EXPECT_EQ(dtype_of_onnx(9), DType::boolean);
  EXPECT_TRUE(widens(DType::boolean, DType::e4m3));
  EXPECT_FALSE(widens(DType::u8, DType::boolean));
}

TEST(Booleans, AreReducedByMaxAndMin) {
  const auto with = [](const std::string& sign) {
    const auto kernel = parse_kernel_yaml(
        "kernel: k\ntensors: {X: {shape: [3]}, Y: {shape: [], dtype: bool}}\ncompute: 'Y[] " + sign + " X[i] > 0'\n",
        "k.yaml");
    if (!kernel) return render(kernel.diagnostics());
    std::vector<TensorData> data = random_data(*kernel, Fill::real, 1);
    for (std::int64_t i = 0; i < 3; ++i) data[0].set(i, {static_cast<double>(i), 0});
    interpret(*kernel, data);
    return std::to_string(data[1].get(0).integer);
  };
  EXPECT_EQ(with("max="), "1");
  EXPECT_EQ(with("min="), "0");
  EXPECT_NE(with("+=").find("`+=` is not defined on bool"), std::string::npos) << with("+=");
}

}  // namespace
}  // namespace isamap::scalar_functions
