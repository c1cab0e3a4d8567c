// SPDX-License-Identifier: Apache-2.0
// Products of a warpgroup, which read permuted rows of shared memory through descriptors and complete in groups; and
// permuted rows for the products of a warp.

#include "tests/cuda/support.h"
#include "tests/searched.h"

namespace isamap {
namespace {

TEST(Wide, ProductsOfWarpgroupsAreRightHoweverTheyComplete) {
  const auto model = machine("nvidia_sm90a");
  const Program made = lowered(product("bf16", "f32", 200, 104, 136, true), wide_schedule, model);
  for (const std::string& how : deliveries) {
    SCOPED_TRACE(how);
    const Delivered delivered(how);
    expect_same(made, model, 7);
  }
}

void deeper_steps_and_other_rows(Every every) {
  const auto model = machine("nvidia_sm90a");
  const std::string deep = changed(wide_schedule, "for k by 64", "for k by 128"), one_step = changed(deep, " x3", ""),
                    narrow = changed(changed(changed(wide_schedule, "64, ", "32, "), "%64", "%32"), "xor 3", "xor 2");
  const std::string rows_of_64 = changed(narrow, "sw128", "sw64");
  for (const std::string& schedule : {deep, one_step, rows_of_64})
    for (const auto& [m, n, k] : {std::tuple(130, 40, 200), {1, 9, 8}}) {
      if (every.skips()) continue;
      SCOPED_TRACE(schedule + std::to_string(m));
      expect_same(lowered(product("bf16", "f32", m, n, k, true), schedule, model), model, 3);
    }
}

TEST(Wide, DeeperStepsAndOtherRows) { deeper_steps_and_other_rows(Every(6)); }
TEST(HeavyWide, DeeperStepsAndOtherRows) { deeper_steps_and_other_rows(Every(1)); }

void warps_read_permuted_rows(Every every) {
  const auto model = machine("nvidia_sm80");
  std::string permuted = changed(ring_schedule, " pad 8]", "] xor 2 from 7 to 4");
  for (const auto& [m, n, k] : {std::tuple(100, 72, 200), {17, 9, 40}}) {
    if (every.skips()) continue;
    SCOPED_TRACE(m);
    expect_same(lowered(product("bf16", "f32", m, n, k, true), permuted, model), model, 5);
  }
}

TEST(Wide, WarpsReadPermutedRows) { warps_read_permuted_rows(Every(2)); }
TEST(HeavyWide, WarpsReadPermutedRows) { warps_read_permuted_rows(Every(1)); }

TEST(Wide, OtherRowsThanTheInstructionAsksAreRefused) {
  const auto model = machine("nvidia_sm90a");
  const Kernel kernel = product("bf16", "f32", 128, 96, 128, true);
  const auto message = [&](const std::string& schedule) {
    const auto parsed = parse_schedule(schedule, "s.yaml", kernel, model);
    return render(parsed ? lower(*parsed, kernel, model).diagnostics() : parsed.diagnostics());
  };
  EXPECT_NE(message(changed(wide_schedule, " xor 3 from 7 to 4", "")).find("A_shared is not"), std::string::npos)
      << message(changed(wide_schedule, " xor 3 from 7 to 4", ""));
  EXPECT_NE(message(changed(wide_schedule, " xor 3 from 7 to 4", ""))
                .find("hint: stage A in shared as [k/64, i, k%64] xor 3 from 7 to 4"),
            std::string::npos);
  EXPECT_NE(message(changed(wide_schedule, "xor 3", "xor 2")).find("A_shared is swizzled by xor 2 from 7 to 4"),
            std::string::npos);
  EXPECT_NE(message(changed(wide_schedule, "xor 3 from 7 to 4", "xor 3 from 6 to 4")).find("cannot be changed by bits"),
            std::string::npos);
  EXPECT_NE(render(lower(*parse_schedule(changed(wide_schedule, "for k by 64 tail pad", "for k by 64"), "s.yaml",
                                         product("bf16", "f32", 128, 96, 136, true), model),
                         product("bf16", "f32", 128, 96, 136, true), model)
                       .diagnostics())
                .find("would not set the padding of A_shared1 along k to 0; with `tail pad`"),
            std::string::npos);
  EXPECT_NE(message(changed(wide_schedule, "stage C in reg", "stage C in reg xor 3 from 7 to 4"))
                .find("registers have no addresses"),
            std::string::npos);
}

class WideFaults : public ::testing::Test {
 protected:
  HardwareModel model = machine("nvidia_sm90a");
  Program made = lowered(product("bf16", "f32", 200, 104, 264, true), wide_schedule, model);
  Result<TranslationUnit> unit = print_cuda(made, model);

  void SetUp() override {
    ASSERT_TRUE(unit) << render(unit.diagnostics());
    ASSERT_TRUE(emulate(unit->text, *unit, made, model).right);
  }
  Emulated with(const std::string& from, const std::string& to) {
    return emulate(changed(unit->text, from, to), *unit, made, model);
  }
};

TEST_F(WideFaults, HeavyAFenceThatIsDropped) {
  const Emulated found = with("    fence_shared_engine();\n", "");
  EXPECT_EQ(found.code, 3);
  EXPECT_NE(found.output.find("wrote by another path, with no fence since"), std::string::npos) << found.output;
}

TEST_F(WideFaults, HeavyProductsThatAreNotWaitedFor) {
  EXPECT_FALSE(with("wait_groups_together(128, \"products\", 0)", "wait_groups_together(128, \"products\", 1)").right);
}

TEST_F(WideFaults, HeavyRowsPermutedOnOneSideOnly) {
  EXPECT_FALSE(with("emulation::permuted(at[0]->B", "(([](auto a, int, int, int) { return a; }))(at[0]->B").right);
}

TEST_F(WideFaults, ABarrierThatIsDropped) { EXPECT_FALSE(with("    __syncthreads();\n", "").right); }

}  // namespace
}  // namespace isamap
