// SPDX-License-Identifier: Apache-2.0
#include "report/roofline.h"

#include <gtest/gtest.h>

#include "isamap/hardware.h"

namespace isamap {
namespace {

HardwareModel machine_named(const std::string& name) {
  const std::string folder = std::string(ISAMAP_SOURCE_DIR) + "/hardware_models";
  const auto loaded = load_hardware(folder + "/" + name + ".yaml", {folder});
  EXPECT_TRUE(loaded) << render(loaded.diagnostics());
  return loaded->model;
}

TEST(Roofline, TheRoofIsTheFastestInstructionInUseAndTheFastestLink) {
  // 16 rows of A (16x16) times B (16x16) in 16 cycles; 16 bytes a cycle from dram.
  const Roof roof = roof_of(machine_named("systolic16"), {"compute_preloaded", "nobody"});
  EXPECT_EQ(roof.operations, 2 * 16 * 16);
  EXPECT_EQ(roof.instruction, "compute_preloaded");
  EXPECT_EQ(attainable(roof, {"", 2000, 1000}), 32);
  EXPECT_EQ(attainable(roof, {"", 1e6, 1000}), 512);
  EXPECT_EQ(roof_of(machine_named("systolic16"), {}).operations, 0);
}

TEST(Roofline, BytesComeFromTheSmallestMemoryThatHoldsThem) {
  const Roof roof = roof_of(machine_named("x86_avx512"), {"fma_f32"});
  ASSERT_EQ(roof.levels.size(), 3U);
  EXPECT_EQ(attainable(roof, {"", 1e5, 1e5}), 52);  // the second cache holds them, and fills the first
  EXPECT_EQ(attainable(roof, {"", 1e7, 1e7}), 9);
  EXPECT_EQ(attainable(roof, {"", 1e12, 1e12}), 4);
  EXPECT_EQ(attainable(roof, {"", 1e5, 1e3}), roof.operations);
}

TEST(Roofline, PartsHaveTheirShareOfTheRoof) {
  const Roof roof{512, "mma", {{"dma", "dram", 16, 1 << 30}}};
  const std::string page = roofline(roof, {{"conv<1>", 2000, 1000, 125, 100}, {"shape", 0, 10, 0, 0}});
  EXPECT_NE(page.find("conv&lt;1&gt;"), std::string::npos);
  EXPECT_NE(page.find("50 %"), std::string::npos);  // 16 of 32 operations in a cycle
  EXPECT_NE(page.find("62 %"), std::string::npos);
  EXPECT_EQ(page.find("shape"), std::string::npos);
  EXPECT_EQ(roofline(roof, {}), "");
}

}  // namespace
}  // namespace isamap
