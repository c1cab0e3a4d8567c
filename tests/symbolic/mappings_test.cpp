// SPDX-License-Identifier: Apache-2.0
// Mappings that are proved for all sizes: each has to be one of the kernel with numbers for sizes.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "mapper/match/instruction_tree.h"
#include "mapper/symbolic_mappings.h"
#include "tests/symbolic/kernels.h"

namespace isamap {
namespace {

const HardwareModel& vectors_of_16() {
  static const HardwareModel model = machine_of_file("x86_avx512");
  return model;
}

SymbolicMapResult mapped(const SymbolicKernel& kernel) {
  auto found = map_all_sizes(kernel, vectors_of_16(), {});
  EXPECT_TRUE(found) << render(found.diagnostics());
  return found ? std::move(*found) : SymbolicMapResult{};
}

std::set<std::string> printed(const std::vector<Mapping>& mappings, const Kernel& kernel) {
  std::set<std::string> lines;
  for (const Mapping& mapping : mappings) lines.insert(print(mapping, kernel, vectors_of_16()));
  return lines;
}

/// The mappings for all sizes are among those that are found at these.
void expect_proved_at(const SymbolicKernel& symbolic, const SymbolicMapResult& found, const Bindings& sizes) {
  const auto kernel = bind(symbolic, sizes);
  ASSERT_TRUE(kernel);
  const auto there = enumerate_mappings(*kernel, vectors_of_16(), {});
  ASSERT_TRUE(there);
  const std::set<std::string> all = printed(there->mappings, *kernel);
  for (const std::string& line : printed(found.mapped.mappings, found.kernel)) EXPECT_TRUE(all.contains(line)) << line;
}

const std::string biased = R"(kernel: relu
dims: {N: {max: 40}, P: PPP}
tensors: {T: {shape: [N, P]}, B: {shape: [P]}, O: {shape: [N, P]}}
compute:
  - O[n,p] = max(T[n,p] + B[p], 0)
)";

std::string biased_with(const std::string& columns) {
  std::string text = biased;
  return text.replace(text.find("PPP"), 3, columns);
}

TEST(SymbolicMappings, TreesAreProvedForAllSizes) {
  const SymbolicKernel kernel = symbolic_kernel(biased_with("24"));
  const SymbolicMapResult found = mapped(kernel);
  EXPECT_EQ(printed(found.mapped.mappings, found.kernel),
            (std::set<std::string>{"add_f32.relu_f32(j = n) O <- T, B", "add_f32.relu_f32(j = p) O <- T, B",
                                   "add_f32.relu_f32(j = n.p) O <- T, B"}));
  EXPECT_TRUE(found.refused.empty());
  for (const Mapping& mapping : found.mapped.mappings) EXPECT_EQ(mapping.proof, Proof::proved);
  for (const std::int64_t rows : {17, 33, 40}) expect_proved_at(kernel, found, {{"N", rows}});
}

TEST(SymbolicMappings, TreesNeedInnerDigitsOfConstantSize) {
  const SymbolicMapResult found = mapped(symbolic_kernel(biased_with("{max: 50}")));
  EXPECT_EQ(found.mapped.mappings.size(), 2U);
  ASSERT_EQ(found.refused.size(), 1U);
  EXPECT_EQ(found.refused[0].mapping, "add_f32.relu_f32(j = n.p) O <- T, B");
  EXPECT_EQ(found.refused[0].reason, "needs p of constant size; bind it with --sizes P=50");
}

TEST(SymbolicMappings, TreesOfSumsAreProvedForAllSizes) {
  const SymbolicMapResult found = mapped(symbolic_kernel(R"(kernel: sums
dims: {M: {max: 60}, N: {max: 60}}
tensors: {X: {shape: [M, N]}, H: {shape: [M]}, S: {shape: [M]}}
compute:
  - S[i] += exp(X[i,j] - H[i])
)"));
  EXPECT_EQ(printed(found.mapped.mappings, found.kernel),
            std::set<std::string>{"sub_f32.exp_f32.add_into_f32(j = i) S <- X, H"});
}

/// A tree has no copies with a border, so its reads have to lie inside at all sizes, not at the enumerated ones only.
TEST(SymbolicMappings, TreesNeedReadsInsideTheirShapesAtAllSizes) {
  const std::string text = R"(kernel: border
dims: {N: {max: 40, likely: 8}, M: {max: 40, likely: 8}}
tensors: {X: {shape: [M, 24], outside: 0}, Z: {shape: [N, 24]}, Y: {shape: [N, 24]}}
compute:
  - Y[i,k] = (X[i,k] + Z[i,k]) * 2
where: {i: N}
)";
  const SymbolicKernel open = symbolic_kernel(text);
  const SymbolicMapResult refused = mapped(open);
  EXPECT_TRUE(refused.mapped.mappings.empty());
  ASSERT_FALSE(refused.refused.empty());
  EXPECT_NE(refused.refused[0].reason.find("X is read outside, for example at N = 1, M = 0"), std::string::npos)
      << refused.refused[0].reason;
  EXPECT_TRUE(enumerate_mappings(*bind(open, {{"N", 8}, {"M", 4}}), vectors_of_16(), {})->mappings.empty());
  const SymbolicMapResult stated = mapped(symbolic_kernel(text + "facts: ['N <= M']\n"));
  EXPECT_EQ(stated.mapped.mappings.size(), 3U);
  EXPECT_TRUE(stated.refused.empty());
}

}  // namespace
}  // namespace isamap
