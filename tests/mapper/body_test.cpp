// SPDX-License-Identifier: Apache-2.0
// Exact matching of bodies: types, saturation, order of arguments; and annihilators.

#include <gtest/gtest.h>

#include "mapper/match/body_match.h"
#include "tests/mapper/cases.h"

namespace isamap::testing {
namespace {

std::string matches(const std::string& kernel, const std::string& unit, const Types& kernel_types,
                    const Types& unit_types) {
  const Sizes sizes{{"i", 4}, {"j", 4}, {"k", 4}};
  const Kernel a = kernel_of(kernel, sizes, kernel_types), b = kernel_of(unit, sizes, unit_types);
  std::string text;
  for (const BodyMatch& match : match_bodies(a.statements[0], b.statements[0])) {
    for (const int o : match.operands) text += std::to_string(o);
    text += " ";
  }
  Instruction instruction;
  instruction.tensors = b.tensors;
  instruction.semantics = b.statements;
  return text.empty() ? body_mismatch(a.statements[0], a.tensors, instruction).text : text;
}

const Types s8_u8_types{{"A", DType::s8}, {"B", DType::u8}};
const std::string product_text = "C[i,j] += A[i,k] * B[k,j]";

TEST(Bodies, BothOrdersWhereTypesAllow) {
  EXPECT_EQ(matches(product_text, product_text, s8_types, s8_types), "012 021 ");
  EXPECT_EQ(matches(product_text, product_text, u8_s8_types, u8_s8_types), "012 ");
  EXPECT_EQ(matches(product_text, product_text, s8_u8_types, u8_s8_types), "021 ");
  EXPECT_EQ(matches("C[i,j] += A[i,k] - B[k,j]", "C[i,j] += A[i,k] - B[k,j]", {}, {}), "012 ");
}

TEST(Bodies, TypesAreExact) {
  EXPECT_EQ(matches(product_text, product_text, s8_types, u8_s8_types),
            "dtype: the instruction computes s32(A) * s32(B) (u8 by s8 into s32) exactly; the statement has "
            "s32(A) * s32(B) (s8 by s8 into s32)");
  EXPECT_EQ(matches(product_text, "C[i,j] += sat_s16(A[i,k] * B[k,j])", u8_s8_types, u8_s8_types).substr(0, 6),
            "dtype:");
  EXPECT_EQ(matches(product_text, "C[i,j] max= A[i,k] * B[k,j]", {}, {}),
            "reduction: the instruction combines with max=, the statement with +=");
  EXPECT_EQ(matches(product_text, "C[i,j] += A[i,k] + B[k,j]", {}, {}),
            "body: the instruction computes A + B; the statement computes A * B");
}

TEST(Bodies, MismatchesHaveKinds) {
  const auto kind = [](const std::string& text, const Types& types) {
    const Kernel given = kernel_of(product_text, {{"i", 4}, {"j", 4}, {"k", 4}}, s8_types);
    const Kernel unit = kernel_of(text, {{"i", 4}, {"j", 4}, {"k", 4}}, types);
    Instruction instruction;
    instruction.tensors = unit.tensors;
    instruction.semantics = unit.statements;
    return body_mismatch(given.statements[0], given.tensors, instruction).kind;
  };
  EXPECT_EQ(kind(product_text, u8_s8_types), Reason::Kind::dtype);
  EXPECT_EQ(kind("C[i,j] max= A[i,k] * B[k,j]", s8_types), Reason::Kind::reduction);
  EXPECT_EQ(kind("C[i,j] += A[i,k] + B[k,j]", s8_types), Reason::Kind::body);
  EXPECT_LT(Reason::Kind::dims, Reason::Kind::saturation);
}

std::string annihilator_text(const std::string& text, DType type) {
  const Kernel kernel = kernel_of(text, {{"j", 4}}, {}, type);
  std::string result;
  for (const Annihilator& kill : annihilators(kernel.statements[0])) {
    for (const auto& [read, value] : kill) result += std::to_string(read) + "=" + std::to_string(value) + " ";
    result += "| ";
  }
  return result;
}

TEST(Kills, ByBody) {
  EXPECT_EQ(annihilator_text("C[j] += A[j] * B[j]", DType::f32), "0=0.000000 | 1=0.000000 | ");
  EXPECT_EQ(annihilator_text("C[j] += abs(A[j] - B[j])", DType::s32), "0=0.000000 1=0.000000 | ");
  EXPECT_EQ(annihilator_text("C[j] += (A[j] - B[j]) * (A[j] - B[j])", DType::f32), "0=0.000000 1=0.000000 | ");
  EXPECT_EQ(annihilator_text("C[j] max= A[j] + B[j]", DType::f32), "0=-inf | 1=-inf | ");
  EXPECT_EQ(annihilator_text("C[j] max= A[j] + B[j]", DType::s32), "");  // no integer is minus infinity
  EXPECT_EQ(annihilator_text("C[j] max= A[j]", DType::s8), "0=-128.000000 | ");
  EXPECT_EQ(annihilator_text("C[j] = A[j] + B[j]", DType::f32), "");
  EXPECT_EQ(annihilator_text("C[j] += sin(A[j])", DType::f32), "0=0.000000 | ");
  EXPECT_EQ(annihilator_text("C[j] += cos(A[j])", DType::f32), "");
  EXPECT_EQ(annihilator_text("C[j] += exp(A[j])", DType::f32), "0=-inf | ");
  EXPECT_EQ(annihilator_text("C[j] += B[j] * s32(not A[j])", DType::s32), "0=0.000000 | ");
}

}  // namespace
}  // namespace isamap::testing
