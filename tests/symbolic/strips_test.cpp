// SPDX-License-Identifier: Apache-2.0
// Statements that run strip by strip, inner zones of padded tensors, and schedules found at one size that become grids.

#include <gtest/gtest.h>

#include "backends/compiled_runner.h"
#include "driver/execute.h"
#include "driver/symbolic/grid_plan.h"
#include "driver/symbolic/tiles_of_nests.h"
#include "hwdesc/model/one_thread.h"
#include "isamap/compile.h"
#include "isamap/program_on_machine.h"
#include "isamap/schedule.h"
#include "isamap/scheduler.h"
#include "program/padding_zones.h"
#include "program/strip_groups.h"
#include "tests/every.h"
#include "tests/symbolic/kernels.h"

namespace isamap {
namespace {

const HardwareModel& strips_machine() {
  static const HardwareModel model = machine_of_file("x86_avx2");
  return model;
}

const std::string norm_of_rows = R"(kernel: norm
dims: {M: {max: 90, likely: 24}, N: {min: 1, max: 200, likely: 64}}
tensors: {X: {shape: [M, N]}, S: {shape: [M]}, D: {shape: [M, N]}, V: {shape: [M]}, Y: {shape: [M, N]}}
compute:
  - S[i] += X[i,j]
  - D[i,j] = X[i,j] - 0.02 * S[i]
  - V[i] += D[i,j] * D[i,j]
  - Y[i,j] = D[i,j] * V[i]
)";
const std::string biased_convolution = R"(kernel: biased
dims: {N: {max: 4, likely: 2}, H: {max: 60, likely: 14}, W: {max: 60, likely: 14}}
tensors: {I: {shape: [N, 3, H, W], outside: 0}, F: {shape: [5, 3, 3, 3]}, B: {shape: [5]}, T: {shape: [N, 5, H, W]},
  O: {shape: [N, 5, H, W]}}
compute:
  - T[n,k,p,q] += I[n,c,p+r-1,q+s-1] * F[k,c,r,s]
  - O[n,k,p,q] = max(T[n,k,p,q] + B[k], 0)
)";

SymbolicCompilation compile_strips(const std::string& text) {
  CompileOptions options;
  options.schedule.max_evaluations = 60;
  SymbolicCompilation result = compile_symbolic(symbolic_kernel(text), strips_machine(), options);
  EXPECT_TRUE(result.program) << render(result.problems);
  return result;
}

/// The grids of statements, without blocks.
std::vector<Grid> shapes_only(const SymbolicKernel& kernel) {
  std::vector<Grid> grids;
  for (std::size_t s = 0; s < kernel.sample.statements.size(); ++s) {
    auto shape = grid_shape(kernel, s);
    EXPECT_TRUE(shape) << render(shape.diagnostics());
    if (!shape) return {};
    grids.emplace_back().shape = std::move(*shape);
    for (GridAxis& axis : grids.back().shape.axes) axis.runs = {{8, 0, 0}, {1, 0, 0}};
  }
  return grids;
}

std::vector<StripGroup> groups_of(const std::string& text) {
  const SymbolicKernel kernel = symbolic_kernel(text);
  const std::vector<Grid> grids = shapes_only(kernel);
  std::vector<const Grid*> all;
  for (const Grid& grid : grids) all.push_back(&grid);
  return strip_groups(kernel, all);
}

TEST(Strips, RowsOfANormAreOneGroup) {
  const auto groups = groups_of(norm_of_rows);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].count, 4u);
  EXPECT_EQ(print(groups[0].extent), "M");
  EXPECT_EQ(groups[0].local.size(), 3u);
  EXPECT_EQ(groups[0].tile, 8);
  EXPECT_EQ(groups[0].part, 1);  // no row is used twice
}

TEST(Strips, AConsumerOfOtherRowsJoinsNone) {
  const std::string head =
      "kernel: k\ndims: {M: {max: 90}, N: {max: 90}, P: \"M + 1\"}\n"
      "tensors: {X: {shape: [P, N]}, T: {shape: [P, N]}, Y: {shape: [M, N]}, S: {shape: [N]}}\ncompute:\n"
      "  - T[i,j] = X[i,j] * 2\n";
  const auto moved = groups_of(head + "  - Y[i,j] = T[i+1,j]\n  - S[j] += Y[i,j]\n");
  std::string shown;  // columns may be cut into strips, rows never
  for (const StripGroup& group : moved)
    shown += std::to_string(group.count) + (group.count > 1 ? " by " + print(group.extent) : "") + ";";
  EXPECT_EQ(moved[0].part, moved[0].tile);  // columns are neighbours in memory
  EXPECT_EQ(shown, "3 by N;");
  const auto sum = groups_of(
      "kernel: k\ndims: {M: {max: 90}}\ntensors: {X: {shape: [M, 4]}, T: {shape: [M, 4]}, S: {shape: [4]}}\ncompute:\n"
      "  - T[i,j] = X[i,j] * 2\n  - S[j] += T[i,j]\n");
  EXPECT_EQ(sum.size(), 2u);
}

TEST(Strips, WeightsAreUsedOftenInEach) {
  const auto groups = groups_of(
      "kernel: k\ndims: {M: {max: 900, likely: 100}, N: {max: 900, likely: 256}, K: 256}\n"
      "tensors: {A: {shape: [M, K]}, B: {shape: [K, N]}, T: {shape: [M, N]}, Y: {shape: [M, N]}}\ncompute:\n"
      "  - T[i,j] += A[i,k] * B[k,j]\n  - Y[i,j] = max(T[i,j], 0)\n");
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].least, 128);
  EXPECT_EQ(groups[0].part, groups[0].tile);
}

void run_strips(const std::string& text, const std::vector<Bindings>& all) {
  if (availability(strips_machine()).how != ExecutionMode::native) GTEST_SKIP() << availability(strips_machine()).why;
  const SymbolicKernel kernel = symbolic_kernel(text);
  const SymbolicCompilation compiled = compile_strips(text);
  ASSERT_TRUE(compiled.program);
  const auto runner = make_symbolic_runner(*compiled.program, strips_machine());
  for (const Bindings& sizes : all) {
    std::string shown;
    for (const auto& [name, value] : sizes) shown += name + " = " + std::to_string(value) + " ";
    const auto checked = run_at(*runner, kernel, sizes, ExecutionMode::native);
    ASSERT_TRUE(checked) << shown << "\n" << render(checked.diagnostics());
    EXPECT_TRUE(checked->correct) << shown << checked->first_difference;
  }
}

void run_at_many_sizes(Every every) {
  std::vector<Bindings> sizes;
  for (const std::int64_t m : {0, 1, 8, 61})
    for (const std::int64_t n : {1, 16, 31, 199})
      if (!every.skips()) sizes.push_back({{"M", m}, {"N", n}});
  run_strips(norm_of_rows, sizes);
}
TEST(Strips, RunAtManySizes) { run_at_many_sizes(Every(3)); }
TEST(HeavyStrips, RunAtManySizes) { run_at_many_sizes(Every(1)); }

void run_behind_a_convolution(Every every) {
  std::vector<Bindings> sizes;
  for (const std::int64_t n : {0, 2})
    for (const std::int64_t h : {0, 1, 3, 15})
      for (const std::int64_t w : {0, 2, 17})
        if (!every.skips()) sizes.push_back({{"N", n}, {"H", h}, {"W", w}});
  run_strips(biased_convolution, sizes);
}
TEST(Strips, RunBehindAConvolution) { run_behind_a_convolution(Every(5)); }
TEST(HeavyStrips, RunBehindAConvolution) { run_behind_a_convolution(Every(1)); }

/// Positions of the inner zone read inside the tensor, and the ones around it do not.
TEST(PaddingZones, AreAsWideAsReadsAllow) {
  for (const int stride : {1, 2}) {
    const std::string p = stride == 1 ? "P: \"H\"" : "P: \"(H - 1)/2 + 1\"";
    const SymbolicKernel kernel = symbolic_kernel(
        "kernel: k\ndims: {H: {max: 60, likely: 15}, " + p +
        "}\ntensors: {I: {shape: [H, 20], outside: 0}, F: {shape: [5, 20]}, O: {shape: [P, 20]}}\ncompute:\n"
        "  - O[p,c] += I[" +
        std::to_string(stride) + "*p+r-2,c] * F[r,c]\n");
    const std::vector<Grid> grids = shapes_only(kernel);
    ASSERT_EQ(grids.size(), 1u);
    const auto zones = padding_zones(grids[0].shape, kernel);
    ASSERT_TRUE(zones);
    const InnerZone& zone = zones->axes.at(0);
    EXPECT_EQ(zone.span, 4);
    for (std::int64_t h = 0; h <= 12; ++h) {
      const std::int64_t positions = evaluate(grids[0].shape.axes[0].extent, {{"H", h}});
      const std::int64_t end = evaluate(zone.end, {{"H", h}});
      for (std::int64_t at = 0; at < positions; ++at) {
        const bool inside = stride * at - 2 >= 0 && stride * at + 2 < h;
        EXPECT_EQ(inside, zone.first <= at && at < end) << h << " " << at << " " << stride;
      }
    }
  }
}

TEST(PaddingZones, AreNoneWhereElementsHaveManyUses) {
  const SymbolicKernel kernel = symbolic_kernel(
      "kernel: k\ndims: {H: {max: 60, likely: 15}}\n"
      "tensors: {I: {shape: [H, 20], outside: 0}, F: {shape: [3, 20, 64]}, O: {shape: [H, 64]}}\ncompute:\n"
      "  - O[p,k] += I[p+r-1,c] * F[r,c,k]\n");
  EXPECT_FALSE(padding_zones(shapes_only(kernel)[0].shape, kernel));
}

TEST(GridPlans, RowsAndLanesBecomeRows) {
  const SymbolicKernel kernel = symbolic_kernel(norm_of_rows);
  const auto shape = grid_shape(kernel, 0);
  ASSERT_TRUE(shape);
  const auto schedule = parse_schedule(
      "schedule: norm\nkernel: norm\ntarget: x86_avx2\nlanes: [s0 j 8]\nnests:\n  -\n    - for i.j_lane by 32\n"
      "    - stage S_parts in vec\n    - for j_round by 1\n    - stage X in vec\n    - for i.j_lane by 8 unroll\n"
      "    - do s0_parts with add_into_f32(j=i.j_lane)\n  -\n    - for i by 1\n    - for j_lane by 1\n"
      "    - do s0 with scalar\n",
      "s.yaml", shape->kernel, strips_machine());
  ASSERT_TRUE(schedule) << render(schedule.diagnostics());
  const std::string text = print(with_separate_lanes(*schedule));
  EXPECT_NE(text.find("- for i by 4\n"), std::string::npos) << text;
  EXPECT_NE(text.find("- for i by 1 unroll\n"), std::string::npos) << text;
  EXPECT_NE(text.find("(j=j_lane)\n"), std::string::npos) << text;
  EXPECT_FALSE(has_errors(verify(with_separate_lanes(*schedule), shape->kernel, strips_machine())));
}

/// Sums in lanes of 6 rows and their combination for 16 rows would walk 48 rows together, and leave 47 numbers of them.
TEST(GridPlans, TilesOfNestsDivideEachOther) {
  const SymbolicKernel kernel = symbolic_kernel(
      "kernel: product\ndims: {M: {max: 3000, likely: 256}, N: {max: 3000, likely: 256}, K: {max: 3000, likely: 256}}\n"
      "tensors: {A: {shape: [M, K]}, B: {shape: [N, K]}, C: {shape: [M, N]}}\n"
      "compute: ['C[i,j] += A[i,k] * B[j,k]']\n");
  const auto machine = load_hardware("x86_zen4", {ISAMAP_SOURCE_DIR "/hardware_models"});
  ASSERT_TRUE(machine) << render(machine.diagnostics());
  const auto shape = grid_shape(kernel, 0);
  ASSERT_TRUE(shape);
  const auto schedule = parse_schedule(
      "schedule: product\nkernel: product\ntarget: x86_zen4\nlanes: [s0 k 16]\nnests:\n  -\n    - for i by 6\n"
      "    - for j by 4\n    - stage C_parts in vec\n    - for k_round by 1\n    - stage B in vec\n"
      "    - for i by 1 unroll\n    - stage A in vec\n    - for j by 1 unroll\n    - do s0_parts with "
      "fma_f32(j=k_lane)\n"
      "  -\n    - for i by 16\n    - stage C_parts in ram as [i/16, j, k_lane, i%16]\n    - for j by 4\n"
      "    - stage C in ram as [i/16, j, i%16]\n    - stage C in vec\n    - for k_lane by 1\n    - stage C_parts in "
      "vec\n"
      "    - for j by 1 unroll\n    - do s0 with add_into_f32(j=i)\n",
      "s.yaml", shape->kernel, machine->model);
  ASSERT_TRUE(schedule) << render(schedule.diagnostics());
  const Schedule common = with_common_tiles(*shape, *schedule, machine->model);
  EXPECT_NE(print(common).find("- for i by 4\n"), std::string::npos) << print(common);
  EXPECT_NE(print(common).find("- for i by 16\n"), std::string::npos) << print(common);
  EXPECT_EQ(with_common_tiles(*shape, common, machine->model), common);
  const CompileOptions options;
  LoweredBlocks lowered(machine->model, options);
  const auto first_tile = [&](const Schedule& one) {
    const GridSchedules schedules{one, {one}, {}, one};
    const auto grid = expected_grid(*shape, lowered, schedules, {});
    return grid ? grid->shape.axes[0].runs.front().tile : 0;
  };
  EXPECT_EQ(first_tile(*schedule), 48);
  EXPECT_EQ(first_tile(common), 16);
}

/// A schedule that is searched for several cores has loops over them, which no grid has: its cells are distributed.
/// Columns of an output are written back element by element, rows in vectors.
TEST(GridPlans, TilesOfCopiedOutputsGoAlongRows) {
  const SymbolicKernel kernel = symbolic_kernel(
      "kernel: conv\ndims: {H: {max: 60, likely: 14}, W: {max: 60, likely: 14}}\n"
      "tensors: {I: {shape: [3, H + 2, W + 2]}, F: {shape: [32, 3, 3, 3]}, O: {shape: [32, H, W]}}\n"
      "compute: ['O[k,p,q] += I[c,p+r,q+s] * F[k,c,r,s]']\n");
  const auto machine = load_hardware("x86_zen4", {ISAMAP_SOURCE_DIR "/hardware_models"});
  ASSERT_TRUE(machine) << render(machine.diagnostics());
  const auto shape = grid_shape(kernel, 0);
  ASSERT_TRUE(shape);
  const std::string head = "schedule: conv\nkernel: conv\ntarget: x86_zen4\nnest:\n",
                    packed = "  - stage F in ram as [k/32, c, r, s, k%32]\n",
                    sums =
                        "  - stage O in ram as [k/32, p, q, k%32]\n  - stage O in vec\n  - for c by 1\n"
                        "  - for r by 1\n  - for s by 1\n  - stage F in vec\n",
                    inner = "  - stage I in vec\n  - for k by 16 unroll\n  - do s0 with fma_f32(j=k)\n";
  const auto schedule = parse_schedule(head + packed + "  - for q by 2\n  - for p by 5\n" + sums +
                                           "  - for p by 1 unroll\n  - for q by 1 unroll\n" + inner,
                                       "s.yaml", shape->kernel, machine->model);
  ASSERT_TRUE(schedule) << render(schedule.diagnostics());
  const auto rows = with_row_tile(*shape, *schedule, machine->model);
  ASSERT_TRUE(rows);
  EXPECT_EQ(print(*rows),
            head + packed + "  - for p by 1\n  - for q by 10\n" + sums + "  - for q by 1 unroll\n" + inner);
  EXPECT_FALSE(with_row_tile(*shape, *rows, machine->model));
}

TEST(GridPlans, AreSearchedForOneThread) {
  const SymbolicKernel kernel = symbolic_kernel(R"(kernel: depthwise
dims: {N: {max: 3}, C: {max: 50, likely: 32}, H: {min: 1, max: 60}, W: {min: 1, max: 60}}
tensors:
  I: {shape: [N, H, W, C], outside: 0}
  F: {shape: [5, 5, C], constant: true}
  O: {shape: [N, "(H+1)/2", "(W+1)/2", C]}
compute: ['O[n,p,q,c] += I[n,2*p+r-2,2*q+s-2,c] * F[r,s,c]']
)");
  LoadOptions cores;
  cores.params = {{"cores", "2"}};
  const auto machine = load_hardware("x86_avx2", {ISAMAP_SOURCE_DIR "/hardware_models"}, cores);
  ASSERT_TRUE(machine) << render(machine.diagnostics());
  const CompileOptions options;
  const Compilation likely = compile(kernel.sample, machine->model, options);
  ASSERT_TRUE(likely.scheduled);
  EXPECT_NE(print(likely.scheduled->schedule).find(" on core"), std::string::npos);
  const Compilation alone = compile(kernel.sample, on_one_thread(machine->model), options);
  ASSERT_TRUE(alone.scheduled);
  EXPECT_EQ(print(alone.scheduled->schedule).find(" on core"), std::string::npos);
  const SymbolicCompilation compiled = compile_symbolic(kernel, machine->model, options);
  ASSERT_TRUE(compiled.program);
  EXPECT_TRUE(compiled.problems.empty()) << render(compiled.problems);  // no scalar code
  EXPECT_EQ(compiled.program->grids.front().shares.threads, 2);
}

/// A file whose sums are in lanes.
std::string sums_in_lanes() {
  const std::string text =
      "schedule: norm\nkernel: norm\ntarget: x86_avx2\nversions:\n  - statements:\n      - lanes: [s0 j 8]\n"
      "        nests:\n          -\n            - for i by 1\n            - stage S_parts in vec\n"
      "            - for j_round by 1\n            - stage X in vec\n"
      "            - do s0_parts with add_into_f32(j=j_lane)\n          -\n            - for i by 1\n"
      "            - for j_lane by 1\n            - do s0 with scalar\n";
  std::string others;
  for (const char* const dims : {"i j s1", "i j s2", "i j s3"}) {
    const std::string name = std::string(dims).substr(4);
    others +=
        "      - nest:\n          - for i by 1\n          - for j by 1\n          - do " + name + " with scalar\n";
  }
  return text + others;
}

/// Likely lengths of rows that leave a remainder of the lanes, or are fewer.
TEST(ScheduleVersions, SumsInLanesAreReadForAnyLikelySize) {
  for (const char* const likely : {"likely: 64", "likely: 50", "likely: 3"}) {
    std::string text = norm_of_rows;
    text.replace(text.find("likely: 64"), 10, likely);
    const SymbolicKernel kernel = symbolic_kernel(text);
    const auto versions = parse_schedule_versions(sums_in_lanes(), "s.yaml", kernel, strips_machine());
    ASSERT_TRUE(versions) << likely << "\n" << render(versions.diagnostics());
    EXPECT_EQ(versions->front().schedules[0].nests.size(), 2U);
    EXPECT_EQ(print(*versions, {}), sums_in_lanes());
    CompileOptions options;
    options.versions = *versions;
    EXPECT_TRUE(compile_symbolic(kernel, strips_machine(), options).program);
  }
}

/// The file, read again for sizes that leave a remainder of the lanes, or have fewer.
TEST(ScheduleVersions, SumsInLanesAreBoundAtEverySize) {
  for (const std::int64_t n : {1, 7, 8, 15, 64, 131}) {
    auto kernel = isamap::bind(symbolic_kernel(norm_of_rows), {{"M", 9}, {"N", n}});
    ASSERT_TRUE(kernel);
    const auto schedule = parse_schedule(sums_in_lanes(), "s.yaml", *kernel, strips_machine());
    ASSERT_TRUE(schedule) << n << "\n" << render(schedule.diagnostics());
    EXPECT_EQ(schedule->lanes.empty(), n < 16) << n;
    EXPECT_TRUE(lower(*schedule, *kernel, strips_machine())) << n;
    const auto again = parse_schedule(print(*schedule), "s.yaml", *kernel, strips_machine());
    ASSERT_TRUE(again) << n << "\n" << render(again.diagnostics());
    EXPECT_EQ(*again, *schedule);
  }
}

}  // namespace
}  // namespace isamap
