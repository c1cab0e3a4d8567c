// SPDX-License-Identifier: Apache-2.0
// Products of few columns: sums in lanes of a factor that is transposed into a copy, which rows of all tiles share.

#include <gtest/gtest.h>

#include "driver/symbolic/grid_builder.h"
#include "driver/symbolic/grid_plan.h"
#include "isamap/compile.h"
#include "isamap/scheduler.h"
#include "tests/symbolic/kernels.h"

namespace isamap {
namespace {

/// No argument but the copy has columns in the loops over sums: these walk them by the copy alone.
const char* const columns_of_a_copy = R"(schedule: gemm
kernel: gemm
target: x86_avx512
lanes: [s0 k 16]
nests:
  -
    - stage B in ram as [k_lane/16, j/4, k_round, j%4, k_lane%16]
    - for i by 4
    - for j by 4
    - stage C_parts in vec
    - for k_round by 1
    - stage B in vec
    - for i by 1 unroll
    - stage A in vec
    - for j by 1 unroll
    - do s0_parts with fma_f32(j=k_lane)
  -
    - for i by 16
    - stage C_parts in ram as [i/16, j, k_lane, i%16]
    - for j by 4
    - stage C in ram as [i/16, j, i%16]
    - stage C in vec
    - for k_lane by 1
    - stage C_parts in vec
    - for j by 1 unroll
    - do s0 with add_into_f32(j=i)
)";

const HardwareModel& wide_machine() {
  static const HardwareModel model = machine_of_file("x86_avx512");
  return model;
}

const SymbolicCompilation& few_columns_grid() {
  static const SymbolicCompilation compiled = [] {
    const SymbolicKernel kernel = symbolic_kernel(symbolic_product);
    const auto bound = isamap::bind(kernel, {{"M", 64}, {"N", 8}, {"K", 64}});
    const auto schedule = parse_schedule(columns_of_a_copy, "s.yaml", *bound, wide_machine());
    EXPECT_TRUE(schedule) << render(schedule.diagnostics());
    CompileOptions options;
    if (schedule) options.hand_written = *schedule;
    return compile_symbolic(kernel, wide_machine(), options);
  }();
  return compiled;
}

TEST(FewColumns, AreWalkedByTheirCopy) {
  const SymbolicCompilation& compiled = few_columns_grid();
  ASSERT_TRUE(compiled.program) << render(compiled.problems);
  EXPECT_EQ(compiled.program->grids[0].schedule.lanes.size(), 1U);
  if (availability(wide_machine()).how != ExecutionMode::native) GTEST_SKIP() << availability(wide_machine()).why;
  const SymbolicKernel kernel = symbolic_kernel(symbolic_product);
  const auto runner = make_symbolic_runner(*compiled.program, wide_machine());
  for (const std::int64_t m : {0, 1, 5, 16, 23, 64})
    for (const std::int64_t n : {0, 1, 3, 4, 9})
      for (const std::int64_t k : {0, 1, 15, 16, 33}) {
        const auto checked = run_at(*runner, kernel, {{"M", m}, {"N", n}, {"K", k}}, ExecutionMode::native);
        ASSERT_TRUE(checked) << render(checked.diagnostics());
        EXPECT_TRUE(checked->correct) << m << " " << n << " " << k << ": " << checked->first_difference;
      }
  EXPECT_EQ(runner->compilations(), 1);
}

/// As a search finds it at four columns, which it unrolls.
TEST(FewColumns, HaveTilesAsTheyWereFound) {
  const SymbolicKernel kernel = symbolic_kernel(symbolic_product);
  const auto shape = grid_shape(kernel, 0);
  ASSERT_TRUE(shape);
  std::string unrolled = columns_of_a_copy;
  const std::string loop = "    - for j by 4\n";
  unrolled.erase(unrolled.find(loop), loop.size());
  const auto bound = isamap::bind(kernel, {{"M", 64}, {"N", 4}, {"K", 64}});
  const auto found = parse_schedule(unrolled, "s.yaml", *bound, wide_machine());
  const auto tiled = parse_schedule(columns_of_a_copy, "s.yaml", *bound, wide_machine());
  ASSERT_TRUE(found && tiled);
  EXPECT_EQ(with_tiles_as_found(*shape, *found, {64, 4, 64}, wide_machine()), *tiled);
}

/// 20 rows are tiles of 16 and of 4, by schedules that begin with the same copy.
TEST(FewColumns, TheirCopyIsPricedOnce) {
  const SymbolicCompilation& compiled = few_columns_grid();
  ASSERT_TRUE(compiled.program) << render(compiled.problems);
  const Grid& grid = compiled.program->grids[0];
  BlockCosts costs(wide_machine(), CompileOptions{}.schedule.costs);
  const auto cycles = [&](std::int64_t rows) {
    const auto cost = cost_of(grid, costs, {{"M", rows}, {"N", 8}, {"K", 256}});
    EXPECT_TRUE(cost) << rows;
    return cost ? cost->cycles : 0;
  };
  EXPECT_LT(cycles(20), 0.9 * (cycles(16) + cycles(4)));
  EXPECT_GT(cycles(20), cycles(16));
}

}  // namespace
}  // namespace isamap
