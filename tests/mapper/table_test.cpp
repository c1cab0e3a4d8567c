// SPDX-License-Identifier: Apache-2.0
// The counts of the class for known kernels on known instructions, at sizes that leave no instruction dim underfilled
// (docs/mapping.md). tests/mapping_oracle recounts the same table by brute force.

#include <gtest/gtest.h>

#include <map>

#include "mapper/advice/price.h"
#include "mapper/alternative_digit_orders.h"
#include "tests/mapper/cases.h"

namespace isamap::testing {
namespace {

struct Row {
  std::string name, kernel, face, sizes;
  std::size_t all, in_default;
};

const std::string conv1d_text = "O[n,k,p] += I[n,c,p+r] * F[k,c,r]",
                  conv2d_text = "O[n,k,p,q] += I[n,c,p+r,q+s] * F[k,c,r,s]",
                  depthwise2d_text = "O[n,c,p,q] += I[n,c,p+r,q+s] * F[c,r,s]", gemm_text = "C[i,j] += A[i,k] * B[k,j]";

const std::vector<Row> matrix_rows = {
    {"gemm", gemm_text, "", "ijk", 8, 1},
    {"conv1d", conv1d_text, "", "nkcpr", 72, 9},
    {"conv1d stride 2", "O[n,k,p] += I[n,c,2*p+r] * F[k,c,r]", "", "nkcpr", 80, 9},
    {"conv1d dilation 2", "O[n,k,p] += I[n,c,p+2*r] * F[k,c,r]", "", "nkcpr", 72, 9},
    {"conv1d stride 2 dilation 3", "O[n,k,p] += I[n,c,2*p+3*r] * F[k,c,r]", "", "nkcpr", 72, 9},
    {"conv2d", conv2d_text, "", "nkcpqrs", 648, 49},
    {"depthwise 1-D", "O[n,c,q] += I[n,c,q+s] * F[c,s]", "", "ncqs", 72, 32},
    {"depthwise 2-D", depthwise2d_text, "", "ncpqrs", 648, 394},
    {"grouped 1-D", "O[n,g,k,p] += I[n,g,c,p+r] * F[g,k,c,r]", "", "ngkcpr", 288, 9},
    {"stencil 1-D", "O[q] += I[q+s] * F[s]", "", "qs", 9, 3},
    {"stencil 2-D", "O[p,q] += I[p+r,q+s] * F[r,s]", "", "pqrs", 81, 53},
    {"transposed, gather", "O[n,k,p] += I[n,c,p+r] * F[k,c,15-r]", "", "nkcpr", 72, 9},
    {"transposed, scatter", "O[n,k,2*p+r] += I[n,c,p] * F[k,c,r]", "", "nkcpr", 64, 9},
    {"outer product", "C[i,j] += A[i] * B[j]", "", "ij", 4, 1},
    {"batched gemm", "C[b,i,j] += A[b,i,k] * B[b,k,j]", "", "bijk", 32, 1},
    {"dot product", "C[] += A[k] * B[k]", "", "k", 2, 1},
    {"mean", "O[i] += I[i,k] * W[]", "", "ik", 4, 1},
    {"scan", "O[i] += I[k] * W[]", "i - k", "ik", 6, 2},
    {"two filters", "O[p] += I[p+r+u] * W[r,u]", "", "pru", 28, 13}};

Kernel large(const Row& row) {
  Sizes sizes;
  for (const char c : row.sizes) sizes[std::string(1, c)] = 16;
  Kernel kernel = kernel_of(row.kernel, sizes);
  if (!row.face.empty()) kernel.statements[0].domain.faces = {*parse_affine(row.face)};
  return kernel;
}

std::size_t whole_count(const Kernel& kernel, const Instruction& unit, Rule rule) {
  const PairMappings found = map_one(kernel, unit, rule);
  EXPECT_FALSE(found.limit_reached);
  return written_order(found.mappings).size();
}

TEST(Table, MatrixUnit) {
  for (const Row& row : matrix_rows) {
    EXPECT_EQ(whole_count(large(row), matrix_unit(4, 2, 4), Rule::all), row.all) << row.name;
    EXPECT_EQ(whole_count(large(row), matrix_unit(4, 2, 4), Rule::full), row.in_default) << row.name;
  }
}

TEST(Table, OtherUnits) {
  const Instruction vector = instruction_of("C[i] += A[i] * B[i]", {{"i", 4}}),
                    dot = instruction_of("C[i] += A[i,x] * B[i,x]", {{"i", 4}, {"x", 4}}),
                    broadcast = instruction_of("C[i] += A[x] * B[i,x]", {{"i", 4}, {"x", 4}}),
                    joined = instruction_of("C[i,j] += A[i,k,x] * B[k,x,j]", {{"i", 4}, {"j", 4}, {"k", 4}, {"x", 4}});
  const auto counts = [](const std::string& kernel, const std::string& sizes, const Instruction& unit) {
    const Kernel k = large({"", kernel, "", sizes, 0, 0});
    return std::to_string(whole_count(k, unit, Rule::all)) + "/" + std::to_string(whole_count(k, unit, Rule::full));
  };
  EXPECT_EQ(counts(conv1d_text, "nkcpr", vector), "8/7");
  EXPECT_EQ(counts(conv2d_text, "nkcpqrs", vector), "16/15");
  EXPECT_EQ(counts(gemm_text, "ijk", dot), "8/3");
  EXPECT_EQ(counts(conv1d_text, "nkcpr", dot), "32/21");
  EXPECT_EQ(counts(conv2d_text, "nkcpqrs", dot), "128/105");
  EXPECT_EQ(counts(depthwise2d_text, "ncpqrs", dot), "64/45");
  EXPECT_EQ(counts(gemm_text, "ijk", broadcast), "8/1");
  EXPECT_EQ(counts(conv1d_text, "nkcpr", broadcast), "48/3");
  EXPECT_EQ(counts(conv2d_text, "nkcpqrs", broadcast), "288/7");
  EXPECT_EQ(counts(depthwise2d_text, "ncpqrs", broadcast), "144/60");
  EXPECT_EQ(counts(gemm_text, "ijk", joined), "8/1");
  EXPECT_EQ(counts(conv1d_text, "nkcpr", joined), "72/9");
}

const Mapping& best(const std::vector<Mapping>& mappings) {
  return *std::max_element(mappings.begin(), mappings.end(),
                           [](const Mapping& a, const Mapping& b) { return a.utilisation < b.utilisation; });
}

/// A three-tap stencil fills three quarters of a 4x2x4 unit: i steps by 2, j is the band, k the taps.
TEST(Table, TheBestStencil) {
  const Kernel stencil = kernel_of("O[q] += I[q+s] * F[s]", {{"q", 32}, {"s", 3}});
  const Instruction unit = matrix_unit(4, 2, 4);
  const auto mappings = written_order(map_one(stencil, unit, Rule::full).mappings);
  EXPECT_EQ(shown(best(mappings), stencil, unit),
            "unit(i = (2*q), j = (q - s), k = s) O <- I, F kinds skew split; s>=0 -> 2; s<=2 -> 2");
  EXPECT_DOUBLE_EQ(best(mappings).utilisation, 0.75);
  EXPECT_EQ(best(mappings).needs, std::vector<std::string>{});  // integers
  const Price price = price_of(stencil, unit, best(mappings));
  EXPECT_EQ(price.calls, 4);
  EXPECT_EQ(price.extra_points, 32);
  EXPECT_TRUE(price.operands[1].direct) << price.operands[1].why_packed;
  EXPECT_EQ(price.operands[2].why_packed, "its surplus slots hold the constant that makes s>=0 vanish");
}

/// Of two digits that move the output along one direction either may be the finer one. The published counts have one
/// order of q and q - s where s is no digit; the other order is listed too.
TEST(Table, OtherOrdersStandWithTheirMapping) {
  const Kernel stencil = kernel_of("O[q] += I[q+s] * F[s]", {{"q", 32}, {"s", 3}});
  const Instruction unit = matrix_unit(4, 2, 4);
  std::map<std::string, std::string> other;
  AlternativeDigitOrders orders(stencil);
  for (const Mapping& mapping : map_one(stencil, unit, Rule::all).mappings) {
    for (const Mapping& one : orders.of(mapping, unit)) {
      EXPECT_EQ(one.proof, Proof::proved);
      EXPECT_TRUE(other.emplace(shown(mapping, stencil, unit), shown(one, stencil, unit)).second);
    }
  }
  const std::map<std::string, std::string> expected{
      {"unit(i = (2*q), j = (q - s), k = -) O <- I, F kinds skew virtual split; s>=0 -> 0; s<=2 -> 0; fill k -> 1",
       "unit(i = q, j = (2*q - 2*s), k = -) O <- I, F kinds skew virtual split; s>=0 -> 0; s<=2 -> 0; fill i -> 0; "
       "fill k -> 1"},
      {"unit(i = (q - s), j = (4*q), k = -) O <- F, I kinds skew virtual exchange split; s>=0 -> 0; s<=2 -> 0; fill k "
       "-> 2",
       "unit(i = (2*q - 2*s), j = q, k = -) O <- F, I kinds skew virtual exchange split; s>=0 -> 0; s<=2 -> 0; fill k "
       "-> 2"}};
  EXPECT_EQ(other, expected);
}

/// On 16x16x16, 14 steps of the band keep the window of 3 taps inside k: one call for 96 points of work.
TEST(Table, TheWindowStaysInsideTheUnit) {
  const Kernel stencil = kernel_of("O[q] += I[q+s] * F[s]", {{"q", 14 * 16}, {"s", 3}});
  const auto mappings = written_order(map_one(stencil, matrix_unit(16, 16, 16), Rule::full).mappings);
  EXPECT_DOUBLE_EQ(best(mappings).utilisation, 14.0 * 16 * 3 / 4096);
}

TEST(Table, ASumIsAProductWithOnes) {
  const Kernel mean = kernel_of("O[i] += I[i,k]", {{"i", 16}, {"k", 16}});
  const Instruction unit = matrix_unit(4, 2, 4);
  const PairMappings found = map_one(mean, unit, Rule::full);
  ASSERT_EQ(written_order(found.mappings).size(), 1U);
  EXPECT_EQ(shown(written_order(found.mappings)[0], mean, unit),
            "unit(i = i, j = -, k = k) O <- I, 1 kinds virtual replicate constant; fill j -> 0");
  EXPECT_TRUE(map_one(mean, unit, Rule::access).mappings.empty());
  EXPECT_EQ(map_one(kernel_of("O[i] += 3 * I[i,k]", {{"i", 16}, {"k", 16}}), unit, Rule::full).mappings[0].constant,
            3.0);
}

TEST(Table, ASumSpreadOverLanesIsPartial) {
  const Kernel dot = kernel_of("O[] += A[k] * B[k]", {{"k", 64}});
  const Instruction vector = instruction_of("C[j] += A[j] * B[j]", {{"j", 8}});
  const PairMappings found = map_one(dot, vector, Rule::full);
  ASSERT_EQ(found.mappings.size(), 1U);
  EXPECT_EQ(shown(found.mappings[0], dot, vector), "unit(j = k) O <- A, B kinds partial");
}

}  // namespace
}  // namespace isamap::testing
