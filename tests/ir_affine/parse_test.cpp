// SPDX-License-Identifier: Apache-2.0
#include "ir/text/parse.h"

#include <gtest/gtest.h>

#include "ir/scalar/scalar_functions.h"
#include "isamap/interpret.h"

namespace isamap {
namespace {

std::string shown(const std::string& tensor, const std::vector<AffineExpr>& index) {
  std::string text = tensor + "[";
  for (std::size_t i = 0; i < index.size(); ++i) text += (i > 0 ? "," : "") + print(index[i]);
  return text + "]";
}

std::string shown(const ParsedStatement& s) {
  std::vector<std::string> reads;
  for (const ParsedAccess& read : s.reads) reads.push_back(shown(read.tensor, read.index));
  return shown(s.write.tensor, s.write.index) + " " + std::string(symbol(s.reduction)) + " " + print(s.body, reads);
}

std::string statement_reprinted(const std::string& text) {
  const auto s = parse_statement(text);
  return s ? shown(*s) : render(s.diagnostics());
}

std::string statement_problem(const std::string& text) {
  const auto s = parse_statement(text, {"k.yaml", 7, 5});
  return s ? "read as " + shown(*s) : render(s.diagnostics());
}

Tensor tensor(const std::string& name, std::vector<std::int64_t> shape, DType dtype = DType::f32) {
  Tensor t;
  t.name = name;
  t.shape = std::move(shape);
  t.dtype = dtype;
  return t;
}

// "i:4 j:5 k:6r | C[i,j] += A[i,k] * B[k,j]", r for reductions.
std::string bound(const std::string& text, const std::vector<Tensor>& tensors,
                  const std::map<std::string, std::int64_t>& extents = {},
                  const std::map<std::string, std::int64_t>& sizes = {}) {
  const SourceLocation where{"k.yaml", 7, 5};
  const auto parsed = parse_statement(text, where);
  if (!parsed) return render(parsed.diagnostics());
  const auto c = bind(*parsed, tensors, extents, sizes, where);
  if (!c) return render(c.diagnostics());
  std::string result;
  for (const Dim& dim : c->domain.dims)
    result += dim.name + ":" + std::to_string(dim.extent) + (dim.kind == DimKind::reduction ? "r " : " ");
  std::vector<std::string> reads;
  for (const Access& read : c->reads) reads.push_back(shown(tensors[read.tensor.index()].name, read.index));
  return result + "| " + shown(tensors[c->write.tensor.index()].name, c->write.index) + " " +
         std::string(symbol(c->reduction)) + " " + print(c->body, reads);
}

TEST(ParseStatement, ReadsTheFormsOfTheContract) {
  EXPECT_EQ(statement_reprinted("C[i,j]+=A[i,k]*B[k,j]"), "C[i,j] += A[i,k] * B[k,j]");
  EXPECT_EQ(statement_reprinted("O[n,k,p,q] += I[n,c,2*p+r-1,(q+s)/4] * F[k,c,r,s%3]"),
            "O[n,k,p,q] += I[n,c,2*p + r - 1,(q + s)/4] * F[k,c,r,s%3]");
  EXPECT_EQ(statement_reprinted("s[] max= max(A[i], 0)"), "s[] max= max(A[i], 0)");
  EXPECT_EQ(statement_reprinted("m[i] min= A[]"), "m[i] min= A[]");
  EXPECT_EQ(statement_reprinted("m[i] sat+= A[]"), "m[i] sat+= A[]");
  EXPECT_EQ(statement_reprinted("p[] *= x[i]"), "p[] *= x[i]");
  EXPECT_EQ(statement_reprinted("Y[i] = select(X[i], sat_s8(round(X[i] * 0.5)), -1e-3)"),
            "Y[i] = select(X[i], sat_s8(round(X[i] * 0.5)), -0.001)");
  EXPECT_EQ(statement_reprinted("Y[n.p] = X[n.p/7, n.p%7]"), "Y[n.p] = X[n.p/7,n.p%7]");
}

TEST(ParseStatement, OperatorsBindAsUsual) {
  EXPECT_EQ(statement_reprinted("y[] = a[] - b[] - c[]"), "y[] = a[] - b[] - c[]");
  EXPECT_EQ(statement_reprinted("y[] = a[] - (b[] - c[])"), "y[] = a[] - (b[] - c[])");
  EXPECT_EQ(statement_reprinted("y[] = a[] + b[] * c[] / d[]"), "y[] = a[] + b[] * c[] / d[]");
  EXPECT_EQ(statement_reprinted("y[] = (a[] + b[]) * -c[]"), "y[] = (a[] + b[]) * (-c[])");
  EXPECT_EQ(statement_reprinted("y[] = -(a[] * b[])"), "y[] = -(a[] * b[])");
  EXPECT_EQ(statement_reprinted("y[] = -(1) - -1"), "y[] = -(1) - -1");
}

TEST(ParseStatement, EqualReadsAreOne) {
  const auto s = parse_statement("Y[i] = X[i+1] * X[1+i] - X[i]");
  ASSERT_TRUE(s);
  ASSERT_EQ(s->reads.size(), 2u);
  EXPECT_EQ(s->reads[0].offset, 7);
  EXPECT_EQ(reads_of(s->body), (std::vector<int>{0, 1}));
}

TEST(ParseStatement, SizesAreNumbers) {
  const auto s = parse_statement("Y[N*i + j] = X[i] / N", {}, {{"N", 8}});
  ASSERT_TRUE(s);
  EXPECT_EQ(shown(*s), "Y[8*i + j] = X[i] / 8");
}

TEST(ParseStatement, Errors) {
  EXPECT_EQ(statement_problem("C[i] A[i]"), "k.yaml:7:10: expected '=', '+=', '*=', 'max=' or 'min=', found 'A'\n");
  EXPECT_EQ(statement_problem("C[i] -= A[i]"),
            "k.yaml:7:10: expected '=', '+=', '*=', 'max=' or 'min=', found '-'\n  hint: write '+= -(...)'\n");
  EXPECT_EQ(statement_problem("C[i] = A"),
            "k.yaml:7:12: 'A' is neither a tensor access, a function call nor a known size\n"
            "  hint: a tensor without dims is read as 'A[]'\n");
  EXPECT_EQ(statement_problem("C[i] = min(A[i])"), "k.yaml:7:12: 'min' takes 2 arguments, found 1\n");
  EXPECT_EQ(
      statement_problem("C[i] = sine(A[i])"),
      "k.yaml:7:12: there is no function or type 'sine'\n"
      "  hint: functions: exp log sqrt rsqrt tanh erf sigmoid abs round floor ceil trunc sign sin cos tan asin acos "
      "atan sinh cosh asinh acosh atanh expm1 log1p isnan isinf bitnot min max pow mod fmod bitand bitor bitxor "
      "shl shr select value; casts: f32(x), sat_s8(x), ...\n");
  EXPECT_EQ(statement_problem("C[i] = A[i*j]"),
            "k.yaml:7:15: '*' between 'i' and 'j' is not affine; one side must be a constant\n");
  EXPECT_EQ(statement_problem("C[i] = A[i] B[i]"), "k.yaml:7:17: unexpected 'B' after the end\n");
  EXPECT_EQ(statement_problem("C[i = A[i]"), "k.yaml:7:9: expected ']', found '='\n");
  EXPECT_EQ(statement_problem("C[i] = 1.5x"), "k.yaml:7:12: '1.5x' is not a number\n");
  EXPECT_EQ(statement_problem(""), "k.yaml:7:5: expected the written tensor, found the end\n");
}

TEST(ParseStatement, HostileTextsEndQuickly) {
  std::string sum = "C[] = a[]", many = "C[] = a[0]";
  for (int i = 0; i < 3000; ++i) sum += "+a[]";
  for (int i = 1; i < 3000; ++i) many += "+a[" + std::to_string(i) + "]";
  EXPECT_NE(statement_problem(sum).find("more than 512 operations"), std::string::npos);
  EXPECT_NE(statement_problem(many).find("more than 64 distinct reads"), std::string::npos);
  EXPECT_NE(statement_problem("C[] = " + std::string(5000, '-') + "a[]").find("more than 512 operations"),
            std::string::npos);
  EXPECT_NE(statement_problem("C[] = " + std::string(5000, '(')).find("nested deeper than 64"), std::string::npos);
  Random random(6);
  const std::string alphabet = "CAi[](),+-*/=%<>!. 012xmafnotr\"\n";
  for (int round = 0; round < 3000; ++round) {
    std::string text = round % 2 ? "C[i] = " : "";
    for (std::int64_t n = random.between(0, 40); n > 0; --n)
      text += alphabet[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(alphabet.size()) - 1))];
    (void)parse_statement(text);
  }
}

template <class Rows>
auto random_op(Random& random, const Rows& rows) {
  return rows[static_cast<std::size_t>(random.between(0, std::ssize(rows) - 1))].op;
}

ScalarExpr random_body(Random& random, int depth) {
  const std::int64_t kind = depth == 0 ? random.between(0, 1) : random.between(0, 5);
  if (kind == 0) return constant(static_cast<double>(random.between(-8, 8)) / 4, DType::f32);
  if (kind == 1) return read(static_cast<int>(random.between(0, 2)), DType::f32);
  if (kind == 2) return unary(random_op(random, unary_functions()), random_body(random, depth - 1));
  if (kind == 3)
    return cast(random.between(0, 1) ? DType::s8 : DType::bf16, random_body(random, depth - 1), random.between(0, 1));
  return binary(random_op(random, binary_functions()), random_body(random, depth - 1), random_body(random, depth - 1));
}

TEST(ParseStatementLaw, PrintedBodiesReadBack) {
  Random random(7);
  const std::vector<std::string> names{"a[]", "b[i]", "c[j]"};
  for (int round = 0; round < 2000; ++round) {
    const std::string text = print(random_body(random, 5), names);
    const auto s = parse_statement("y[] = " + text);
    ASSERT_TRUE(s) << text << render(s.diagnostics());
    std::vector<std::string> reads;
    for (const ParsedAccess& r : s->reads) reads.push_back(shown(r.tensor, r.index));
    ASSERT_EQ(print(s->body, reads), text);
  }
}

TEST(Bind, ExtentsFollowFromTensors) {
  const std::vector<Tensor> gemm{tensor("A", {4, 6}), tensor("B", {6, 5}), tensor("C", {4, 5})};
  EXPECT_EQ(bound("C[i,j] += A[i,k] * B[k,j]", gemm), "i:4 j:5 k:6r | C[i,j] += A[i,k] * B[k,j]");
  const std::vector<Tensor> conv{tensor("I", {9}), tensor("F", {3}), tensor("O", {7})};
  EXPECT_EQ(bound("O[p] += I[p+r] * F[r]", conv), "p:7 r:3r | O[p] += I[p + r] * F[r]");
  EXPECT_EQ(bound("O[p] += I[p+r] * F[r]", conv, {{"p", 2}}), "p:2 r:3r | O[p] += I[p + r] * F[r]");
}

TEST(Bind, DimsOfTheWriteComeFirst) {
  const std::vector<Tensor> tensors{tensor("A", {2, 3}), tensor("B", {3, 4}), tensor("C", {4, 2})};
  EXPECT_EQ(bound("C[n,m] += A[m,k] * B[k,n]", tensors), "n:4 m:2 k:3r | C[n,m] += A[m,k] * B[k,n]");
}

TEST(Bind, SizesAreReplacedAndReadsMerged) {
  const std::vector<Tensor> tensors{tensor("X", {20}), tensor("Y", {8})};
  EXPECT_EQ(bound("Y[i] = X[i + N] + X[i + 4]", tensors, {}, {{"N", 4}}), "i:8 | Y[i] = X[i + 4] + X[i + 4]");
  EXPECT_EQ(bound("Y[i] = X[i + N] + X[i + 4]", tensors),
            "k.yaml:7:12: size 'N' in an index of 'X' has no number\n"
            "  hint: iterators are lower case; sizes are declared in 'dims'\n");
}

TEST(Bind, OperandsAreWidened) {
  const std::vector<Tensor> tensors{tensor("A", {4}, DType::u8), tensor("B", {4}, DType::s8),
                                    tensor("C", {}, DType::s32)};
  EXPECT_EQ(bound("C[] += A[k] * B[k]", tensors), "k:4r | C[] += s32(A[k]) * s32(B[k])");
  const std::string narrowing = bound("A[k] = C[]", tensors);
  EXPECT_NE(narrowing.find("k.yaml:7:12: a value of s32 is used where u8 is computed"), std::string::npos) << narrowing;
}

TEST(Bind, Errors) {
  const std::vector<Tensor> tensors{tensor("A", {4, 6}), tensor("B", {5}), tensor("C", {4})};
  EXPECT_EQ(bound("C[i] = D[i]", tensors), "k.yaml:7:12: no tensor is named 'D'\n  note: declared tensors: A, B, C\n");
  EXPECT_EQ(bound("C[i] = A[i]", tensors), "k.yaml:7:12: 'A' has 2 dims and is indexed by 1 expression\n");
  EXPECT_EQ(bound("C[i] = B[i]", tensors),
            "k.yaml:7:7: iterator 'i' indexes dim 0 of 'C' of extent 4 and dim 0 of 'B' of extent 5\n"
            "  hint: make the extents equal, or state the iterator's under 'where'\n");
  EXPECT_EQ(bound("C[i] = A[i, i + r]", tensors),
            "k.yaml:7:21: no tensor dimension is indexed by iterator 'r' alone, so it has no extent\n"
            "  hint: state it: where: {r: 3}\n");
}

}  // namespace
}  // namespace isamap
