// SPDX-License-Identifier: Apache-2.0
// Routes of operands from tensors to instructions, and the reasons for those that are refused.

#include <gtest/gtest.h>

#include "isamap/frontends.h"
#include "isamap/hardware.h"
#include "isamap/mapper.h"
#include "scheduler/nest/lowering_support.h"
#include "scheduler/nest/rerolled_instruction.h"
#include "scheduler/space/operand_routes.h"
#include "tests/every.h"

namespace isamap {
namespace {

std::string text(const Route& route, const HardwareModel& model) {
  std::string out = route.hops.empty() ? "in place" : "";
  for (const Hop& hop : route.hops) {
    out += (out.empty() ? "" : " -> ") + model.memory(hop.memory).name;
    std::string layout;
    for (const LayoutDigit& digit : hop.layout) layout += (layout.empty() ? "" : ", ") + print(digit.index);
    if (!layout.empty()) out += " [" + layout + "]";
  }
  return out;
}

struct FoundRoutes {
  std::vector<std::string> routes, reasons;
};

// Routes of one operand for the first mapping of an instruction.
FoundRoutes find(const std::string& compute, const std::string& dims, const std::string& dtypes,
                 const std::string& machine, const std::string& instruction, int operand) {
  const Kernel kernel = *kernel_from_formula(compute, dims, dtypes);
  const auto loaded = load_hardware(machine, {std::string(ISAMAP_SOURCE_DIR) + "/hardware_models"});
  EXPECT_TRUE(loaded) << render(loaded.diagnostics());
  MapOptions options;
  options.rule = Rule::access;
  options.instruction = instruction;
  const auto mapped = enumerate_mappings(kernel, loaded->model, options);
  EXPECT_TRUE(mapped && !mapped->mappings.empty());
  const Mapping& mapping = mapped->mappings.front();
  const Routes found = routes(kernel, fuse(kernel.statements[0], mapping), mapping, operand, loaded->model);
  FoundRoutes result{{}, found.reasons};
  for (const Route& route : found.routes) result.routes.push_back(text(route, loaded->model));
  return result;
}

using Texts = std::vector<std::string>;

TEST(Routes, RowMajorFactorIsLoadedDirectlyOrFromPanels) {
  const FoundRoutes b = find("C[i,j] += A[i,k] * B[k,j]", "i=5,j=37,k=7", "", "x86_avx512", "fma_f32_bcast", 2);
  ASSERT_EQ(b.routes.size(), 2u);
  EXPECT_EQ(b.routes[0], "vec");
  EXPECT_EQ(b.routes[1], "ram [j/16, k, j%16] -> vec");
  const FoundRoutes a = find("C[i,j] += A[i,k] * B[k,j]", "i=5,j=37,k=7", "", "x86_avx512", "fma_f32_bcast", 1);
  EXPECT_EQ(a.routes.front(), "in place");
}

void mappings_share_only_what_is_theirs(Every every) {
  const Kernel kernel = *kernel_from_formula("O[n,k,p,q] += I[n,c,p+r,q+s] * F[k,c,r,s]",
                                             "n=2,k=5,c=3,p=4,q=18,r=3,s=3", "I=s8,F=s8,O=s32");
  for (const char* machine : {"systolic16", "dot16", "vta16"}) {
    const auto loaded = load_hardware(machine, {std::string(ISAMAP_SOURCE_DIR) + "/hardware_models"});
    ASSERT_TRUE(loaded) << render(loaded.diagnostics());
    const HardwareModel& model = loaded->model;
    const auto mapped = enumerate_mappings(kernel, model, {});
    ASSERT_TRUE(mapped && mapped->mappings.size() > 4) << machine;
    RouteTable table(kernel, model);
    for (const Mapping& mapping : mapped->mappings) {
      if (!not_lowered(mapping, model).empty()) continue;
      if (every.skips()) continue;
      const Computation fused = fuse(kernel.statements[0], mapping);
      for (int operand = 0; operand < access_count(instruction_form(mapping, model)->statement()); ++operand) {
        if (is_constant_operand(mapping, static_cast<std::size_t>(operand))) continue;
        const Routes own = routes(kernel, fused, mapping, operand, model), &shared = table.of(fused, mapping, operand);
        EXPECT_EQ(own.reasons, shared.reasons) << machine;
        ASSERT_EQ(own.routes.size(), shared.routes.size()) << machine;
        for (std::size_t r = 0; r < own.routes.size(); ++r)
          EXPECT_EQ(text(own.routes[r], model), text(shared.routes[r], model)) << machine;
      }
    }
  }
}

TEST(Routes, MappingsShareOnlyWhatIsTheirs) { mappings_share_only_what_is_theirs(Every(7)); }
TEST(HeavyRoutes, MappingsShareOnlyWhatIsTheirs) { mappings_share_only_what_is_theirs(Every(1)); }

TEST(Routes, TransposedFactorMustBePackedAndSaysWhy) {
  const FoundRoutes b = find("C[i,j] += A[i,k] * B[j,k]", "i=5,j=32,k=29", "", "x86_avx512", "fma_f32_bcast", 2);
  EXPECT_EQ(b.routes, (Texts{"ram [j/16, k, j%16] -> vec"}));
  ASSERT_FALSE(b.reasons.empty());
  bool said = false;
  for (const std::string& reason : b.reasons)
    said |= reason == "neighbours along j of S are 29 elements apart in B; load_f32 needs 1";
  EXPECT_TRUE(said) << b.reasons.front();
}

/// Between two steps of 2*p lie elements that other statements write: the copy holds none of them.
TEST(Routes, ACopyOfASpacedOutputHoldsNoPlacesBetween) {
  const FoundRoutes y = find("Y[2*p,2*q] += W[c] * X[c,p,q]", "p=20,q=3,c=7", "", "x86_avx512", "fma_f32_bcast", 0);
  EXPECT_EQ(y.routes, (Texts{"ram [p/16, q, p%16] -> vec"}));
}

TEST(Routes, GroupsOfBytesNeedPanels) {
  const FoundRoutes b =
      find("C[i,j] += A[i,k] * B[k,j]", "i=5,j=32,k=10", "A=u8,B=s8,C=s32", "x86_avx512_vnni", "dpbusd_bcast", 2);
  EXPECT_EQ(b.routes, (Texts{"ram [j/16, k/4, j%16, k%4] -> vec"}));
}

/// A panel has the digits of the operand's layout: 4 neighbours along k, 16 columns, 16 such groups, then the next 64.
TEST(Routes, APanelOfSeveralGroupsIsPackedAsTheTileHasIt) {
  const FoundRoutes b =
      find("C[i,j] += A[i,k] * B[k,j]", "i=37,j=52,k=70", "A=s8,B=s8,C=s32", "intel_amx", "tdpbssd", 2);
  EXPECT_EQ(b.routes, (Texts{"ram [j/16, k/64, k/4%16, j%16, k%4] -> tile"}));
  const FoundRoutes a =
      find("C[i,j] += A[i,k] * B[k,j]", "i=37,j=52,k=70", "A=s8,B=s8,C=s32", "intel_amx", "tdpbssd", 1);
  EXPECT_EQ(a.routes.back(), "ram [i/16, k/64, i%16, k%64] -> tile");
}

}  // namespace
}  // namespace isamap
