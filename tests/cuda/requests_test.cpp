// SPDX-License-Identifier: Apache-2.0
// Requests to the device's memory: how many sectors the lanes of a warp touch by one instruction, and the least.

#include "tests/cuda/requests.h"

namespace isamap {
namespace {

TEST(Requests, NeighboursAreTheLeast) {
  const auto model = machine("nvidia_sm80");
  const auto found =
      requests(program_of("Y[i,j] = X[i,j] * X[i,j]", "{X: {shape: [16, 64]}, Y: {shape: [16, 64]}}", model), model);
  ASSERT_TRUE(found.contains("k_1 X loads"));
  for (const auto& [what, told] : found) EXPECT_EQ(told.sectors, told.least) << what;
  EXPECT_EQ(found.at("k_1 Y stores").sectors, 16 * 64 * 4 / 32);
}

TEST(Requests, LanesThatLoopColumnsTouchASectorEach) {
  const auto model = machine("nvidia_sm80");
  const auto found = requests(program_of("Y[i] = X[i,0]", "{X: {shape: [256, 64]}, Y: {shape: [256]}}", model), model);
  EXPECT_EQ(found.at("k_1 X loads"), (Sectors{8, 8 * 32, 8 * 4}));
  EXPECT_EQ(found.at("k_1 Y stores").sectors, 256 * 4 / 32);
}

TEST(Requests, OneElementForAllLanesIsOneSector) {
  const auto model = machine("nvidia_sm80");
  const auto found = requests(program_of("Y[i] = X[0]", "{X: {shape: [8]}, Y: {shape: [256]}}", model), model);
  EXPECT_EQ(found.at("k_1 X loads"), (Sectors{8, 8, 8}));
}

// Lanes that have nothing to do in an iteration do not join those of another: the round that does not fill comes first.
TEST(Requests, IterationsAreKeptApart) {
  const auto model = machine("nvidia_sm80");
  const Program sums =
      program_of("Y[i] += X[i,j]", "{X: {shape: [1, 100], dtype: s32}, Y: {shape: [1], dtype: s32}}", model);
  auto unit = print_cuda(sums, model);
  ASSERT_TRUE(unit);
  const std::string backwards =
      changed(unit->text, "(loop_number round_3 = 0; round_3 < 4; ++round_3) {",
              "(loop_number back = 0; back < 4; ++back) {\n const long round_3 = (back + 3) % 4;");
  for (const std::string& text : {unit->text, backwards}) {
    long all = 0;
    for (const auto& [what, told] : requests(text, *unit, sums, model))
      if (what.find(" X loads") != std::string::npos) {
        all += told.sectors;
        EXPECT_EQ(told.requests, 4) << what;
        EXPECT_EQ(told.sectors, told.least) << what;
      }
    EXPECT_EQ(all, 13);
  }
}

TEST(Requests, CopiesAndFragmentsAreCounted) {
  const auto model = machine("nvidia_sm80");
  const Program ring = lowered(product("bf16", "f32", 64, 64, 64, true), ring_schedule, model);
  const auto found = requests(ring, model);
  // each tile row of 32 elements is 64 bytes: whole sectors, and all 64 x 64 elements once
  EXPECT_EQ(found.at("product_1 A copies").sectors, 64 * 64 * 2 / 32);
  EXPECT_EQ(found.at("product_1 A copies").least, 64 * 64 * 2 / 32);
  // element (r, 2c + e) of a fragment: a store of eight rows takes every other element of 32 bytes
  EXPECT_EQ(found.at("product_1 C stores").sectors, 2 * 64 * 64 * 4 / 32);
  EXPECT_EQ(found.at("product_1 C stores").least, 64 * 64 * 4 / 32);
}

TEST(Requests, AWorseLoopIsSeen) {  // planted: threads are numbered warp by warp, not lane by lane
  const auto model = machine("nvidia_sm80");
  const Program program =
      program_of("Y[i] = X[i] - Y[i]", "{X: {shape: [256]}, Y: {shape: [256], inout: true}}", model);
  auto unit = print_cuda(program, model);
  ASSERT_TRUE(unit);
  EXPECT_EQ(requests(unit->text, *unit, program, model).at("k_1 X loads"), (Sectors{8, 32, 32}));
  const auto apart = requests(changed(changed(unit->text, "= threadIdx.x / 32;", "= threadIdx.x % 8;"),
                                      "= threadIdx.x % 32;", "= threadIdx.x / 8;"),
                              *unit, program, model);
  EXPECT_EQ(apart.at("k_1 X loads"), (Sectors{8, 64, 32}));
}

TEST(Requests, WithoutATransactionNothingIsSaid) {
  HardwareModel model = machine("nvidia_sm80");
  const Program program = program_of("Y[i] = X[i] * X[i]", "{X: {shape: [64]}, Y: {shape: [64]}}", model);
  auto unit = print_cuda(program, model);
  ASSERT_TRUE(unit);
  EXPECT_TRUE(requests(changed(unit->text, "bytes, {32, ", "bytes, {0, "), *unit, program, model).empty());
}

TEST(Requests, TheProgramTellsThem) {
  const TemporaryDirectory folder;
  const auto said = [&](const std::string& format) {
    const auto ran = run_process({"env", "ISAMAP_EMULATION=late", "ISAMAP_EMULATION_COUNTS=1", ISAMAP_PROGRAM, "run",
                                  "--compute", "Y[i] = X[i] + 1", "--dims", "i=256", "--target", "nvidia_sm80", format},
                                 {120, 0, 0}, folder.path() / "log");
    EXPECT_EQ(ran.exit_code, 0) << ran.output;
    return ran.output;
  };
  const std::string json = said("--json");
  EXPECT_NE(json.find("\"least_sectors\": 32"), std::string::npos) << json;
  EXPECT_NE(json.find("\"access\": \"loads\""), std::string::npos) << json;
  const std::string text = said("--seed=1");
  EXPECT_NE(text.find(": Y: 2 stores in 32 sectors of 32 bytes, at least 32"), std::string::npos) << text;
}

}  // namespace
}  // namespace isamap
