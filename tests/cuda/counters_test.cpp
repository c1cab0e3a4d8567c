// SPDX-License-Identifier: Apache-2.0
// Tiles that a copy engine brings and a counter completes: filled by one of the threads that compute, by threads of
// their own, and in blocks that take turns.

#include <fstream>

#include "tests/cuda/support.h"
#include "tests/searched.h"

namespace isamap {
namespace {

/// Two warpgroups; steps of tiles in three places, edges in every direction.
const char* const by_one = R"(schedule: product
nest:
  - for i by 128 on block tail pad
  - for j by 96 on block tail pad
  - stage C in reg
  - for k by 64 tail pad
  - stage A in shared x3 as [k/64, i, k%64] xor 3 from 7 to 4 via tma_load_b16_sw128
  - stage B in shared x3 as [k/64, j, k%64] xor 3 from 7 to 4 via tma_load_b16_sw128
  - for i by 64 on warpgroup
  - for k by 16 unroll
  - do s0 with wgmma_bf16_kk_sw128(i=i, j=j, k=k)
)";
std::string by_role() { return changed(by_one, "tma_load_b16_sw128", "tma_load_b16_sw128 role loader"); }
std::string in_turns() {
  return changed(by_role(), "  - for i by 128 on block tail pad\n  - for j by 96 on block tail pad\n",
                 "  - for i by 128, j by 96 on block wrap tail pad\n");
}

/// The machine with two processors, so that blocks take many turns.
HardwareModel small_machine() {
  const std::string folder = std::string(ISAMAP_SOURCE_DIR) + "/hardware_models";
  const TemporaryDirectory place;
  const auto path = place.path() / "small.yaml";
  std::ofstream(path) << "hardware: small\nextends: nvidia_sm90a\nunits: [{name: cluster, count: 1}]\n";
  auto loaded = load_hardware(path.string(), {folder});
  EXPECT_TRUE(loaded) << render(loaded.diagnostics());
  return loaded ? loaded->model : HardwareModel{};
}

void tiles_are_right_however_they_arrive(Every every) {
  const auto model = small_machine();
  for (const std::string& schedule : {std::string(by_one), by_role(), in_turns()}) {
    const bool turns = schedule == in_turns();
    const Program made =
        lowered(product("bf16", "f32", turns ? 300 : 130, turns ? 200 : 96, 264, true), schedule, model);
    for (const std::string& how : turns ? deliveries : std::vector<std::string>{"late", "random:1"}) {
      if (every.skips()) continue;
      SCOPED_TRACE(how + schedule);
      const Delivered delivered(how);
      expect_same(made, model, 7);
    }
  }
}

TEST(Counted, TilesAreRightHoweverTheyArrive) { tiles_are_right_however_they_arrive(Every(5)); }
TEST(HeavyCounted, TilesAreRightHoweverTheyArrive) { tiles_are_right_however_they_arrive(Every(1)); }

void sizes_that_do_not_divide(Every every) {
  const auto model = small_machine();
  for (const std::string& schedule : {std::string(by_one), by_role(), in_turns()})
    for (const auto& [m, n, k] : {std::tuple(130, 40, 200), {1, 9, 8}, {257, 97, 64}, {5, 5, 0}, {0, 8, 8}}) {
      if (every.skips()) continue;
      SCOPED_TRACE(schedule + std::to_string(m));
      expect_same(lowered(product("bf16", "f32", m, n, k, true), schedule, model), model, 3);
    }
}

TEST(Counted, SizesThatDoNotDivide) { sizes_that_do_not_divide(Every(7)); }
TEST(HeavyCounted, SizesThatDoNotDivide) { sizes_that_do_not_divide(Every(1)); }

void tiles_in_groups_of_rows(Every every) {
  const auto model = small_machine();
  const std::string grouped = changed(in_turns(), "wrap", "wrap raster grouped(2)"),
                    alone = changed(grouped, "wrap raster", "raster");
  for (const std::string& schedule : {grouped, alone})
    if (!every.skips()) expect_same(lowered(product("bf16", "f32", 500, 280, 72, true), schedule, model), model, 3);
}

TEST(Counted, TilesInGroupsOfRows) { tiles_in_groups_of_rows(Every(2)); }
TEST(HeavyCounted, TilesInGroupsOfRows) { tiles_in_groups_of_rows(Every(1)); }

/// A step of the outer loop continues where the one before stopped.
void sums_over_several_loops_are_counted_on(Every every) {
  const auto model = small_machine();
  const std::string deep =
      changed(in_turns(), "  - for k by 64 tail pad\n", "  - for k by 192 tail pad\n  - for k by 64\n");
  for (const std::int64_t k : {400, 72, 1000})
    if (!every.skips()) expect_same(lowered(product("bf16", "f32", 300, 100, k, true), deep, model), model, 5);
}

TEST(Counted, SumsOverSeveralLoopsAreCountedOn) { sums_over_several_loops_are_counted_on(Every(3)); }
TEST(HeavyCounted, SumsOverSeveralLoopsAreCountedOn) { sums_over_several_loops_are_counted_on(Every(1)); }

void warps_beside_a_role(Every every) {  // which is a further instance of what is around the warps
  const auto model = small_machine();
  const char* const warps = R"(schedule: product
nest:
  - for i by 64, j by 64 on block wrap tail pad
  - stage C in reg
  - for k by 64 tail pad
  - stage A in shared x3 as [k/64, i, k%64] xor 3 from 7 to 4 via tma_load_b16_sw128 role loader
  - stage B in shared x3 as [k/64, j, k%64] xor 3 from 7 to 4 via tma_load_b16_sw128 role loader
  - for i by 16 on warp
  - for k by 16 unroll
  - stage A in reg via ldmatrix_x4
  - stage B in reg via ldmatrix_x2
  - for j by 8 unroll
  - do s0 with mma_bf16(i=i, j=j, k=k)
)";
  for (const auto& [m, n, k] : {std::tuple(150, 200, 136), {64, 64, 64}})
    if (!every.skips()) expect_same(lowered(product("bf16", "f32", m, n, k, true), warps, model), model, 5);
}

TEST(Counted, WarpsBesideARole) { warps_beside_a_role(Every(2)); }
TEST(HeavyCounted, WarpsBesideARole) { warps_beside_a_role(Every(1)); }

TEST(Counted, TurnsThatTheRingDoesNotDivide) {
  const auto model = machine("nvidia_sm90a");
  for (const std::int64_t k : {8192, 8064, 8320}) {
    const Kernel kernel = product("bf16", "f32", 8192, 8192, k, true);
    auto parsed = parse_schedule(in_turns(), "s.yaml", kernel, model);
    ASSERT_TRUE(parsed) << render(parsed.diagnostics());
    const auto made = lower(*parsed, kernel, model);
    EXPECT_TRUE(made) << render(made.diagnostics());
  }
}

TEST(Counted, TheSearchTakesThemForLargeProducts) {
  const auto model = machine("nvidia_sm90a");
  for (const char* type : {"bf16", "f16", "s8"}) {
    SCOPED_TRACE(type);
    const Program made =
        searched(product(type, type == std::string("s8") ? "s32" : "f32", 4096, 4096, 4096, true), model);
    EXPECT_NE(made.schedule_text.find("with wgmma_"), std::string::npos) << made.schedule_text;
    EXPECT_NE(made.schedule_text.find("role loader"), std::string::npos) << made.schedule_text;
    EXPECT_NE(made.schedule_text.find("wrap raster grouped"), std::string::npos) << made.schedule_text;
  }
}

/// A batch of products whose rows are whole tiles.
Kernel batch(std::int64_t b, std::int64_t m, std::int64_t n, std::int64_t k) {
  return kernel_from("kernel: batch\ndims: {B: " + std::to_string(b) + ", M: " + std::to_string(m) +
                     ", N: " + std::to_string(n) + ", K: " + std::to_string(k) +
                     "}\ntensors:\n  X: {shape: [B, M, K], dtype: bf16}\n  Y: {shape: [B, N, K], dtype: bf16}\n"
                     "  Z: {shape: [B, M, N], dtype: f32}\ncompute:\n"
                     "  - Z[b,i,j] += f32(X[b,i,k]) * f32(Y[b,j,k])\n");
}

const char* const batched = R"(schedule: batch
nest:
  - for b by 1, i by 64, j by 40 on block wrap
  - stage Z in reg
  - for k by 64 tail pad
  - stage X in shared x2 as [b, k/64, i, k%64] xor 3 from 7 to 4 via tma_load_b16_sw128 role loader
  - stage Y in shared x2 as [b, k/64, j, k%64] xor 3 from 7 to 4 via tma_load_b16_sw128 role loader
  - for k by 16 unroll
  - do s0 with wgmma_bf16_kk_sw128(i=i, j=j, k=k)
)";

TEST(HeavyCounted, BatchesTakeTurnsToo) {
  const auto model = machine("nvidia_sm90a");
  expect_same(lowered(batch(3, 128, 80, 136), batched, model), model, 5);
  const Program made = searched(batch(8, 2048, 1024, 512), model);
  EXPECT_NE(made.schedule_text.find("via tma_load_b16_sw"), std::string::npos) << made.schedule_text;
  // Rows that tiles do not divide come by other copies: behind the end of one product the next begins.
  const Program uneven = searched(batch(3, 100, 24, 72), model, 150);
  expect_kernel(uneven, model);
  expect_same(uneven, model, 5);
}

TEST(Counted, TheLayoutOfABatchIsNamed) {
  const auto model = machine("nvidia_sm90a");
  const Kernel kernel = batch(3, 128, 80, 128);
  const auto message = [&](const std::string& schedule) {
    const auto parsed = parse_schedule(schedule, "s.yaml", kernel, model);
    return render(parsed ? lower(*parsed, kernel, model).diagnostics() : parsed.diagnostics());
  };
  const std::string deep = changed(changed(batched, "for k by 64", "for k by 128"), "[b, k/64, i, k%64]", "[b, i, k]"),
                    found = message(deep);
  EXPECT_NE(found.find("hint: stage X in shared as [b, k/64, i, k%64] xor 3 from 7 to 4"), std::string::npos) << found;
  const std::string fetched = message(R"(schedule: batch
nest:
  - for b by 1, i by 64, j by 40 on block wrap
  - stage Z in reg
  - for k by 128
  - stage X in shared x2 as [b, i, k pad 8] via tma_load_b16_sw128 role loader
  - stage Y in shared x2 as [b, k/64, j, k%64] xor 3 from 7 to 4 via tma_load_b16_sw128 role loader
  - for i by 16 on warp
  - for k by 16 unroll
  - stage X in reg via ldmatrix_x4
  - stage Y in reg via ldmatrix_x2
  - for j by 8 unroll
  - do s0 with mma_bf16(i=i, j=j, k=k)
)");
  EXPECT_NE(fetched.find("hint: tma_load_b16_sw128 fills rows of 64 as [b, k/64, i, k%64] xor 3 from 7 to 4"),
            std::string::npos)
      << fetched;
}

TEST(Counted, WhatCannotBeCountedIsRefused) {
  const auto model = machine("nvidia_sm90a");
  const auto message = [&](const std::string& schedule, std::int64_t k = 128) {
    const Kernel kernel = product("bf16", "f32", 200, 96, k, true);
    const auto parsed = parse_schedule(schedule, "s.yaml", kernel, model);
    const auto made = parsed ? lower(*parsed, kernel, model) : Result<Program>(parsed.diagnostics());
    return render(made.diagnostics());
  };
  const auto expect = [&](const std::string& found, const std::string& words) {
    EXPECT_NE(found.find(words), std::string::npos) << found;
  };
  expect(message(changed(by_one, " x3", "")),
         "its moves complete by 'phases', which needs a pipelined loop, and this stage has a single buffer");
  expect(message(changed(by_one, "for k by 64 tail pad", "for k by 64 unroll tail pad")), "right above is unrolled");
  expect(message(changed(by_role(), "x3", "x3 ahead 1")),
         "ahead 1 has no effect, as role loader prefetches into all free buffers, 2 here");
  std::string one_role = by_role();
  one_role.replace(one_role.rfind(" role loader"), 12, "");
  expect(message(one_role), "are filled by role loader and no role");
  expect(message(changed(by_one, "for k by 64 tail pad", "for k by 64"), 136), "tail pad");
  expect(message(by_one, 100),
         "neighbours along y of S are 200 bytes apart in A; tma_load_b16_sw128 needs a multiple of 16");
  expect(message(changed(by_role(), "via tma_load_b16_sw128", "via cp_async_16_b16")), "or leave out `role loader`");
  std::string mixed = by_one;
  mixed.replace(mixed.rfind("tma_load_b16_sw128"), 18, "cp_async_16_b16");
  expect(message(mixed), "stages A and B: some of their moves complete by 'phases', others in groups");
  std::string uneven = by_role();
  uneven.replace(uneven.rfind("x3"), 2, "x4");
  expect(message(uneven), "together with stage A, which has x3 ahead 2; this one has x4 ahead 3");
  expect(message(changed(in_turns(), " tail pad", "")), "i has 200 points, which tiles of 128 do not divide");
  expect(message(changed(in_turns(), "wrap", "raster grouped(4)")), "i has 2 steps, which groups of 4 do not divide");
  expect(message(changed(in_turns(), "i by 128, j by 96 on block wrap",
                         "i by 128, j by 32, k by 128 on block raster grouped(2)")),
         "hint: for i by 128 on block, then for j by 32, k by 128 on block raster grouped(2)");
  expect(message(changed(in_turns(), "i by 128, j by 96 on block wrap", "i by 128 on block raster grouped(2)")),
         "hint: write both on it");
  expect(message(changed(in_turns(), "on block wrap", "on warp wrap")), "loop on block");
  expect(message(changed(by_one, "stage C in reg", "stage C in reg role loader")), "fills tiles of inputs");
}

/// Of the text of a kernel between these words every line with `what` is left out.
std::string without(const std::string& text, const std::string& from, const std::string& to, const std::string& what) {
  const std::size_t begin = text.find(from), end = text.find(to, begin);
  EXPECT_NE(end, std::string::npos);
  std::string out = text.substr(0, begin);
  bool found = false;
  for (std::size_t at = begin; at < end;) {
    const std::size_t next = text.find('\n', at) + 1;
    const std::string line = text.substr(at, next - at);
    if (line.find(what) == std::string::npos)
      out += line;
    else
      found = true;
    at = next;
  }
  EXPECT_TRUE(found) << what;
  return out + text.substr(end);
}

class CounterFaults : public ::testing::Test {
 protected:
  inline static HardwareModel model;
  inline static Program made;
  inline static std::optional<TranslationUnit> unit;

  static void SetUpTestSuite() {
    model = small_machine();
    made = lowered(product("bf16", "f32", 300, 40, 264, true), in_turns(), model);
    auto printed = print_cuda(made, model);
    ASSERT_TRUE(printed) << render(printed.diagnostics());
    unit = std::move(*printed);
    ASSERT_TRUE(emulate(unit->text, *unit, made, model).right);
  }
  void expect_found(const std::string& text, const std::string& words) {
    const Emulated found = emulate(text, *unit, made, model);
    EXPECT_EQ(found.code, 3);
    EXPECT_NE(found.output.find(words), std::string::npos) << found.output;
  }
};
const char *const loader = "// loader\n", *const others = "  } else {\n",
                  *const end_of_kernel = "extern \"C\" cudaError_t";

TEST_F(CounterFaults, HeavyAWaitForATileThatIsDropped) {
  expect_found(without(unit->text, others, end_of_kernel, "phases_until("),
               "before the asynchronous copy into it was waited for");
}
TEST_F(CounterFaults, AWaitForAPlaceThatIsDropped) {
  for (const std::string& how : deliveries) {
    SCOPED_TRACE(how);
    const Delivered delivered(how);
    EXPECT_FALSE(emulate(without(unit->text, loader, others, "phases_until("), *unit, made, model).right);
  }
}
TEST_F(CounterFaults, HeavyAPhaseThatIsWrong) {
  for (const std::string& how : deliveries) {
    SCOPED_TRACE(how);
    const Delivered delivered(how);
    EXPECT_FALSE(emulate(changed(unit->text, "emulation::until(at, parity)", "emulation::until(at, 1 - parity)"), *unit,
                         made, model)
                     .right);
  }
}
TEST_F(CounterFaults, HeavyAParityThatIsNone) {  // the machine takes one bit: 2 would be 0 there
  expect_found(changed(unit->text, "emulation::until(at, parity)", "emulation::until(at, parity + 2)"),
               "; a parity is 0 or 1");
}
TEST_F(CounterFaults, HeavyAPlaceThatIsReleasedTooEarly) {
  expect_found(
      changed(unit->text, "wait_groups_together(128, \"products\", 0)", "wait_groups_together(128, \"products\", 1)"),
      "of shared memory");
}
TEST_F(CounterFaults, HeavyBytesThatNobodyAnnounced) {
  expect_found(changed(unit->text, "emulation::expect(at, bytes)", "emulation::expect(at, bytes - 16)"), "counter");
}
TEST_F(CounterFaults, HeavyACounterThatIsUsedBeforeItIsThere) {
  std::string text = unit->text;
  const std::size_t at = text.find("  __syncthreads();\n", text.find("__global__ void"));
  ASSERT_NE(at, std::string::npos);
  expect_found(text.replace(at, 19, ""), "counter at byte");
}
TEST_F(CounterFaults, HeavyAnArrivalTooMany) {
  std::string text = unit->text;
  const std::size_t at = text.rfind("phases_arrive(");
  const std::size_t end = text.find(";\n", at) + 2;
  const std::string line = text.substr(at, end - at);
  const Emulated found = emulate(text.insert(end, line), *unit, made, model);
  EXPECT_EQ(found.code, 3) << found.output;  // too many in a phase, or the next phases come too early
}
TEST_F(CounterFaults, HeavyRowsPermutedOnOneSideOnly) {
  const std::string one = "each(emulation::permuted(";
  EXPECT_FALSE(
      emulate(changed(unit->text, one, "each((([](auto a, int, int, int) { return a; }))("), *unit, made, model).right);
}
TEST_F(CounterFaults, HeavyRowsThatTheHostDescribesInOrder) {
  std::string text = unit->text;
  const std::string described = "_tensormap_box, ";
  const std::size_t at = text.find(described);
  ASSERT_NE(at, std::string::npos);
  text[at + described.size()] = '0';
  expect_found(text, "the host has described a box with 0");
}

}  // namespace
}  // namespace isamap
