// SPDX-License-Identifier: Apache-2.0
// Instructions that read one operand through several accesses: two reads of one slot must get one element.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "isamap/mapper.h"
#include "tests/every.h"
#include "tests/mapper/cases.h"

namespace isamap::testing {
namespace {

constexpr std::int64_t n_extent = 12, o_extent = 3;

/// By definition: X[a*n + b] and X[c*n + d] in the slots p*o + q and r*o + s, n = 3*call + o, and exchanged.
bool fits(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d, std::int64_t p, std::int64_t q,
          std::int64_t r, std::int64_t s) {
  for (std::int64_t call = 0; call < n_extent / o_extent; ++call) {
    std::map<std::int64_t, std::int64_t> held;
    const auto put = [&](std::int64_t slot, std::int64_t element) {
      return held.emplace(slot, element).first->second == element;
    };
    for (std::int64_t o = 0; o < o_extent; ++o) {
      const std::int64_t n = o_extent * call + o;
      if (!put(p * o + q, a * n + b) || !put(r * o + s, c * n + d)) return false;
    }
  }
  return true;
}

/// Windows of two reads against pairs of reads.
void mappings_are_those_that_fit(Every every) {
  int right = 0, wrong = 0;
  for (int unit = 0; unit < 36; ++unit) {
    const std::int64_t p = unit % 3, q = unit / 3 % 2, r = unit / 6 % 3, s = unit / 18;
    if (p == 0 && r == 0) continue;  // o would be in the output only
    const Instruction window =
        instruction_of(fmt::format("C[o] = A[{}*o + {}] + A[{}*o + {}]", p, q, r, s), {{"o", o_extent}});
    for (int kernel_number = 0; kernel_number < 36; ++kernel_number) {
      const std::int64_t a = kernel_number % 3, b = kernel_number / 3 % 2, c = kernel_number / 6 % 3,
                         d = kernel_number / 18 * 2;
      if (every.skips()) continue;
      const Kernel kernel = kernel_of(fmt::format("O[n] = X[{}*n + {}] + X[{}*n + {}]", a, b, c, d), {{"n", n_extent}});
      const bool expected = fits(a, b, c, d, p, q, r, s) || fits(c, d, a, b, p, q, r, s);
      bool found = false;
      for (const Mapping& mapping : map_one(kernel, window, Rule::full).mappings)
        found = found || (mapping.dims[0].size() == 1 && mapping.dims[0][0].extent == n_extent);
      EXPECT_EQ(found, expected) << print(window) << "\n" << print(kernel);
      (expected ? right : wrong)++;
    }
  }
  EXPECT_GT(right, every.share(50));
  EXPECT_GT(wrong, every.share(500));
}

TEST(SharedOperand, MappingsAreThoseThatFit) { mappings_are_those_that_fit(Every(5)); }
TEST(HeavySharedOperand, MappingsAreThoseThatFit) { mappings_are_those_that_fit(Every(1)); }

TEST(SharedOperand, TwoTensorsShareNoSlot) {
  const Kernel sum = kernel_of("O[n] = X[n] + Y[n]", {{"n", n_extent}});
  const PairMappings window = map_one(sum, instruction_of("C[o] = A[o] + A[o + 1]", {{"o", o_extent}}), Rule::full);
  EXPECT_TRUE(window.mappings.empty());
  ASSERT_FALSE(window.reasons.empty());
  EXPECT_NE(window.reasons[0].text.find("the instruction reads one operand in several ways"), std::string::npos);
  EXPECT_FALSE(map_one(sum, instruction_of("C[o] = A[o,0] + A[o,1]", {{"o", o_extent}}), Rule::full).mappings.empty());
}

}  // namespace
}  // namespace isamap::testing
