// SPDX-License-Identifier: Apache-2.0
// Row strips fused between a producer and a consumer that reduces over them: a depthwise convolution, then a product.

#include "scheduler/strip_fusion.h"

#include "isamap/backend.h"
#include "tests/lowering/support.h"
#include "tests/searched.h"

namespace isamap {
namespace {

/// `between`: "" or a statement E of D, which the product then reads.
Kernel block(int p, int c, int k, const std::string& between = "") {
  const std::string read = between.empty() ? "D" : "E";
  auto kernel = parse_kernel_yaml(
      "kernel: block\ndims: {P: " + std::to_string(p) + ", C: " + std::to_string(c) + ", K: " + std::to_string(k) +
          ", R: 3}\ntensors:\n  I: {shape: [P + 2, P + 2, C], dtype: f32}\n  F: {shape: [R, R, C], dtype: f32, "
          "constant: "
          "true}\n  V: {shape: [C, K], dtype: f32, constant: true}\n  D: {shape: [P, P, C], dtype: f32}\n" +
          (between.empty() ? "" : "  E: {shape: [P, P, C], dtype: f32}\n") +
          "  O: {shape: [P, P, K], dtype: f32}\ncompute:\n"
          "  - {name: dw, compute: \"D[p,q,c] += I[p+r,q+s,c] * F[r,s,c]\"}\n" +
          (between.empty() ? "" : "  - {name: act, compute: \"" + between + "\"}\n") +
          "  - {name: pw, compute: \"O[p,q,k] += " + read + "[p,q,c] * V[c,k]\"}\n",
      "block.yaml");
  EXPECT_TRUE(kernel) << render(kernel.diagnostics());
  return *kernel;
}

using Nests = std::vector<std::vector<std::string>>;

Nests banded(int rows) {
  const std::string by = "for p by " + std::to_string(rows);
  return {{by, "stage D in ram then pw", "for p by 1", "for q by 4", "for c by 16", "stage D in vec", "for r by 1",
           "for s by 1", "stage F in vec", "for q by 1 unroll", "stage I in vec", "do dw with fma_f32(j=c)"},
          {"stage V in ram as [k/32, c, k%32] aot", by, "stage D in ram from dw", "for k by 32", "for p by 1",
           "for q by 5", "stage O in vec", "for c by 1", "stage V in vec", "for q by 1 unroll", "for k by 16 unroll",
           "do pw with fma_f32_bcast(j=k)"}};
}

TEST(RowStrips, AreRightWhateverDivides) {
  for (const auto& [p, c, k] : {std::array{8, 16, 32}, {7, 19, 33}, {1, 1, 1}, {9, 40, 17}, {5, 16, 0}, {6, 0, 20}})
    for (const int rows : {1, 2, 4})
      expect_schedule_right(block(p, c, k), machine("x86_avx512"), schedule_of(banded(rows)));
}

/// Only a strip of D is allocated, not the whole tensor.
TEST(RowStrips, HoldNoMoreThanTheirRows) {
  const auto program = lower(schedule_of(banded(2)), block(8, 32, 32), machine("x86_avx512"));
  ASSERT_TRUE(program) << render(program.diagnostics());
  std::vector<std::int64_t> elements;
  for (const Buffer& buffer : program->buffers) {
    if (buffer.name.rfind("D", 0) != 0 || buffer.slots >= 0 || buffer.role != BufferRole::local) continue;
    std::int64_t count = 1;
    for (const std::int64_t extent : buffer.extents) count *= extent;
    elements.push_back(count);
  }
  EXPECT_NE(std::find(elements.begin(), elements.end(), 2 * 8 * 32), elements.end());
}

TEST(RowStrips, RefusalsSayWhatIsMissing) {
  const auto said = [](const Nests& nests) {
    const auto program = lower(schedule_of(nests), block(8, 32, 32), machine("x86_avx512"));
    return program ? "" : program.diagnostics().front().message;
  };
  Nests parts = banded(2);
  parts[0].insert(parts[0].begin(), "for c by 16");
  parts[1].insert(parts[1].begin() + 1, "for c by 16");
  EXPECT_EQ(said(parts), "'stage D in ram then pw': then pw: it adds up c, and the tile has 16 of its 32 points");
  Nests below = banded(2);
  below[1][3] = "for c by 8";  // above the accumulators
  EXPECT_EQ(said(below), "'stage D in ram from dw': sums of O would be initialized in memory, once for all tiles");
}

/// The search fuses strips if the whole tensor exceeds the caches, also across a statement in between, and not if it
/// fits.
TEST(RowStrips, TheSearchMakesThem) {
  const HardwareModel model = machine("x86_avx512");
  EXPECT_NE(searched(block(112, 32, 64), model).schedule_text.find("stage D in ram then pw"), std::string::npos);
  EXPECT_EQ(searched(block(7, 32, 64), model).schedule_text.find("stage D in ram then"), std::string::npos);
  const std::string text = searched(block(112, 32, 64, "E[a,b,d] = max(D[a,b,d], 0)"), model).schedule_text;
  EXPECT_NE(text.find("stage E in ram then pw"), std::string::npos) << text;
}

void what_the_search_makes_is_right(const std::vector<const char*>& all) {
  const HardwareModel model = machine("x86_avx512");
  for (const char* between : all) {
    const Kernel kernel = block(67, 48, 40, between);
    const Program program = searched(kernel, model);
    auto expected = random_data(kernel, Fill::integers, 3), found = expected;
    interpret(kernel, expected);
    const auto counts = interpret(program, model, found);
    ASSERT_TRUE(counts) << render(counts.diagnostics()) << program.schedule_text;
    EXPECT_EQ(expected.back().bytes, found.back().bytes) << program.schedule_text;
  }
}

TEST(RowStrips, WhatTheSearchMakesIsRight) { what_the_search_makes_is_right({"E[a,b,d] = max(D[a,b,d], 0)"}); }
TEST(HeavyRowStrips, WhatTheSearchMakesIsRight) { what_the_search_makes_is_right({""}); }

}  // namespace
}  // namespace isamap
