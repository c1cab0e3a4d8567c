// SPDX-License-Identifier: Apache-2.0
// `x2`: tiles that follow one another lie in two buffers in turn. The result is the same everywhere, and where queues
// run apart the next tile arrives while this one is used.

#include <gtest/gtest.h>

#include "isamap/backend.h"
#include "isamap/scheduler.h"
#include "tests/conformance/matrix.h"

namespace isamap::conformance {
namespace {

struct Ran {
  std::string difference;  ///< from the interpreter
  std::int64_t cycles = 0;
};

Ran run(const Program& program, const Kernel& kernel, const HardwareModel& model) {
  auto expected = random_data(kernel, Fill::integers, 9), found = expected;
  interpret(kernel, expected);
  const auto outcome = make_runner(model)->run(program, found, RunLimits{}, 0);
  if (!outcome) return {render(outcome.diagnostics()), 0};
  return {compare(kernel, expected, found).first_difference, static_cast<std::int64_t>(outcome->cycles)};
}

/// Every tile in an addressed memory twice.
Schedule doubled(Schedule schedule) {
  for (Nest& nest : schedule.nests)
    for (Line& line : nest.lines)
      if (auto* stage = std::get_if<Stage>(&line.is); stage && !stage->ahead_of_time) stage->buffers = 2;
  return schedule;
}

class Turns : public testing::TestWithParam<std::string> {};

TEST_P(Turns, TwoBuffersGiveTheSame) {
  const HardwareModel model = load_model(GetParam());
  int doubles = 0;
  for (const Kernel& kernel : {gemm_s8(20, 33, 40), gemm_s8(64, 64, 64)}) {
    const Compiled compiled = compile(kernel, model);
    ASSERT_TRUE(compiled.program) << compiled.problem;
    const auto program = lower(doubled(compiled.scheduled->schedule), kernel, model, DoLines::proved);
    if (!program) continue;  // no room
    const Ran two = run(*program, kernel, model);
    EXPECT_EQ(two.difference, "");
    EXPECT_EQ(interpreted_difference(*program, model, Fill::integers, 5), "");
    ++doubles;
  }
  EXPECT_GT(doubles, 0);
}
INSTANTIATE_TEST_SUITE_P(Model, Turns, testing::ValuesIn(accelerator_names()), [](const auto& of) { return of.param; });

TEST(TurnsOfQueues, TheNextTileArrivesWhileThisOneIsUsed) {
  const HardwareModel model = load_model("vta16");
  const Kernel kernel = gemm_s8(96, 32, 150);  // short tiles at the ends of both loops
  const auto cycles = [&](const std::string& buffers) {
    const auto schedule = parse_schedule("schedule: turns\nkernel: " + kernel.name + R"(
target: vta16
nest:
  - stage B in dram as [j/16, k/16, j%16, k%16]
  - for i by 40
  - stage C in acc as [j/16, i, j%16]
  - for k by 32
  - stage A in inp )" + buffers + R"( as [k/16, i, k%16]
  - stage B in wgt )" + buffers + R"( as [j/16, k/16, j%16, k%16]
  - for j by 16
  - for k by 16
  - do s0 with gemm(e=i, j=j, k=k)
)",
                                         "turns", kernel, model);
    EXPECT_TRUE(schedule) << render(schedule.diagnostics());
    const auto program = lower(*schedule, kernel, model, DoLines::proved);
    EXPECT_TRUE(program) << render(program.diagnostics());
    const Ran ran = run(*program, kernel, model);
    EXPECT_EQ(ran.difference, "") << buffers;
    return ran.cycles;
  };
  const std::int64_t one = cycles(""), two = cycles("x2"), three = cycles("x3");
  EXPECT_LT(two, one);
  EXPECT_LE(three, two);
}

}  // namespace
}  // namespace isamap::conformance
