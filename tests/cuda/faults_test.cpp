// SPDX-License-Identifier: Apache-2.0
// Faults planted in printed kernels: the emulation must see every one, in some delivery at least.

#include "tests/cuda/support.h"

namespace isamap {
namespace {

class Faults : public ::testing::Test {
 protected:
  HardwareModel model = machine("nvidia_sm80");
  Program ring = lowered(product("bf16", "f32", 100, 72, 200, true), ring_schedule, model);
  Result<TranslationUnit> unit = print_cuda(ring, model);

  void SetUp() override {
    ASSERT_TRUE(unit) << render(unit.diagnostics());
    ASSERT_TRUE(emulate(unit->text, *unit, ring, model).right);
  }
  Emulated with(const std::string& from, const std::string& to, const std::string& how = "late") {
    const Delivered delivered(how);
    return emulate(changed(unit->text, from, to), *unit, ring, model);
  }
  void expect_report(const Emulated& found, const std::string& words) {
    EXPECT_EQ(found.code, 3);
    EXPECT_NE(found.output.find(words), std::string::npos) << found.output;
  }
};

TEST_F(Faults, AWaitThatIsOneTooWeak) {
  expect_report(with("wait_groups(\"copies\", 1)", "wait_groups(\"copies\", 2)"),
                "before the asynchronous copy into it was waited for");
}

TEST_F(Faults, HeavyAnEagerMachineHidesAWeakWait) {  // which is why copies arrive late by default
  EXPECT_TRUE(with("wait_groups(\"copies\", 1)", "wait_groups(\"copies\", 2)", "eager").right);
}

TEST_F(Faults, ABarrierThatIsDropped) {
  for (const std::string& how : deliveries) {
    SCOPED_TRACE(how);
    expect_report(with("        __syncthreads();\n", "", how),
                  "of shared memory");  // read too early, or written too late
  }
}

TEST_F(Faults, HeavyAGroupThatIsNotCommitted) {
  expect_report(with("        copies_commit();\n", ""), "of shared memory");
}

TEST_F(Faults, HeavyAPaddedRowOnOneSideOnly) {  // rows of 40 are written, rows of 32 are read
  const Emulated found = with("(40*((threadIdx.x % 32)%16)", "(32*((threadIdx.x % 32)%16)");
  EXPECT_FALSE(found.right);
}

TEST_F(Faults, HeavyAPlaceInTheRingThatIsFilledTooEarly) {  // two places where three are needed
  for (const std::string& how : deliveries) {
    SCOPED_TRACE(how);
    EXPECT_FALSE(with("2552*k6 - 7656*((k6 + 2)/3) + 5104", "2552*k6 - 7656*((k6 + 1)/3) + 2552", how).right);
  }
}

TEST_F(Faults, HeavyAFragmentOfAnotherWarp) {
  EXPECT_FALSE(with("const long j8 = (threadIdx.x / 32) % 2;", "const long j8 = 0;").right);
}

TEST_F(Faults, LanesThatPart) {
  const std::size_t at = unit->text.find("mma_bf16(C_reg_0_0");
  ASSERT_NE(at, std::string::npos);
  const std::size_t end = unit->text.find(';', at);
  const std::string call = unit->text.substr(at, end - at + 1);
  const Emulated found = with(call, "if (threadIdx.x % 2 == 0) { " + call + " }");
  EXPECT_EQ(found.code, 3);
  EXPECT_TRUE(found.output.find("have parted") != std::string::npos ||
              found.output.find("stands still") != std::string::npos)
      << found.output;
}

TEST_F(Faults, HeavyAnAddressThatIsNotAligned) {
  expect_report(with("ldmatrix_x4(A_reg_0, uint32_t(__cvta_generic_to_shared((",
                     "ldmatrix_x4(A_reg_0, uint32_t(__cvta_generic_to_shared((4 + "),
                "no multiple of 16");
}

TEST_F(Faults, AreThoseOfAKernel) {
  expect_report(with("wait_groups(\"copies\", 1)", "wait_groups(\"copies\", 2)"), "emulation of product_1, block 0");
  const std::string launch = unit->text.substr(unit->text.rfind("  ISAMAP_LAUNCH(product_1"));
  const std::string line = launch.substr(0, launch.find('\n') + 1);
  std::string twice = changed(unit->text, line, line + changed(line, "C);", "(C + (1L << 50)));"));
  const Emulated outside = emulate(twice, *unit, ring, model);
  EXPECT_NE(outside.code, 0);
  EXPECT_NE(outside.output.find("emulation of product_1, launch 2, block 0, thread "), std::string::npos)
      << outside.output;
}

}  // namespace
}  // namespace isamap
