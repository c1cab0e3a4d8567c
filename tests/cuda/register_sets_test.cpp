// SPDX-License-Identifier: Apache-2.0
// Registers of the next step are fetched while those of this one are used.

#include "isamap/cost_model.h"
#include "tests/cuda/support.h"

namespace isamap {
namespace {

std::string with_sets(const std::string& a, const std::string& b, const std::string& deep = "64") {
  return changed(changed(changed(changed(ring_schedule, "for k by 32", "for k by " + deep), "shared x3", "shared x2"),
                         "stage A in reg", "stage A in reg" + a),
                 "stage B in reg", "stage B in reg" + b);
}

void take_turns_along_an_unrolled_loop(Every every) {
  const HardwareModel model = machine("nvidia_sm80");
  for (const auto& [a, b] : {std::pair(" x2", " x2"), {" x3", " x2"}, {" x2", ""}, {" x4", " x3"}})
    for (const std::int64_t k : {200, 8}) {
      if (every.skips()) continue;
      SCOPED_TRACE(std::string(a) + b + " " + std::to_string(k));
      const Program program = lowered(product("bf16", "f32", 100, 72, k, true), with_sets(a, b), model);
      expect_same(program, model, 5);
      const auto sets = std::count_if(program.buffers.begin(), program.buffers.end(),
                                      [](const Buffer& buffer) { return buffer.name.starts_with("A_reg"); });
      EXPECT_EQ(sets, std::string(a) == " x2" ? 2 : std::string(a) == " x3" ? 3 : 4);
    }
}

TEST(RegisterSets, TakeTurnsAlongAnUnrolledLoop) { take_turns_along_an_unrolled_loop(Every(5)); }
TEST(HeavyRegisterSets, TakeTurnsAlongAnUnrolledLoop) { take_turns_along_an_unrolled_loop(Every(1)); }

TEST(RegisterSets, TheNextStepIsFetchedBeforeTheCalls) {
  const HardwareModel model = machine("nvidia_sm80");
  const auto unit =
      print_cuda(lowered(product("bf16", "f32", 128, 128, 256, true), with_sets(" x2", " x2"), model), model);
  ASSERT_TRUE(unit) << render(unit.diagnostics());
  const std::size_t first = unit->text.find("mma_bf16(C_reg"), second = unit->text.find("ldmatrix_x4(A_reg1");
  ASSERT_NE(second, std::string::npos);
  EXPECT_LT(second, first);
}

TEST(RegisterSets, HeavyOneStepNeedsOneSet) {
  const HardwareModel model = machine("nvidia_sm80");
  const Program program = lowered(product("bf16", "f32", 100, 72, 200, true), with_sets(" x2", " x2", "16"), model);
  expect_same(program, model, 5);
}

TEST(RegisterSets, AreCountedWithTheOthers) {  // 8 x 16 fragments of C, 8 of A and 16 of B in two sets: too many
  const HardwareModel model = machine("nvidia_sm80");
  const Kernel kernel = product("bf16", "f32", 128, 128, 256, true);
  const auto cycles = [&](const std::string& text) {
    auto schedule = parse_schedule(text, "s.yaml", kernel, model);
    EXPECT_TRUE(schedule) << render(schedule.diagnostics());
    return make_cost_model_closed_form()->estimate({&kernel, make_id<StatementId>(0), &model, schedule->nests[0]});
  };
  const auto one = cycles(with_sets("", "")), two = cycles(with_sets(" x2", " x2"));
  ASSERT_TRUE(one && two);
  EXPECT_LE(two->cycles, one->cycles);
  const std::string large =
      changed(changed(with_sets(" x2", " x2"), "by 64 on block", "by 128 on block"), "by 32 on warp", "by 64 on warp");
  EXPECT_FALSE(cycles(changed(large, "x2 via", "x8 via")));
}

TEST(RegisterSets, CapacityCountsWhatStandsFreeBetweenRows) {  // 64 x 40 and 64 x 40 of two bytes in 20 places
  const HardwareModel model = machine("nvidia_sm80");
  const Kernel kernel = product("bf16", "f32", 4096, 4096, 4096, true);
  const std::string text =
      changed(changed(ring_schedule, "shared x3", "shared x20"), "B in shared x20", "B in shared x21");
  const auto schedule = parse_schedule(text, "s.yaml", kernel, model);
  ASSERT_TRUE(schedule) << render(schedule.diagnostics());
  const auto cost =
      make_cost_model_closed_form()->estimate({&kernel, make_id<StatementId>(0), &model, schedule->nests[0]});
  ASSERT_FALSE(cost);
  EXPECT_EQ(cost.diagnostics().front().message,
            "memory shared: 209920 bytes needed, 166912 available (A 102400, B 107520)");
  EXPECT_EQ(cost.diagnostics().front().where.line, 8);  // of B, the larger one
}

TEST(RegisterSets, ElsewhereTheyAreRefused) {
  const auto model = machine("nvidia_sm80");
  const Kernel kernel = product("bf16", "f32", 100, 72, 200, true);
  for (const auto& [from, to] :
       {std::pair("for k by 16 unroll", "for k by 16"), {"stage C in reg", "stage C in reg x2"}}) {
    const auto parsed = parse_schedule(changed(with_sets(" x2", " x2"), from, to), "s.yaml", kernel, model);
    ASSERT_FALSE(parsed) << to;
    EXPECT_NE(render(parsed.diagnostics()).find("x2: several sets of registers need an unrolled loop"),
              std::string::npos)
        << render(parsed.diagnostics());
  }
  const auto behind = parse_schedule(with_sets("", " x2"), "s.yaml", kernel, model);
  EXPECT_FALSE(behind);  // A, which has one set, stands between
}

}  // namespace
}  // namespace isamap
