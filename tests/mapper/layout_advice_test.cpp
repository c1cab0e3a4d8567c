// SPDX-License-Identifier: Apache-2.0
#include "mapper/advice/layout_advice.h"

#include <gtest/gtest.h>

#include "isamap/frontends.h"
#include "isamap/hardware.h"
#include "mapper/advice/price.h"

namespace isamap::testing {
namespace {

struct Advised {
  std::vector<LayoutAdvice> of(const std::string& compute, const std::string& dims, const std::string& dtypes,
                               const std::string& instruction, std::size_t which = 0) {
    const auto kernel = kernel_from_formula(compute, dims, dtypes);
    EXPECT_TRUE(kernel) << render(kernel.diagnostics());
    MapOptions options;
    options.instruction = instruction;
    const auto mapped = enumerate_mappings(*kernel, model, options);
    EXPECT_TRUE(mapped) << render(mapped.diagnostics());
    EXPECT_GT(mapped->mappings.size(), which);
    return layout_advice(*kernel, model, mapped->mappings[which]);
  }
  HardwareModel model;
};

Advised on(const std::string& name) {
  const auto loaded = load_hardware(name, {ISAMAP_SOURCE_DIR "/hardware_models"});
  EXPECT_TRUE(loaded) << render(loaded.diagnostics());
  return {loaded ? loaded->model : HardwareModel{}};
}

const std::string byte_types = "A=u8,B=s8,C=s32";

TEST(LayoutAdvice, SaysWhichOrderWouldDo) {
  const auto advice =
      on("x86_avx512_vnni").of("C[i,j] += s32(A[i,k]) * s32(B[k,j])", "i=8,j=48,k=64", byte_types, "dpbusd_bcast");
  ASSERT_EQ(advice.size(), 1U);
  EXPECT_EQ(advice[0].operand, "B");
  EXPECT_EQ(advice[0].tensor, "B");
  EXPECT_EQ(advice[0].found, "dpbusd_bcast holds B with k fastest; neighbours along it stand 48 apart in B[k,j]");
  EXPECT_EQ(advice[0].kernel, "store B as B[j,k]");
  EXPECT_EQ(advice[0].hardware, "a variant that holds B with j fastest");
}

TEST(LayoutAdvice, TheOrderItAsksForNeedsNoMore) {
  auto machine = on("x86_avx512_vnni");
  EXPECT_TRUE(machine.of("C[i,j] += s32(A[i,k]) * s32(B[j,k])", "i=8,j=48,k=64", byte_types, "dpbusd_bcast").empty());
  EXPECT_TRUE(on("x86_avx512").of("C[i,j] += A[i,k] * B[k,j]", "i=8,j=48,k=64", "", "fma_f32_bcast").empty());
}

TEST(LayoutAdvice, PaddingHidesNoOrder) {
  const auto advice =
      on("x86_avx512_vnni").of("C[i,j] += s32(A[i,k]) * s32(B[k,j])", "i=8,j=48,k=63", byte_types, "dpbusd_bcast");
  ASSERT_EQ(advice.size(), 1U);
  EXPECT_EQ(advice[0].kernel, "store B as B[j,k]");
}

/// One of the two orders of operands needs no other layout.
TEST(LayoutAdvice, SomeMappingWithNothingToSayIsEnough) {
  auto machine = on("npu16");
  const auto kernel = kernel_from_formula("C[j,i] += s32(A[k,i]) * s32(B[j,k])", "i=32,j=48,k=64", "A=s8,B=s8,C=s32");
  ASSERT_TRUE(kernel);
  const auto mapped = enumerate_mappings(*kernel, machine.model, {});
  ASSERT_TRUE(mapped);
  std::size_t most = 0;
  for (const Mapping& mapping : mapped->mappings)
    most = std::max(most, layout_advice(*kernel, machine.model, mapping).size());
  EXPECT_GT(most, 0U);
  EXPECT_TRUE(least_layout_advice(*kernel, machine.model, mapped->mappings).empty());
}

/// The load of B takes rows of j and leaves columns of k: it asks for nothing.
TEST(LayoutAdvice, ATransposingLoadIsEnough) {
  auto machine = on("cube16");
  const std::string product = "C[i,j] += f32(A[i,k]) * f32(B[k,j])", types = "A=f16,B=f16,C=f32";
  EXPECT_TRUE(machine.of(product, "i=32,j=48,k=64", types, "cube_f16").empty());
  EXPECT_EQ(machine.of("C[i,j] += f32(A[k,i]) * f32(B[k,j])", "i=32,j=48,k=64", types, "cube_f16").size(), 1U)
      << "A has no such load";
}

TEST(LayoutAdvice, ATileOfOtherStepsHasNoVariant) {
  const auto advice = on("outer16").of("C[i,j] += A[i,k] * B[k,j]", "i=32,j=48,k=64", "", "outer_f32");
  ASSERT_EQ(advice.size(), 1U);
  EXPECT_EQ(advice[0].found, "outer_f32 holds A with i fastest; neighbours along it stand 64 apart in A[i,k]");
  EXPECT_EQ(advice[0].kernel, "store A as A[k,i]");
  EXPECT_EQ(advice[0].hardware, "");  // k has one step in a call
}

TEST(LayoutAdvice, IndicesThatMoveTogetherHaveNoOrder) {
  const auto advice = on("outer16").of("C[i,j] += A[i+k,i] * B[k,j]", "i=32,j=48,k=4", "", "outer_f32");
  ASSERT_FALSE(advice.empty());
  EXPECT_EQ(advice[0].kernel, "");
}

}  // namespace
}  // namespace isamap::testing
