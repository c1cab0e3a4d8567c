// SPDX-License-Identifier: Apache-2.0
// Instructions that saturate or have an unrolled sum match exact kernels where the ranges of the inputs allow it.

#include <gtest/gtest.h>

#include "ir/scalar/scalar_functions.h"
#include "isamap/interpret.h"
#include "mapper/match/expansion.h"
#include "mapper/proof/certificate.h"
#include "mapper/proof/z3_solver.h"
#include "tests/mapper/cases.h"

namespace isamap::testing {
namespace {

const Types u8_s8_operands{{"A", DType::u8}, {"B", DType::s8}};

Kernel dot(const std::string& text, std::optional<std::pair<double, double>> a,
           std::optional<std::pair<double, double>> b, DType result, std::int64_t k) {
  Kernel kernel = kernel_of(text, {{"i", 4}, {"j", 4}, {"k", k}}, u8_s8_operands, result);
  for (Tensor& tensor : kernel.tensors) {
    if (tensor.name == "A") tensor.range = a;
    if (tensor.name == "B") tensor.range = b;
  }
  return kernel;
}

std::string answer(const Kernel& kernel, const Instruction& instruction) {
  const PairMappings found = map_one(kernel, instruction, Rule::full);
  if (found.mappings.empty()) return found.reasons.empty() ? "no reason" : found.reasons[0].text;
  const Mapping& m = found.mappings[0];
  std::string text = std::to_string(found.mappings.size()) + " mappings";
  for (const std::string& need : m.needs) text += ", needs " + need;
  for (const Dim& dim : m.rolled) text += ", " + dim.name + ": " + std::to_string(dim.extent) + " written out";
  return text;
}

const std::string dot_text = "C[i,j] += A[i,k] * B[k,j]";
const std::string pair_text = "C[j] += s32(sat_s16(s32(A[j,0])*s32(B[j,0]) + s32(A[j,1])*s32(B[j,1])))";

TEST(Exact, PairSumsThatCannotSaturate) {
  const Instruction pair = instruction_of(pair_text, {{"j", 4}}, u8_s8_operands);
  EXPECT_EQ(answer(dot(dot_text, {{0, 127}}, {}, DType::s32, 8), pair),
            "3 mappings, needs A in [0, 127], k: 2 written out");
  EXPECT_EQ(
      answer(dot(dot_text, {{0, 129}}, {}, DType::s32, 8), pair),
      "saturation: s32(A[j,0]) * s32(B[j,0]) + s32(A[j,1]) * s32(B[j,1]) can reach [-33024, 32766], and s16 holds "
      "[-32768, 32767]; with range: [0, 128] on A or range: [-127, 127] on B it would be exact");
  EXPECT_EQ(
      answer(dot(dot_text, {}, {}, DType::s32, 8), pair),
      "saturation: s32(A[j,0]) * s32(B[j,0]) + s32(A[j,1]) * s32(B[j,1]) can reach [-65280, 64770], and s16 holds "
      "[-32768, 32767]; with range: [0, 128] on A or range: [-64, 64] on B it would be exact");
  EXPECT_EQ(answer(dot(dot_text, {}, {{-64, 64}}, DType::s32, 8), pair),
            "3 mappings, needs B in [-64, 64], k: 2 written out");
  // Either range is enough: the other one is not required.
  EXPECT_EQ(answer(dot(dot_text, {{0, 255}}, {{-64, 64}}, DType::s32, 8), pair),
            "3 mappings, needs B in [-64, 64], k: 2 written out");
}

/// Wrapping products and sums have equal bits for signed and unsigned types.
TEST(Exact, IntegersOfTheOtherSignedness) {
  for (const auto& [given, taken] :
       {std::pair(DType::u8, DType::s8), {DType::u16, DType::s16}, {DType::u32, DType::s32}}) {
    for (const auto& [kernel_type, unit_type] : {std::pair(given, taken), std::pair(taken, given)}) {
      const Instruction unit = instruction_of("C[j] += A[] * B[j]", {{"j", 4}}, {}, unit_type);
      const Kernel kernel = gemm(4, 4, 4, kernel_type);
      EXPECT_EQ(answer(kernel, unit), "2 mappings");
      EXPECT_EQ(answer(kernel_of("C[i] += A[i] - B[i] * 3", {{"i", 4}}, {}, kernel_type),
                       instruction_of("C[i] += A[i] - 3 * B[i]", {{"i", 4}}, {}, unit_type)),
                "1 mappings");
      // The order of two numbers, and their widening, depend on signedness.
      for (const char* other : {"C[i] max= A[i]", "C[i] min= A[i]", "C[i] = max(A[i], B[i])"})
        EXPECT_NE(
            answer(kernel_of(other, {{"i", 4}}, {}, kernel_type), instruction_of(other, {{"i", 4}}, {}, unit_type))
                .find("dtype: "),
            std::string::npos)
            << other;
      EXPECT_NE(answer(kernel_of("C[i] += A[i]", {{"i", 4}}, {}, kernel_type),
                       instruction_of("C[i] sat+= A[i]", {{"i", 4}}, {}, unit_type))
                    .find("reduction: "),
                std::string::npos);
    }
  }
  // A widened product of bytes differs, unless the values are equal in both types.
  const std::string wide = "C[i,j] += A[i,k] * B[k,j]";
  const Instruction unit = instruction_of(wide, {{"i", 4}, {"j", 4}, {"k", 4}}, s8_types);
  const Types u8{{"A", DType::u8}, {"B", DType::u8}};
  Kernel kernel = kernel_of(wide, {{"i", 4}, {"j", 4}, {"k", 4}}, u8);
  EXPECT_NE(answer(kernel, unit).find("can reach [0, 255], and s8 holds [-128, 127]"), std::string::npos)
      << answer(kernel, unit);
  for (Tensor& tensor : kernel.tensors)
    if (tensor.name != "C") tensor.range = {0, 127};
  EXPECT_EQ(answer(kernel, unit), "2 mappings, needs A in [0, 127], needs B in [0, 127]");
}

TEST(Exact, NeighboursInOneIndexAreADimToo) {
  const std::string text = "C[j] += s32(sat_s16(s32(A[2*j])*s32(B[2*j]) + s32(A[2*j+1])*s32(B[2*j+1])))";
  EXPECT_EQ(answer(dot(dot_text, {{0, 127}}, {}, DType::s32, 8), instruction_of(text, {{"j", 4}}, u8_s8_operands)),
            "3 mappings, needs A in [0, 127], k: 2 written out");
}

TEST(Exact, AnInstructionThatOverwritesAddsUpEverythingAtOnce) {
  const Instruction unit = instruction_of("C[j] = sat_s16(s32(A[j,0])*s32(B[j,0]) + s32(A[j,1])*s32(B[j,1]))",
                                          {{"j", 4}}, u8_s8_operands, DType::s16);
  EXPECT_EQ(answer(dot(dot_text, {{0, 127}}, {}, DType::s16, 2), unit),
            "3 mappings, needs A in [0, 127], k: 2 written out");
  EXPECT_EQ(
      answer(dot(dot_text, {{0, 127}}, {}, DType::s16, 4), unit),
      "each call overwrites C, so one call must compute the whole sum: instruction dim k takes 2, the sum needs 4");
  Kernel updates = dot(dot_text, {{0, 127}}, {}, DType::s16, 2);
  updates.tensors[0].inout = true;
  EXPECT_EQ(answer(updates, unit), "each call overwrites C, but C holds a value that the statement adds to");
}

/// Windows are enumerated: a question to the solver for each of hundreds of extents took minutes.
TEST(Exact, OverwrittenWindowsAreDecidedWithoutTheSolver) {
  Instruction unit = instruction_of("C[n,j] += A[n,k] * W[k,j]", {{"n", 16}, {"j", 40}, {"k", 72}});
  unit.start = {{"C", {Start::zero}}};
  const Kernel kernel = kernel_of("C[c,p] += A[c,p+r] * B[c,r]", {{"c", 4}, {"p", 3}, {"r", 3}});
  const PairMappings found = map_one(kernel, unit, Rule::full);
  EXPECT_EQ(found.mappings.size(), 32);
  EXPECT_EQ(found.solver.queries, 0);
  for (const Mapping& mapping : found.mappings) EXPECT_EQ(mapping.proof, Proof::proved);
}

TEST(Exact, SumsThatSaturateOnlyWhereTheyCannot) {
  const Instruction unit = instruction_of("C[j] sat+= s32(A[k,j]) * s32(B[k,j])", {{"j", 4}, {"k", 4}}, u8_s8_operands);
  EXPECT_EQ(answer(dot(dot_text, {}, {}, DType::s32, 8), unit), "3 mappings");
  EXPECT_EQ(answer(dot(dot_text, {}, {}, DType::s32, 1 << 17), unit),
            "saturation: 131072 * s64(s32(A[k,j]) * s32(B[k,j])) can reach [-4278190080, 4244766720], and s32 holds "
            "[-2147483648, 2147483647]; with range: [0, 128] on A or range: [-64, 64] on B it would be exact");
  EXPECT_EQ(answer(dot(dot_text, {{0, 127}}, {}, DType::s32, 1 << 17), unit), "3 mappings, needs A in [0, 127]");
  const Instruction pair =
      instruction_of("C[j] sat+= s32(A[j,0])*s32(B[j,0]) + s32(A[j,1])*s32(B[j,1])", {{"j", 4}}, u8_s8_operands);
  EXPECT_EQ(answer(dot(dot_text, {}, {}, DType::s32, 9), pair), "3 mappings, k: 2 written out");
  Kernel updates = dot(dot_text, {}, {}, DType::s32, 8);
  updates.tensors[0].inout = true;
  EXPECT_EQ(answer(updates, unit),
            "saturation: 8 * s64(s32(A[k,j]) * s32(B[k,j])) can reach [-2147744768, 2147742727], and s32 holds "
            "[-2147483648, 2147483647]; it may saturate whatever range one input has");
}

/// What an earlier statement wrote is added to, whatever it is.
TEST(Exact, SumsThatSaturateBeginWithWhatWasWrittenBefore) {
  const Instruction unit = instruction_of("C[j] sat+= s32(A[k,j]) * s32(B[k,j])", {{"j", 4}, {"k", 4}}, u8_s8_operands);
  Kernel begun = dot(dot_text, {}, {}, DType::s32, 8);
  Computation copy;
  copy.name = "begin";
  copy.write = begun.statements.front().write;
  for (const Dim& dim : begun.statements.front().domain.dims)
    if (dim.kind == DimKind::parallel) copy.domain.dims.push_back(dim);
  copy.reads = {{make_id<TensorId>(begun.tensors.size()), copy.write.index}};
  copy.body = read(0, DType::s32);
  Tensor from = begun.tensors[copy.write.tensor.index()];
  from.name = "D";
  begun.tensors.push_back(from);
  begun.statements.insert(begun.statements.begin(), copy);
  ASSERT_EQ(render(verify(begun)), "");
  const PairMappings found = map_statement(begun, StatementId{1}, unit, InstructionId{0}, {});
  EXPECT_TRUE(found.mappings.empty());
  ASSERT_FALSE(found.reasons.empty());
  EXPECT_TRUE(found.reasons[0].text.starts_with("saturation: ")) << found.reasons[0].text;
}

/// Equal terms saturate first.
TEST(Exact, SumsThatSaturateAgainstTheWorstTerms) {
  const Types both{{"A", DType::s8}, {"B", DType::s8}};
  const Instruction unit = instruction_of("C[j] sat+= s16(A[j]) * s16(B[j])", {{"j", 4}}, both, DType::s16);
  Random random(3);
  int exact = 0, lossy = 0;
  for (int round = 0; round < 300; ++round) {
    const auto range = [&] {
      const std::int64_t low = random.between(-100, 0), high = random.between(0, 100);
      return std::pair<double, double>(static_cast<double>(low), static_cast<double>(high));
    };
    const std::int64_t terms = random.between(1, 20);
    Kernel kernel =
        kernel_of("C[i,j] += s16(A[i,k]) * s16(B[k,j])", {{"i", 4}, {"j", 4}, {"k", terms}}, both, DType::s16);
    const auto a = range(), b = range();
    for (Tensor& tensor : kernel.tensors)
      if (tensor.name != "C") tensor.range = tensor.name == "A" ? a : b;
    bool saturates = false;
    for (const double x : {a.first, a.second})
      for (const double y : {b.first, b.second}) {
        std::int64_t sum = 0;
        for (std::int64_t t = 0; t < terms; ++t) sum += static_cast<std::int64_t>(x * y);
        saturates = saturates || sum < -32768 || sum > 32767;
      }
    const bool maps = !map_one(kernel, unit, Rule::full).mappings.empty();
    EXPECT_EQ(maps, !saturates) << terms << " terms, " << a.first << ".." << a.second << " by " << b.first << ".."
                                << b.second;
    ++(maps ? exact : lossy);
  }
  EXPECT_GT(exact, 30);
  EXPECT_GT(lossy, 30);
}

TEST(Exact, SingleProductsKeepTheirDims) {
  const Instruction unit =
      instruction_of("C[j] += s32(sat_s16(A[k,j] * B[k,j]))", {{"j", 4}, {"k", 4}}, u8_s8_operands);
  EXPECT_EQ(answer(dot(dot_text, {}, {}, DType::s32, 8), unit), "3 mappings");  // 255 * -128 is an s16
  const Types both{{"A", DType::s8}, {"B", DType::s8}};
  const Kernel kernel = kernel_of(dot_text, {{"i", 4}, {"j", 4}, {"k", 8}}, both);
  const Instruction narrow =
      instruction_of("C[j] += s32(sat_s8(s32(A[k,j]) * s32(B[k,j])))", {{"j", 4}, {"k", 4}}, both);
  EXPECT_EQ(
      answer(kernel, narrow),
      "saturation: s32(A[k,j]) * s32(B[k,j]) can reach [-16256, 16384], and s8 holds [-128, 127]; it may saturate "
      "whatever range one input has");
}

TEST(Exact, IntegersReassociateAndDistribute) {
  const Sizes sizes{{"j", 8}};
  const auto same = [&](const std::string& kernel, const std::string& unit, DType type) {
    return answer(kernel_of(kernel, sizes, {}, type), instruction_of(unit, sizes, {}, type));
  };
  EXPECT_EQ(same("D[j] = (A[j] * B[j]) * C[j]", "D[j] = A[j] * (B[j] * C[j])", DType::s32).substr(0, 9), "1 mapping");
  EXPECT_EQ(same("D[j] = A[j] * (B[j] + C[j])", "D[j] = A[j] * B[j] + A[j] * C[j]", DType::s32).substr(0, 9),
            "1 mapping");
  EXPECT_EQ(same("D[j] = A[j] * (B[j] + C[j])", "D[j] = A[j] * B[j] + A[j] * C[j]", DType::f32).substr(0, 5), "body:");
  EXPECT_EQ(same("D[j] = A[j] * (B[j] + C[j])", "D[j] = A[j] * B[j] - A[j] * C[j]", DType::s32).substr(0, 5), "body:");
}

TEST(Exact, TheCertificateAsksForAPairThatSaturates) {
  const Kernel kernel = dot(dot_text, {{0, 127}}, {}, DType::s32, 8);
  const Instruction unit = instruction_of(pair_text, {{"j", 4}}, u8_s8_operands);
  Mapping mapping = map_one(kernel, unit, Rule::full).mappings.at(0);
  mapping.statement = StatementId{0};
  const Alignment alignment = alignment_of(kernel, unit, mapping);
  const Certificate certificate = certify(alignment, mapping);
  EXPECT_EQ(certificate.questions.back().name, "R: s32(A[j,0]) * s32(B[j,0]) + s32(A[j,1]) * s32(B[j,1]) beyond s16");
  EXPECT_EQ(certificate.questions.back().text,
            "(declare-const v0 Int)\n(assert (<= 0 v0 127))\n(declare-const v1 Int)\n(assert (<= (- 128) v1 127))\n"
            "(declare-const v2 Int)\n(assert (<= 0 v2 127))\n(declare-const v3 Int)\n(assert (<= (- 128) v3 127))\n"
            "(assert (not (<= (- 32768) (+ (* v0 v1) (* v2 v3)) 32767)))\n");
  SolverStatistics statistics;
  EXPECT_EQ(replay(certificate, 2'000'000, statistics), Truth::yes);
  // A range that is one too wide is refuted.
  auto wide = std::make_shared<Exactness>(*alignment.exact);
  for (Interval& range : wide->ranges)
    if (range.low == 0) range.high = 130;
  Alignment wrong = alignment;
  wrong.exact = wide;
  std::string failed;
  EXPECT_EQ(replay(certify(wrong, mapping), 2'000'000, statistics, &failed), Truth::no);
  EXPECT_EQ(failed.substr(0, 2), "R:");
}

// -- law: without a loss the polynomial is the value -----------------------------------------------------------------

ScalarExpr random_body(Random& random, int depth, DType type, const std::vector<DType>& reads) {
  const auto pick = random.between(0, depth > 0 ? 7 : 1);
  if (pick == 0) return constant(static_cast<double>(random.between(-3, 3)), type);
  if (pick <= 2) {
    const auto r = static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(reads.size()) - 1));
    ScalarExpr leaf = read(static_cast<int>(r), reads[r]);
    return reads[r] == type ? leaf : cast(type, leaf, random.between(0, 3) == 0);
  }
  if (pick == 3) {
    const DType inner = random.between(0, 1) == 0 ? DType::s16 : DType::s32;
    if (inner != type) return cast(type, random_body(random, depth - 1, inner, reads), random.between(0, 1) == 0);
  }
  static const BinaryOp ops[] = {BinaryOp::add, BinaryOp::sub, BinaryOp::mul};
  return binary(ops[random.between(0, 2)], random_body(random, depth - 1, type, reads),
                random_body(random, depth - 1, type, reads));
}

std::int64_t value_of(const Polynomial& polynomial, const std::vector<Scalar>& values, DType type) {
  std::int64_t sum = 0;
  for (const auto& [reads, coefficient] : polynomial) {
    std::int64_t term = coefficient;
    for (const int r : reads) term = wrapping::mul(term, values[static_cast<std::size_t>(r)].integer);
    sum = wrapping::add(sum, term);
  }
  return wrap_to(type, sum);
}

TEST(Expansion, WithoutALossThePolynomialIsTheValue) {
  const std::vector<DType> reads{DType::u8, DType::s8, DType::s16};
  int judged = 0, lossy = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    std::vector<Interval> ranges;
    for (const DType type : reads) {
      const Interval all = values_of(type);
      std::int64_t a = random.between(all.low, all.high), b = random.between(all.low, all.high);
      if (random.between(0, 1) == 0) a /= 16, b /= 16;
      ranges.push_back({std::min(a, b), std::max(a, b)});
    }
    const DType type = random.between(0, 1) == 0 ? DType::s32 : DType::s16;
    const ScalarExpr body = random_body(random, 4, type, reads);
    const auto expansion = expand(body, ranges);
    if (!expansion) continue;
    lossy += expansion->losses.empty() ? 0 : 1;
    if (!expansion->losses.empty()) continue;
    ++judged;
    for (int trial = 0; trial < 8; ++trial) {
      std::vector<Scalar> values;
      for (const Interval& range : ranges)
        values.push_back({0, trial == 0 ? range.low : trial == 1 ? range.high : random.between(range.low, range.high)});
      ASSERT_EQ(evaluate(body, values.data()).integer, value_of(expansion->polynomial, values, type))
          << print(body, {"A", "B", "C"});
    }
  }
  EXPECT_GT(judged, 1000);
  EXPECT_GT(lossy, 40);
}

}  // namespace
}  // namespace isamap::testing
