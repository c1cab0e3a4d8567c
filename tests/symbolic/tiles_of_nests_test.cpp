// SPDX-License-Identifier: Apache-2.0
// Tiles of sums in lanes and of their parts.

#include "driver/symbolic/tiles_of_nests.h"

#include <gtest/gtest.h>

#include "driver/symbolic/grid_plan.h"
#include "isamap/scheduler.h"
#include "tests/symbolic/kernels.h"

namespace isamap {
namespace {

const std::string transposed = R"(kernel: transposed
dims: {M: {max: 300, likely: 240}, N: {max: 300, likely: 3}, K: {max: 300, likely: 256}}
tensors: {A: {shape: [M, K]}, B: {shape: [N, K]}, C: {shape: [M, N]}}
compute:
  - C[i,j] += A[i,k] * B[j,k]
)";

/// Found at 240 rows and three columns, which it unrolls.
const std::string in_lanes = R"(schedule: transposed
kernel: transposed
target: x86_avx512
lanes: [s0 k 16]
nests:
  -
    - for i by 12
    - stage C_parts in vec
    - for k_round by 1
    - stage B in vec
    - for i by 1 unroll
    - stage A in vec
    - for j by 1 unroll
    - do s0_parts with fma_f32(j=k_lane)
  -
    - for i by 80
    - stage C_parts in ram as [i/80, j, k_lane, i%80]
    - for j by 1
    - stage C in vec
    - for k_lane by 1
    - stage C_parts in vec
    - for i by 16 unroll
    - do s0 with add_into_f32(j=i)
)";

struct Given {
  GridShape shape;
  Schedule schedule;
};

Given given_schedule() {
  const SymbolicKernel kernel = symbolic_kernel(transposed);
  const auto shape = grid_shape(kernel, 0);
  EXPECT_TRUE(shape);
  const auto schedule = parse_schedule(in_lanes, "s.yaml", shape->kernel, machine_of_file("x86_avx512"));
  EXPECT_TRUE(schedule) << render(schedule.diagnostics());
  return {*shape, *schedule};
}

TEST(GridTiles, SumsInLanesHaveTilesOfOneVector) {
  const Given given = given_schedule();
  const HardwareModel model = machine_of_file("x86_avx512");
  const Schedule tiled = with_vector_tiles(given.shape, given.schedule);
  EXPECT_EQ(with_vector_tiles(given.shape, tiled), tiled);
  const std::string text = print(with_common_tiles(given.shape, tiled, model));
  EXPECT_NE(text.find("    - for i by 8\n    - stage C_parts in vec\n"), std::string::npos) << text;
  EXPECT_NE(text.find("    - for i by 16\n    - stage C_parts in ram as [i/16, j, k_lane, i%16]\n"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("unroll", text.find("k_lane by 1")), std::string::npos) << text;
}

/// The loop over columns is inside that over rows, whose copies it uses; one that has such a loop is left as it is.
TEST(GridTiles, UnrolledColumnsOfSumsInLanesAreATile) {
  const Given given = given_schedule();
  const HardwareModel model = machine_of_file("x86_avx512");
  const Schedule tiled = with_tiles_as_found(given.shape, given.schedule, {240, 3, 256}, model);
  EXPECT_EQ(with_tiles_as_found(given.shape, tiled, {240, 3, 256}, model), tiled);
  const std::string text = print(tiled);
  EXPECT_NE(text.find("    - for i by 12\n    - for j by 3\n    - stage C_parts in vec\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("for j by 3", text.find("for j by 3") + 1), std::string::npos) << text;
}

}  // namespace
}  // namespace isamap
