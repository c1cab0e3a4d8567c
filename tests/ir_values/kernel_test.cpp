// SPDX-License-Identifier: Apache-2.0
#include "isamap/kernel.h"

#include <gtest/gtest.h>

#include "ir/text/parse.h"
#include "isamap/interpret.h"
#include "isamap/mapping.h"

namespace isamap {
namespace {

Kernel parsed(const std::string& text) {
  const auto kernel = parse_kernel(text);
  EXPECT_TRUE(static_cast<bool>(kernel)) << render(kernel.diagnostics());
  return kernel ? *kernel : Kernel{};
}

std::string problems(const std::string& text) { return render(verify(parsed("kernel k\n" + text))); }

// Random kernels ---------------------------------------------------------------------------------------------------

const std::vector<DType> types = {DType::f32, DType::f32, DType::bf16, DType::s8, DType::s32, DType::f64};

AffineExpr random_index(const std::vector<Dim>& dims, Random& random) {
  AffineExpr e(random.between(-2, 2));
  for (int i = 0; i < 2; ++i) {
    const Dim& dim = dims[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(dims.size()) - 1))];
    AffineExpr term = AffineExpr::dim(dim.name) * random.between(1, 3);
    const auto shape = random.between(0, 5);
    if (shape == 0) term = floordiv(term + random.between(0, 3), random.between(2, 5));
    if (shape == 1) term = mod(term + random.between(0, 3), random.between(2, 5));
    e += term;
  }
  return e;
}

ScalarExpr random_body(const std::vector<DType>& reads, std::vector<int>& unused, int depth, Random& random) {
  const auto pick = random.between(0, 9);
  if (depth == 0 || pick < 2) {
    const int r = static_cast<int>(random.between(0, static_cast<std::int64_t>(reads.size()) - 1));
    return read(r, reads[static_cast<std::size_t>(r)]);
  }
  const auto inner = [&] { return random_body(reads, unused, depth - 1, random); };
  if (pick == 2) return unary(UnaryOp::negate, inner());
  if (pick == 6) return binary(random.between(0, 1) == 1 ? BinaryOp::less : BinaryOp::logical_or, inner(), inner());
  if (pick == 3) return cast(types[static_cast<std::size_t>(random.between(0, 5))], inner(), random.between(0, 1) == 1);
  if (pick == 4) return {Select{}, DType::f32, {inner(), inner(), inner()}};
  if (pick == 5) return constant(static_cast<double>(random.between(-3, 3)) / 4, DType::f32);
  return binary(static_cast<BinaryOp>(random.between(0, 5)), inner(), inner());
}

// Reads in order of first occurrence, as everywhere.
void number_reads(ScalarExpr& e, const std::vector<int>& order) {
  if (Read* r = std::get_if<Read>(&e.op)) {
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (order[i] == r->access) {
        r->access = static_cast<int>(i);
        break;
      }
    }
  }
  for (ScalarExpr& arg : e.args) number_reads(arg, order);
}

std::optional<Computation> random_statement(const std::vector<Tensor>& tensors, std::size_t write, Random& random) {
  Computation s;
  s.name = "s" + std::to_string(write);
  for (const char* name : {"i", "j", "k"}) s.domain.dims.push_back({name, random.between(0, 9), DimKind::parallel});
  for (std::size_t d = 0; d < tensors[write].shape.size(); ++d)
    s.write.index.push_back(random_index(s.domain.dims, random));
  s.write.tensor = make_id<TensorId>(write);
  s.reduction = static_cast<Reduction>(random.between(0, 4));
  if (random.between(0, 2) == 0) s.domain.faces.push_back(random_index(s.domain.dims, random));
  std::vector<Access> reads;
  std::vector<DType> read_types;
  for (std::size_t t = 0; t < 3; ++t) {
    Access access{make_id<TensorId>(t), {}};
    for (std::size_t d = 0; d < tensors[t].shape.size(); ++d)
      access.index.push_back(random_index(s.domain.dims, random));
    reads.push_back(access);
    read_types.push_back(tensors[t].dtype);
  }
  std::vector<int> unused;
  const auto body = elaborate(random_body(read_types, unused, 4, random), tensors[write].dtype, {});
  if (!body) return std::nullopt;
  const std::vector<int> order = reads_of(*body);
  s.body = *body;
  for (const int r : order) s.reads.push_back(reads[static_cast<std::size_t>(r)]);
  number_reads(s.body, order);
  for (Dim& dim : s.domain.dims) {
    bool used = false;
    for (const AffineExpr& e : s.write.index) used = used || e.names().count(dim.name) > 0;
    if (!used) dim.kind = DimKind::reduction;
  }
  return s;
}

TEST(KernelText, RandomKernelsReadBack) {
  int tried = 0;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    Random random(seed);
    Kernel kernel;
    kernel.name = seed % 3 == 0 ? "layer/1:\"x\\" : "k";
    if (seed % 2 == 0) kernel.sizes = {{"M", 3}, {"N", random.between(0, 1LL << 50)}};
    for (std::size_t t = 0; t < 5; ++t) {
      Tensor tensor{"T" + std::to_string(t),   {}, types[static_cast<std::size_t>(random.between(0, 5))], {},
                    random.between(0, 3) == 0, {}};
      for (auto rank = random.between(0, 3); rank > 0; --rank) tensor.shape.push_back(random.between(0, 1LL << 45));
      if (random.between(0, 2) == 0) tensor.outside = static_cast<double>(random.between(-8, 8)) / 4;
      if (random.between(0, 2) == 0) tensor.range = {-0.1, 1e30};
      tensor.constant = random.between(0, 3) == 0 && t < 3;
      kernel.tensors.push_back(tensor);
    }
    for (std::size_t t = 3; t < 5; ++t) {
      if (const auto s = random_statement(kernel.tensors, t, random)) kernel.statements.push_back(*s);
    }
    const auto again = parse_kernel(print(kernel));
    ASSERT_TRUE(static_cast<bool>(again)) << "seed " << seed << "\n" << print(kernel) << render(again.diagnostics());
    ASSERT_TRUE(*again == kernel) << "seed " << seed << "\n" << print(kernel) << print(*again);
    tried += static_cast<int>(kernel.statements.size());
  }
  EXPECT_GT(tried, 1500);
}

/// No operand determines the type of the constants.
TEST(KernelText, SelectsBetweenNumbersKeepTheirType) {
  const std::string text =
      "kernel k\ntensor A: f32[4]\ntensor B: f32[4]\ns0: B[i] = f32(bf16(select(A[i], 0.30078125, 0.5))) over i: 4\n";
  const Kernel kernel = parsed(text);
  EXPECT_EQ(print(kernel), text);
  EXPECT_EQ(kernel.statements[0].body.args[0].type, DType::bf16);
}

TEST(KernelText, ProblemsHaveAPlace) {
  const auto shown = [](const std::string& text) { return render(parse_kernel(text).diagnostics()); };
  EXPECT_EQ(shown(""), "the text has no line `kernel NAME`\n");
  EXPECT_EQ(shown("kernel k\ns0: A[i] = 1\n").substr(0, 60), "the statement has no ` over ` with its dims\n");
  EXPECT_NE(shown("kernel k\ns0: A[i] = 1 over i: 3\n").find("no tensor is named 'A'"), std::string::npos);
  Random random(9);
  for (int i = 0; i < 2000; ++i) {  // any bytes: a message or a kernel, never a crash
    std::string text = "kernel k\ntensor A: f32[4]\ns0: A[i] = 1 over i: 4 where i - 1 >= 0\n";
    for (int m = 0; m < 3; ++m)
      text[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(text.size()) - 1))] =
          static_cast<char>(random.next());
    const auto kernel = parse_kernel(text);
    if (kernel) verify(*kernel);
  }
}

// Verification -----------------------------------------------------------------------------------------------------

TEST(VerifyKernel, ConstantsAreNotWritten) {
  EXPECT_EQ(problems("tensor A: f32[9] constant\ntensor O: f32[9]\ns0: O[i] = A[i] over i: 9\n"), "");
  EXPECT_EQ(problems("tensor A: f32[9]\ntensor O: f32[9] constant\ns0: O[i] = A[i] over i: 9\n"),
            "kernel 'k': tensor 'O' is `constant`, but a statement writes it\n  hint: remove `constant`\n");
}

TEST(VerifyKernel, IndicesStayInside) {
  EXPECT_EQ(problems("tensor A: f32[9]\ntensor O: f32[8]\ns0: O[i] += A[i + r] over i: 8, r: 3\n"),
            "kernel 'k': statement s0: reads A[i + r], whose subscript i + r runs from 0 to 9, but dimension 0 of 'A' "
            "has size 9\n"
            "  hint: change the shape, or say what reads beyond it yield: `outside: 0` at the tensor, `outside 0` at "
            "the read\n");
  EXPECT_EQ(problems("tensor A: f32[9] outside 0\ntensor O: f32[8]\ns0: O[i] += A[i + r] over i: 8, r: 3\n"), "");
  EXPECT_EQ(problems("tensor A: f32[9]\ntensor O: f32[8]\ns0: O[i] += A[i + r] over i: 8, r: 3 where 8 - i - r >= 0\n"),
            "");
  EXPECT_EQ(problems("tensor O: f32[4]\ns0: O[i - 1] = 1 over i: 4\n"),
            "kernel 'k': statement s0: writes O[i - 1], whose subscript i - 1 runs from -1 to 2, but dimension 0 of "
            "'O' has size 4\n"
            "  hint: change the shape\n");
  EXPECT_EQ(problems("tensor A: f32[0]\ntensor O: f32[0]\ns0: O[i] = A[i] over i: 0\n"), "");
  EXPECT_EQ(problems("tensor A: f32[3,4]\ntensor O: f32[12]\ns0: O[x] = A[x/4,x%4] over x: 12\n"), "");
}

TEST(VerifyKernel, NumbersFit) {
  EXPECT_EQ(problems("tensor A: f32[4294967296,4294967296]\ntensor O: f32[1]\ns0: O[i] = 1 over i: 1\n"),
            "kernel 'k': tensor 'A': 4294967296 * 4294967296 elements of f32 take more than 2^63 - 1 bytes\n"
            "  hint: at most 2^60 - 1 elements\n");
  const std::string big = "4294967296";
  EXPECT_EQ(problems("tensor A: f32[" + big + "]\ntensor O: f32[" + big + "]\ns0: O[i] += A[j] over i: " + big +
                     ", j: " + big + "\n"),
            "kernel 'k': statement s0: the domain has 4294967296 * 4294967296 points, which is more than 2^63 - 1\n");
  std::string dims, index;
  for (int d = 0; d < 40; ++d) {
    dims += (d > 0 ? ", d" : "d") + std::to_string(d) + ": 1";
    index += (d > 0 ? " + d" : "d") + std::to_string(d);
  }
  EXPECT_EQ(problems("tensor O: f32[1]\ns0: O[" + index + "] = 1 over " + dims + "\n"),
            "kernel 'k': statement s0: 40 dims; at most 24 are supported\n");
}

TEST(VerifyKernel, StatementsMakeSense) {
  EXPECT_EQ(problems("tensor A: f32[4]\ntensor O: f32[1]\ns0: O[0] = A[k] over k: 4\n"),
            "kernel 'k': statement s0: `=` writes each element 4 times, once for each k\n"
            "  hint: use `+=`, `*=`, `max=` or `min=`\n");
  EXPECT_EQ(problems("tensor A: f32[4]\ntensor O: f32[4]\ns0: O[i] += A[i] over i: 4, z: 2\n"),
            "kernel 'k': statement s0: dim z is used by no access\n  hint: remove it\n");
  EXPECT_EQ(problems("tensor A: f32[4]\ntensor O: f32[4]\ns0: O[i] += A[i,i] over i: 4\n"),
            "kernel 'k': statement s0: reads A[i, i], which has 2 subscripts, but 'A' has 1 dimensions\n");
  EXPECT_EQ(problems("tensor A: f32[4]\ntensor O: f32[4]\ns0: O[i] += A[j] over i: 4\n"),
            "kernel 'k': statement s0: A[j] uses j, which is no dim of the statement\n");
  EXPECT_EQ(problems("tensor T: f32[4]\ntensor O: f32[4]\ns0: O[i] = T[i] over i: 4\ns1: T[i] = 1 over i: 4\n"),
            "kernel 'k': statement s0 reads 'T' before statement s1 writes it\n"
            "  hint: give 'T' `inout: true` if it starts with what the caller left there\n");
  EXPECT_EQ(problems("tensor O: f32[4] inout\ns0: O[i] = O[-i + 3] over i: 4\n"),
            "kernel 'k': statement s0 reads 'O' at another element than the one that it writes\n"
            "  hint: write to another tensor\n");
}

TEST(Roles, AreWhatStatementsDo) {
  const Kernel kernel = parsed(
      "kernel k\ntensor O: f32[4]\ntensor A: f32[4]\ntensor T: f32[4]\n"
      "s0: T[i] = A[i] over i: 4\ns1: T[i] = T[i] + 1 over i: 4\ns2: O[i] = T[i] over i: 4\n");
  EXPECT_EQ(role_of(kernel, TensorId{0}), Role::output);
  EXPECT_EQ(role_of(kernel, TensorId{1}), Role::input);
  EXPECT_EQ(role_of(kernel, TensorId{2}), Role::intermediate);
  EXPECT_EQ(arguments(kernel), (std::vector<TensorId>{{1}, {0}}));
}

// Fusing -----------------------------------------------------------------------------------------------------------

TEST(Fuse, CountsThroughDigits) {
  const Kernel kernel = parsed(
      "kernel k\ntensor I: f32[2,3,7]\ntensor F: f32[4,3,3]\ntensor O: f32[2,4,5]\n"
      "s0: O[n,m,p] += I[n,c,p + r] * F[m,c,r] over n: 2, m: 4, p: 5, c: 3, r: 3 where r - 1 >= 0\n");
  const auto digit = [](const char* name, std::int64_t extent) { return Digit{AffineExpr::dim(name), extent}; };
  Mapping mapping;
  mapping.statement = StatementId{0};
  mapping.operands = {0, 1, 2};
  mapping.dims = {{digit("n", 2), digit("p", 5)}, {digit("m", 4)}, {digit("c", 3), digit("r", 3)}};
  EXPECT_EQ(print(mapping, kernel, {"i", "j", "k"}, "mma"), "mma(i = n.p, j = m, k = c.r) O <- I, F");
  EXPECT_EQ(digits_extent(mapping.dims[0]), 10);
  EXPECT_EQ(print(fuse(kernel.statements[0], mapping), kernel.tensors),
            "O[n.p/5,m,n.p%5] += I[n.p/5,c.r/3,c.r%3 + n.p%5] * F[m,c.r/3,c.r%3] over n.p: 10, m: 4, c.r: 9 where "
            "c.r%3 - 1 >= 0");
  mapping.dims = {{digit("n", 2), digit("p", 4)}, {}};  // p only in part: nothing to fuse
  EXPECT_EQ(fuse(kernel.statements[0], mapping), kernel.statements[0]);
  EXPECT_EQ(print(mapping, kernel, {"i", "j"}, "mma"), "mma(i = n.p, j = -) O <- I, F");
}

}  // namespace
}  // namespace isamap
