// SPDX-License-Identifier: Apache-2.0
// Cost of rows in caches: hardware prefetch streams, set conflicts, loads that cross cache lines.

#include <filesystem>
#include <fstream>

#include "isamap/cost_model.h"
#include "scheduler/vectorized_reductions.h"
#include "tests/lowering/support.h"
#include "tests/scratch.h"

namespace isamap {
namespace {

double cycles_of(const Kernel& kernel, const HardwareModel& model, const std::vector<std::string>& lines) {
  const Schedule schedule = schedule_of(lines);
  const auto cost =
      make_cost_model_closed_form()->estimate({&kernel, make_id<StatementId>(0), &model, schedule.nests[0]});
  EXPECT_TRUE(cost) << render(cost.diagnostics());
  return cost ? cost->cycles : 0;
}

/// A row times a matrix larger than the caches, some rows of the matrix at a time.
double row_by_matrix(const char* target, int rows) {
  return cycles_of(formula("C[j] += A[k] * B[k,j]", "j=4096,k=4096"), machine(target),
                   {"for k by " + std::to_string(rows), "for j by 64", "stage C in vec", "for k by 1", "stage A in vec",
                    "for j by 16 unroll", "stage B in vec", "do s0 with fma_f32(j=j)"});
}

TEST(Rows, OfMoreThanAreFollowedEveryPieceIsBegun) {
  EXPECT_GT(row_by_matrix("x86_zen4", 32), 1.5 * row_by_matrix("x86_zen4", 8));  // streams: 8
  EXPECT_LT(row_by_matrix("x86_avx512", 32), 1.1 * row_by_matrix("x86_avx512", 8));
}

/// A depthwise window with stride 2 over 14 x 14 x 512: columns 2 KiB apart, which map to 2 of 64 sets.
double window(int channels) {
  auto kernel = parse_kernel_yaml(R"(kernel: depthwise
dims: {C: 512, H: 14, P: 7, R: 3}
tensors:
  I: {shape: [H, H, C], dtype: f32, outside: 0}
  F: {shape: [R, R, C], dtype: f32}
  O: {shape: [P, P, C], dtype: f32}
compute:
  - O[p,q,c] += I[2*p+r-1,2*q+s-1,c] * F[r,s,c]
where: {p: P, q: P, r: R, s: R}
)",
                                  "depthwise.yaml");
  EXPECT_TRUE(kernel) << render(kernel.diagnostics());
  return cycles_of(*kernel, machine("x86_zen4"),
                   {"for p by 1", "for q by 4", "for c by " + std::to_string(channels), "stage O in vec", "for r by 1",
                    "for s by 1", "stage F in vec", "for p by 1 unroll", "for q by 1 unroll", "for c by 16 unroll",
                    "stage I in vec", "do s0 with fma_f32(j=c) outside I skip"});
}

TEST(Rows, LinesAheadAreLostWhereSetsAreCrowded) { EXPECT_GT(window(16), 1.15 * window(32)); }

double sum_of_rows(std::int64_t step) {
  Kernel kernel = formula("C[i,j] = A[i,j] + B[i,j]", "i=8,j=64");
  for (Tensor& tensor : kernel.tensors) tensor.strides = {step, 1};
  return cycles_of(
      kernel, machine("x86_avx512"),
      {"for i by 1", "for j by 16", "stage A in vec", "stage B in vec", "stage C in vec", "do s0 with add_f32(j=j)"});
}

/// x86_avx512 with other facts of a cache or of a link into it.
HardwareModel with(const std::string& facts) {
  const std::string path = scratch("rows.yaml");
  std::ofstream(path) << "hardware: changed\nextends: x86_avx512\n" << facts;
  const auto loaded = load_hardware(path, {std::string(ISAMAP_SOURCE_DIR) + "/hardware_models"});
  std::filesystem::remove(path);
  EXPECT_TRUE(loaded) << render(loaded.diagnostics());
  return loaded ? loaded->model : HardwareModel{};
}

/// Rows of B, 16 numbers of each at a time, out of the third cache.
double columns_of(int row, const HardwareModel& model) {
  return cycles_of(formula("C[i,j] += A[i,k] * B[k,j]", "i=8,k=2048,j=" + std::to_string(row)), model,
                   {"for j by 16", "stage C in vec", "for k by 1", "stage B in vec", "for i by 1 unroll",
                    "do s0 with fma_f32_bcast(j=j)"}) /
         row;
}

TEST(Rows, CrowdedOnesCostWhereTheDescriptionSaysWhatBeginningsCost) {
  const HardwareModel said = with("links:\n  - {name: fill_l2, begin: 2cycles}\n  - {name: fill_l1, begin: 0cycles}\n");
  EXPECT_GT(columns_of(1024, said), 1.3 * columns_of(1040, said));  // 4096 bytes apart: one set of the L1 cache
  const HardwareModel dear =
      with("links:\n  - {name: fill_l2, begin: 40cycles}\n  - {name: fill_l1, begin: 0cycles}\n");
  EXPECT_GT(columns_of(1040, dear), 1.3 * columns_of(1040, said));
}

TEST(Rows, NeighboursThatComeTogetherAreUsedOrLost) {
  const auto depthwise = [](const HardwareModel& model, const char* channels) {
    return cycles_of(formula("O[p,q,c] += I[p+r,q+s,c] * F[r,s,c]", "p=14,q=14,c=384,r=3,s=3"), model,
                     {channels, "for p by 7", "for q by 1", "for c by 16", "stage O in vec", "for r by 1", "for s by 1",
                      "stage F in vec", "for p by 1 unroll", "stage I in vec", "do s0 with fma_f32(j=c)"});
  };
  const HardwareModel pairs = with("memories:\n  - {name: l1, fetch: 128B}\n"), lines = with("");
  const auto dearer = [&](const char* channels) { return depthwise(pairs, channels) / depthwise(lines, channels); };
  EXPECT_GT(dearer("for c by 16"), 1.04);
  EXPECT_LT(dearer("for c by 64"), 1.03);  // the next step uses them
}

TEST(Rows, EndsOfLongLoopsCost) {
  const HardwareModel none = with(""), some = with("units:\n  - {name: core, loop_end: 20cycles}\n");
  const auto product = [](const HardwareModel& model, int part) {
    return cycles_of(formula("C[i,j] += A[i,k] * B[k,j]", "i=64,k=1024,j=64"), model,
                     {"for k by " + std::to_string(part), "for i by 4", "for j by 32", "stage C in vec", "for k by 1",
                      "stage B in vec", "for i by 1 unroll", "for j by 16 unroll", "do s0 with fma_f32_bcast(j=j)"});
  };
  EXPECT_GT(product(some, 16), 1.1 * product(none, 16));
  EXPECT_LT(product(some, 1024), 1.01 * product(none, 1024));
}

TEST(Rows, LoadsAcrossLinesTakeThePortTwice) {
  EXPECT_EQ(sum_of_rows(64), sum_of_rows(80));  // both cache-line aligned
  EXPECT_GT(sum_of_rows(72), 1.2 * sum_of_rows(80));
  EXPECT_GT(sum_of_rows(73), sum_of_rows(72));  // 15 of 16 rows cross lines, not 1 of 2
}

TEST(Rows, TheCallersStepsAreThoseOfTheProgram) {
  Kernel kernel = formula("C[i,j] = A[i,j] + B[i,j]", "i=3,j=16");
  kernel.tensors[0].strides = {24, 1};
  const auto program = lower(
      schedule_of({"for i by 1", "stage A in vec", "stage B in vec", "stage C in vec", "do s0 with add_f32(j=j)"}),
      kernel, machine("x86_avx512"));
  ASSERT_TRUE(program) << render(program.diagnostics());
  for (const Buffer& buffer : program->buffers) {
    if (buffer.role != BufferRole::argument) continue;
    EXPECT_EQ(buffer.strides, (buffer.name == kernel.tensors[0].name ? std::vector<std::int64_t>{24, 1}
                                                                     : std::vector<std::int64_t>{16, 1}));
  }
}

TEST(Rows, LanesTakePairsOfTheirOwnTypeOnly) {
  const HardwareModel model = machine("x86_zen4");  // it has products of pairs of bf16
  const auto depths = [&](const char* compute, const char* dtypes) {
    std::vector<std::int64_t> found;
    for (const VectorizedReduction& parts : lanes_worth_trying(formula(compute, "i=64,k=256", dtypes), model))
      found.push_back(parts.depth);
    return found;
  };
  EXPECT_EQ(depths("y[i] += A[i,k] * x[k]", ""), (std::vector<std::int64_t>{1}));
  EXPECT_EQ(depths("y[i] += f32(A[i,k]) * f32(x[k])", "A=bf16,x=bf16"), (std::vector<std::int64_t>{2}));
  EXPECT_EQ(depths("v[i] += (A[i,k] - m[i]) * (A[i,k] - m[i])", ""), (std::vector<std::int64_t>{1})) << "a variance";
}

/// Few rows: as many registers of sums as hide the latency of an addition, without a longer tail than one leaves.
TEST(Rows, FewRowsAreSummedInSeveralRegisters) {
  const HardwareModel model = machine("x86_avx512");
  const auto lanes = [&](const char* compute, const char* dims) {
    std::vector<std::int64_t> found;
    for (const VectorizedReduction& parts : lanes_worth_trying(formula(compute, dims), model))
      found.push_back(parts.lanes);
    return found;
  };
  EXPECT_EQ(lanes("y[i] += A[i,k]", "i=1,k=4096"), (std::vector<std::int64_t>{16, 128}));
  EXPECT_EQ(lanes("y[i] += A[i,k]", "i=2,k=4096"), (std::vector<std::int64_t>{16, 64}));
  EXPECT_EQ(lanes("y[i] += A[i,k]", "i=8,k=4096"), (std::vector<std::int64_t>{16})) << "rows enough";
  EXPECT_EQ(lanes("y[i] += A[i,k]", "i=1,k=1001"), (std::vector<std::int64_t>{16, 32}))
      << "62 = 31 * 2 whole registers";
  EXPECT_EQ(lanes("y[i] += A[i,k]", "i=1,k=47"), (std::vector<std::int64_t>{16})) << "two whole registers";
}

}  // namespace
}  // namespace isamap
