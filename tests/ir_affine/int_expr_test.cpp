// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "isamap/expression.h"
#include "isamap/interpret.h"

namespace isamap {
namespace {

std::string int_reprinted(const std::string& text) {
  const auto e = parse_int_expr(text, {"h.yaml", 4, 9});
  return e ? print(*e) : render(e.diagnostics());
}

std::optional<std::int64_t> value(const std::string& text) {
  const auto e = parse_int_expr(text);
  EXPECT_TRUE(e) << render(e.diagnostics());
  return e ? evaluate(
                 *e, [](const Reference& r) { return r.object == "x" ? std::optional<std::int64_t>(7) : std::nullopt; })
           : std::nullopt;
}

TEST(IntExpr, BindsLikeC) {
  EXPECT_EQ(int_reprinted("a|b&c<<d+e*f"), "a | b & c << d + e * f");
  EXPECT_EQ(int_reprinted("((a|b)&c)<<(d+e)*f"), "((a | b) & c) << (d + e) * f");
  EXPECT_EQ(int_reprinted("a - (b - c) - d"), "a - (b - c) - d");
  EXPECT_EQ(int_reprinted("min(a, max(b,0x10)) % -3"), "min(a, max(b, 16)) % -3");
  EXPECT_EQ(int_reprinted("-a"), "0 - a");
}

TEST(IntExpr, References) {
  const auto r = [](const std::string& text) { return references(*parse_int_expr(text)).at(0); };
  EXPECT_EQ(r("C.pitch[i]"), (Reference{"C", "pitch", "i"}));
  EXPECT_EQ(r("extent[j]"), (Reference{"extent", "", "j"}));
  EXPECT_EQ(r("VB"), (Reference{"VB", "", ""}));
  EXPECT_EQ(r("ld.stride"), (Reference{"ld", "stride", ""}));
  EXPECT_EQ(r("C.stride[.0]"), (Reference{"C", "stride", ".0"}));
  EXPECT_EQ(int_reprinted("C.stride[.0] + start[C]*0x40000000"), "C.stride[.0] + start[C] * 1073741824");
}

TEST(IntExpr, PropertiesOfOperands) {
  const auto of = [](const std::string& text) { return property_of(references(*parse_int_expr(text)).at(0)); };
  using enum OperandProperty;
  EXPECT_EQ(of("C"), none);
  EXPECT_EQ(of("C.index"), index);
  EXPECT_EQ(of("C.type"), type);
  EXPECT_EQ(of("C.group"), group);
  EXPECT_EQ(of("C.stride[i]"), stride);
  EXPECT_EQ(of("C.pitch[i]"), pitch);
  EXPECT_EQ(of("C.coord[i]"), coord);
  EXPECT_EQ(of("C.bank"), field);
  EXPECT_TRUE(is_position({"C", "", ""}) && is_position({"C", "index", ""}) && !is_position({"C", "group", ""}));
  EXPECT_TRUE(is_distance({"C", "stride", "i"}) && is_distance({"C", "pitch", "i"}) && !is_distance({"C", "", ""}));
}

TEST(IntExpr, Evaluates) {
  EXPECT_EQ(value("-7 / 2"), -4);
  EXPECT_EQ(value("-7 % 2"), 1);
  EXPECT_EQ(value("1 << 4 | 3 & x"), 19);
  EXPECT_EQ(value("-16 >> 2"), -4);
  EXPECT_EQ(value("min(x, 3) + max(x, 9)"), 12);
  EXPECT_EQ(value("bits(1.5)"), 0x3fc00000);
  EXPECT_EQ(value("bits(x)"), 0x40e00000);
  EXPECT_EQ(value("x / (x - 7)"), std::nullopt);
  EXPECT_EQ(value("y"), std::nullopt);
  EXPECT_EQ(value("1 << 63"), std::nullopt);
  EXPECT_EQ(value("9223372036854775807 + 1"), std::nullopt);
  EXPECT_EQ(value("(-9223372036854775807 - 1) / -1"), std::nullopt);
}

TEST(IntExpr, Errors) {
  EXPECT_EQ(int_reprinted("a + "), "h.yaml:4:13: expected a number, a name or '(', found the end\n");
  EXPECT_EQ(int_reprinted("foo(a)"),
            "h.yaml:4:9: there is no function 'foo'\n  hint: functions: min(a, b), max(a, b), bits(x)\n");
  EXPECT_EQ(int_reprinted("min(a)"), "h.yaml:4:9: 'min' takes 2 arguments, found 1\n");
  EXPECT_EQ(int_reprinted("C.[i]"), "h.yaml:4:11: expected a property, found '['\n");
  std::string sum = "a";
  for (int i = 0; i < 5000; ++i) sum += "+a";
  EXPECT_NE(int_reprinted(sum).find("more than 512 operations"), std::string::npos);
  EXPECT_NE(int_reprinted(std::string(5000, '-') + "a").find("more than 512 operations"), std::string::npos);
  EXPECT_NE(int_reprinted(std::string(5000, '(')).find("nested deeper than 64"), std::string::npos);
}

IntExpr random_int_expr(Random& random, int depth) {
  IntExpr e;
  if (depth == 0 || random.between(0, 4) == 0) {
    if (random.between(0, 1))
      e.number = random.between(-9, 9);
    else
      e.op = IntExpr::Op::reference,
      e.reference = {"C", random.between(0, 1) ? "pitch" : "", random.between(0, 1) ? "i" : ""};
    return e;
  }
  e.op = static_cast<IntExpr::Op>(random.between(2, 13));
  if (e.op == IntExpr::Op::bits) {
    e.args = {random_int_expr(random, 0)};
    if (e.args[0].op == IntExpr::Op::number) e = e.args[0];  // bits of a literal parses to a number
    return e;
  }
  e.args = {random_int_expr(random, depth - 1), random_int_expr(random, depth - 1)};
  const bool divides = e.op == IntExpr::Op::div || e.op == IntExpr::Op::mod;
  if (divides && evaluate(e.args[1], [](const Reference&) { return std::nullopt; }) == 0)
    e.op = IntExpr::Op::add;  // refused
  return e;
}

TEST(IntExprLaw, PrintedTextReadsBack) {
  Random random(8);
  for (int round = 0; round < 2000; ++round) {
    const IntExpr e = random_int_expr(random, 4);
    const auto again = parse_int_expr(print(e));
    ASSERT_TRUE(again) << print(e);
    ASSERT_EQ(*again, e) << print(e);
  }
}

std::string filled(const std::string& text) {
  const auto t = parse_template(text, {"h.yaml", 4, 9});
  if (!t) return render(t.diagnostics());
  EXPECT_EQ(print(*t), text);
  EXPECT_EQ(*parse_template(print(*t)), *t);
  return fill(*t, [](const Placeholder& p) { return "<" + print(p.expr) + (p.hexadecimal ? ":x>" : ">"); });
}

TEST(Template, FillsPlaceholders) {
  EXPECT_EQ(filled("mac4x4 {C}, {A}, {B+4}"), "mac4x4 <C>, <A>, <B + 4>");
  EXPECT_EQ(filled("op {{{C}}}, {A}{{1to16}}"), "op {<C>}, <A>{1to16}");
  EXPECT_EQ(filled("[{D}], [{S}, {{{S.coord[x]}, {S.coord[y]}}}]"), "[<D>], [<S>, {<S.coord[x]>, <S.coord[y]>}]");
  EXPECT_EQ(filled("st {S + 64:x}"), "st <S + 64:x>");
  EXPECT_EQ(filled(""), "");
}

TEST(Template, Errors) {
  EXPECT_EQ(filled("a {C"), "h.yaml:4:11: '{' is not closed\n  hint: write '{{' for a brace\n");
  EXPECT_EQ(filled("a C}"), "h.yaml:4:12: '}' closes nothing\n  hint: write '}}' for a brace\n");
  EXPECT_EQ(filled("a {C:d}"), "h.yaml:4:13: unknown format ':d'\n  hint: ':x' prints hexadecimal\n");
  EXPECT_EQ(filled("a {C + }"), "h.yaml:4:16: expected a number, a name or '(', found the end\n");
  EXPECT_EQ(filled("a {}"), "h.yaml:4:12: expected a number, a name or '(', found the end\n");
}

}  // namespace
}  // namespace isamap
