// SPDX-License-Identifier: Apache-2.0
// Mappings that are exact for the values at hand, run on integers: the instruction's written-out sum is one more dim.
// That its value is the polynomial which that dim adds up is tested in tests/mapper/exact_test.cpp.

#include <gtest/gtest.h>

#include <iostream>

#include "mapper/digits/alignment.h"
#include "tests/mapper/cases.h"
#include "tests/mapping_oracle/convert.h"
#include "tests/mapping_oracle/execute.h"

namespace isamap::oracle {
namespace {

using testing::instruction_of;
using testing::kernel_of;
using testing::Sizes;
using testing::Types;

const Types u8_s8_operands{{"A", DType::u8}, {"B", DType::s8}};

struct Case {
  std::string kernel;
  Sizes sizes;
};
const std::vector<Case> kernel_cases{
    {"C[i,j] += A[i,k] * B[k,j]", {{"i", 3}, {"j", 5}, {"k", 7}}},
    {"C[p,k] += A[p+r,c] * B[r,c,k]", {{"p", 5}, {"k", 3}, {"r", 3}, {"c", 2}}},
    {"C[p,c] += A[2*p+r,c] * B[r,c]", {{"p", 4}, {"c", 3}, {"r", 3}}},
    {"C[i] += A[i,k] * B[k]", {{"i", 5}, {"k", 9}}},
    {"C[p] += A[p-r+2] * B[r]", {{"p", 6}, {"r", 3}}},
};
const std::vector<std::pair<std::string, Sizes>> instruction_texts{
    {"C[j] += s32(sat_s16(s32(A[j,0])*s32(B[j,0]) + s32(A[j,1])*s32(B[j,1])))", {{"j", 4}}},
    {"C[j] += s32(sat_s16(s32(A[0])*s32(B[j,0]) + s32(A[1])*s32(B[j,1])))", {{"j", 4}}},
    {"C[j] += A[4*j]*B[4*j] + A[4*j+1]*B[4*j+1] + A[4*j+2]*B[4*j+2] + A[4*j+3]*B[4*j+3]", {{"j", 2}}},
    {"C[i,j] += s32(sat_s16(A[i,k] * B[k,j]))", {{"i", 2}, {"j", 2}, {"k", 2}}},
};

TEST(ExactMappings, RunRightOnIntegers) {
  int run = 0, rolled = 0;
  for (const Case& c : kernel_cases) {
    Kernel kernel = kernel_of(c.kernel, c.sizes, u8_s8_operands);
    for (Tensor& tensor : kernel.tensors)
      if (tensor.name == "A") tensor.range = {{0, 100}};
    const auto nest = nest_of(kernel.statements[0]);
    ASSERT_TRUE(nest);
    for (const auto& [text, sizes] : instruction_texts) {
      const Instruction instruction = instruction_of(text, sizes, u8_s8_operands);
      for (const Rule rule : {Rule::access, Rule::full, Rule::all}) {
        for (const isamap::Mapping& found : testing::map_one(kernel, instruction, rule).mappings) {
          if (found.constant) continue;
          const Alignment alignment = alignment_of(kernel, instruction, found);
          const auto unit = nest_of(alignment.semantics());
          if (!unit) continue;
          const Mapping mapping = mapping_of(found, *nest);
          const std::string shown = c.kernel + "\n" + text + "\n" + print(mapping, *nest, *unit);
          const Verdict verdict = judge(*nest, *unit, mapping);
          EXPECT_TRUE(verdict.right(mapping.partial)) << verdict.text() << "\n" << shown;
          EXPECT_EQ(execute(*nest, *unit, mapping, static_cast<std::uint64_t>(++run)).problem, "") << shown;
          rolled += found.rolled.empty() ? 0 : 1;
        }
      }
    }
  }
  std::cout << run << " mappings, " << rolled << " of a written-out sum\n";
  EXPECT_GT(rolled, 100);
  EXPECT_GT(run, rolled);
}

}  // namespace
}  // namespace isamap::oracle
