// SPDX-License-Identifier: Apache-2.0
// Which nests become one launch, and that those which must not do not.

#include <fstream>

#include "driver/execute.h"
#include "ir/text/parse.h"
#include "isamap/backend.h"
#include "tests/cuda/support.h"
#include "tests/searched.h"

namespace isamap {
namespace {

/// The printed kernel without instructions, whose emulated run agrees with the interpreter.
std::string text_of_right_run(const std::string& text, const std::string& target) {
  const HardwareModel model = machine(target);
  const Kernel kernel = *parse_kernel(text);
  const Program program = searched(kernel, model);
  auto data = random_data(kernel, Fill::real, 5), expected = data;
  interpret(kernel, expected);
  const auto outcome = make_runner(model)->run(program, data, {}, 0);
  EXPECT_TRUE(outcome) << render(outcome.diagnostics());
  const Comparison same = compare(kernel, expected, data);
  EXPECT_TRUE(same.equal) << same.first_difference;
  const auto unit = print_cuda(program, model);
  EXPECT_TRUE(unit) << render(unit.diagnostics());
  return unit ? unit->text : "";
}

int occurrences(const std::string& text, const std::string& of) {
  int count = 0;
  for (std::size_t at = 0; (at = text.find(of, at)) != std::string::npos; ++at) ++count;
  return count;
}

int launches_of_right_run(const std::string& text) {
  return occurrences(text_of_right_run(text, "nvidia_sm80"), "  ISAMAP_LAUNCH(");
}

std::string softmax(std::int64_t rows, std::int64_t columns, const std::string& type = "f32") {
  const std::string i = std::to_string(rows), j = std::to_string(columns), all = type + "[" + i + "," + j + "]",
                    row = type + "[" + i + "]", over_all = " over i: " + i + ", j: " + j + "\n";
  return "kernel softmax\ntensor X: " + all + "\ntensor M: " + row + "\ntensor E: " + all + "\ntensor S: " + row +
         "\ntensor Y: " + all + "\ns0: M[i] max= X[i,j]" + over_all + "s1: E[i,j] = exp(X[i,j] - M[i])" + over_all +
         "s2: S[i] += E[i,j]" + over_all + "s3: Y[i,j] = E[i,j] / S[i]" + over_all;
}

/// exp is printed as a polynomial: on a GPU its products and sums have one rounding.
TEST(RealFunctions, HaveProductsOfOneRounding) {
  const HardwareModel model = machine("nvidia_sm80");
  const std::string text = print_cuda(searched(*parse_kernel(softmax(20, 130)), model), model)->text;
  EXPECT_EQ(occurrences(text, "return __fmaf_rn(a, b, c);"), 1);
}

TEST(StitchedNests, SoftmaxIsOneLaunch) { EXPECT_EQ(launches_of_right_run(softmax(20, 130)), 1); }

/// Of a block's rows: vectors and tails, one column, more rows than one for each block, more than all threads load.
/// Every third pair of sizes and machine, or all.
void softmax_loads_and_stores_its_rows_once(Every every) {
  for (const auto& [rows, columns] : {std::pair{300, 8}, {20, 130}, {200, 64}, {5, 1}, {1, 7}, {40, 33}, {2000, 3}}) {
    for (const std::string target : {"nvidia_sm80", "nvidia_sm90a"}) {
      if (every.skips()) continue;
      SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns) + ", " + target);
      const std::string text = text_of_right_run(softmax(rows, columns), target);
      EXPECT_NE(
          text.find("softmax_1(global_pointer<const float> __restrict__ X, global_pointer<float> __restrict__ Y)"),
          std::string::npos);
      EXPECT_EQ(text.find("cudaMallocAsync"), std::string::npos);
    }
  }
}
TEST(StagedRows, SoftmaxLoadsAndStoresItsRowsOnce) { softmax_loads_and_stores_its_rows_once(Every(3)); }
TEST(StagedRows, HeavySoftmaxOnEveryMachine) { softmax_loads_and_stores_its_rows_once(Every(1)); }

/// A row for each block, whose warps share its sums: vectors of a thread, several of them, and rows that allow none.
TEST(StagedRows, WarpsShareTheSumsOfARow) {
  for (const auto& [rows, columns, target] :
       {std::tuple{134, 516, "nvidia_sm90a"}, {110, 1030, "nvidia_sm80"}, {110, 2048, "nvidia_sm80"}}) {
    SCOPED_TRACE(columns);
    const std::string text = text_of_right_run(softmax(rows, columns), target);
    EXPECT_NE(text.find("X_rows"), std::string::npos);
    EXPECT_NE(text.find("come together"), std::string::npos);
    EXPECT_EQ(text.find("4 neighbours at a time, 2 times as many on their way") != std::string::npos, columns == 2048);
  }
}

/// Rows that the block's memory does not hold stay where they were: of X and E one, or none.
TEST(StagedRows, LongRowsStayInDeviceMemory) {
  const HardwareModel model = machine("nvidia_sm80");
  const auto printed = [&](std::int64_t columns) {
    return print_cuda(searched(*parse_kernel(softmax(8192, columns)), model), model)->text;
  };
  const std::string one = printed(15000);
  EXPECT_NE(one.find("E_rows"), std::string::npos);
  EXPECT_EQ(one.find("X_rows"), std::string::npos);
  const std::string none = printed(30000);
  EXPECT_EQ(none.find("E_rows"), std::string::npos);
  EXPECT_NE(none.find("M_rows"), std::string::npos);
}

/// T is stored, since the caller wants it; what only one nest reads, and what all blocks read, is not copied.
TEST(StagedRows, WhatSavesNothingIsNotCopied) {
  const std::string text = text_of_right_run(R"(kernel scaled
tensor X: f32[150,64]
tensor Z: f32[150,64]
tensor G: f32[64]
tensor S: f32[150]
tensor T: f32[150,64] output
tensor Y: f32[150,64]
s0: S[i] += X[i,j] * G[j] over i: 150, j: 64
s1: T[i,j] = X[i,j] * S[i] over i: 150, j: 64
s2: Y[i,j] = T[i,j] + Z[i,j] * G[j] over i: 150, j: 64
)",
                                             "nvidia_sm80");
  for (const char* staged : {"X_rows", "S_rows"}) EXPECT_NE(text.find(staged), std::string::npos) << staged;
  for (const char* not_staged : {"G_rows", "Z_rows", "T_rows"})
    EXPECT_EQ(text.find(not_staged), std::string::npos) << not_staged;
}

/// A block has a window of rows that overlaps with those of its neighbours, and does not reach outside the tensor.
TEST(StagedRows, WindowsMayOverlap) {
  const std::string text = text_of_right_run(R"(kernel windows
tensor X: f32[202,32]
tensor S: f32[200]
tensor Y: f32[200,32]
s0: S[i] max= X[i + r,j] over i: 200, j: 32, r: 3
s1: Y[i,j] = X[i + 1,j] - S[i] over i: 200, j: 32
)",
                                             "nvidia_sm80");
  EXPECT_EQ(occurrences(text, "  ISAMAP_LAUNCH("), 1);
  EXPECT_NE(text.find("X_rows"), std::string::npos);
}

/// Of nests that a schedule put on blocks together, which have their tile in the block's memory: no row is put over it.
TEST(StagedRows, PlacesOfASchedulesOwnStay) {
  const HardwareModel model = machine("nvidia_sm80");
  const Program program = lowered(kernel_from(R"(kernel: two
dims: {M: 256, N: 32}
tensors:
  X: {shape: [M, N]}
  T: {shape: [M, N]}
  Y: {shape: [M, N]}
compute:
  - T[i,j] = X[i,j] * 2
  - Y[i,j] = X[i,j] + T[i,j]
)"),
                                  R"(schedule: two
nests:
  -
    - for i by 2 on block
    - stage T in shared then s1
    - for i by 1
    - for j by 1
    - do s0 with scalar
  -
    - for i by 2 on block
    - stage T in shared from s0
    - for i by 1
    - for j by 1
    - do s1 with scalar
)",
                                  model);
  const auto unit = print_cuda(program, model);
  ASSERT_TRUE(unit) << render(unit.diagnostics());
  EXPECT_EQ(unit->text.find("_rows = shared_array"), std::string::npos);
  const Emulated run = emulate(unit->text, *unit, program, model);
  EXPECT_TRUE(run.right) << run.output;
}

/// Nobody could load rows.
TEST(StagedRows, NoneWithoutAUnitForScalarCode) {
  const TemporaryDirectory folder;
  const std::string file = (folder.path() / "bare.yaml").string();
  std::ofstream(file) << "hardware: bare\nextends: nvidia_sm80\nunits:\n  - {name: lane, scalar: false}\n";
  const auto bare = load_hardware(file, {std::string(ISAMAP_SOURCE_DIR) + "/hardware_models"});
  ASSERT_TRUE(bare) << render(bare.diagnostics());
  const Program program = searched(*parse_kernel(softmax(20, 130)), machine("nvidia_sm80"));
  const auto unit = print_cuda(program, bare->model);
  ASSERT_TRUE(unit) << render(unit.diagnostics());
  EXPECT_EQ(unit->text.find("_rows = shared_array"), std::string::npos);
}

/// A row of X for each block, which fills its memory: `columns` floats.
Result<Program> staged_sum(std::int64_t columns, const HardwareModel& model) {
  const Kernel kernel = kernel_from("kernel: sum\ndims: {M: 3, N: " + std::to_string(columns) +
                                    "}\ntensors:\n  X: {shape: [M, N]}\n  Y: {shape: [M]}\n"
                                    "compute:\n  - Y[i] += X[i,j] * X[i,j]\n");
  const auto schedule = parse_schedule(
      "schedule: sum\nnest:\n  - for i by 1 on block\n  - stage X in shared\n  - for j by 1\n  - do s0 with scalar\n",
      "schedule.yaml", kernel, model);
  return lower(*schedule, kernel, model);
}

/// Warps share a sum where there is place for the parts of each behind the tile, otherwise lanes do.
TEST(SplitSums, PartsFitIntoTheMemoryOfABlock) {
  const HardwareModel model = machine("nvidia_sm80");
  const std::int64_t most = model.memory(*model.find_memory("shared")).capacity / 4;
  for (const bool full : {false, true}) {
    const auto program = staged_sum(full ? most : most - 32, model);
    ASSERT_TRUE(program) << render(program.diagnostics());
    const auto unit = print_cuda(*program, model);
    ASSERT_TRUE(unit) << render(unit.diagnostics());
    EXPECT_EQ(unit->text.find("come together") == std::string::npos, full);
    EXPECT_NE(unit->text.find("adds up a part"), std::string::npos);
  }
}

TEST(SplitSums, ALaunchThatNeedsMoreThanTheMemoryOfABlockIsRefused) {
  const HardwareModel model = machine("nvidia_sm80");
  auto program = staged_sum(1024, model);
  ASSERT_TRUE(program) << render(program.diagnostics());
  const MemoryId shared = *model.find_memory("shared");
  for (Buffer& buffer : program->buffers)
    if (buffer.memory == shared) buffer.address = model.memory(shared).capacity - 4092;
  const auto unit = print_cuda(*program, model);
  ASSERT_FALSE(unit);
  EXPECT_NE(render(unit.diagnostics()).find("needs 166916 bytes of a block's memory, which has 166912"),
            std::string::npos)
      << render(unit.diagnostics());
}

/// A row of the second nest is another one of the first, which another block wrote.
TEST(StitchedNests, WhatAnotherBlockWroteNeedsALaunch) {
  EXPECT_EQ(launches_of_right_run(R"(kernel upside_down
tensor X: f32[200,64]
tensor T: f32[200,64]
tensor Y: f32[200,64]
s0: T[i,j] = X[i,j] * 2 over i: 200, j: 64
s1: Y[i,j] = T[199 - i,j] + 1 over i: 200, j: 64
)"),
            2);
}

/// Rows of both nests are columns of T.
TEST(StitchedNests, RowsMayBeInterleaved) {
  EXPECT_EQ(launches_of_right_run(R"(kernel interleaved
tensor X: f32[3,400]
tensor T: f32[3,400]
tensor Y: f32[400]
s0: T[c,i] = X[c,i] * 2 over i: 400, c: 3
s1: Y[i] += T[c,i] over i: 400, c: 3
)"),
            1);
}

/// The columns are added up by whole blocks, which begin with their first values.
TEST(StitchedNests, SumsOfBlocksNeedNoLaunchBeforeThem) {
  EXPECT_EQ(launches_of_right_run(R"(kernel columns
tensor X: f32[512,64]
tensor Y: f32[64]
s0: Y[j] += X[i,j] over j: 64, i: 512
)"),
            1);
}

/// A product of few rows, whose sums whole blocks add up, and what the tensors of `behind` and `statements` add.
std::string few_rows(const std::string& behind, const std::string& statements) {
  return "kernel product\ntensor A: f32[4,384]\ntensor B: f32[384,64]\ntensor C: f32[64]\ntensor R: f32[4,64]\n"
         "tensor Y: f32[4,64]\n" +
         behind + "s0: Y[i,j] += A[i,k] * B[k,j] over i: 4, j: 64, k: 384\n" + statements;
}

/// Bias, activation and residual are computed where the sum is; Z has another order.
TEST(FinishedSums, ElementsBehindASumShareItsLaunch) {
  const std::string text = text_of_right_run(few_rows("tensor Z: f32[64,4]\ntensor W: f32[4,64]\n",
                                                      R"(s1: Z[j,i] = max(Y[i,j] + C[j], 0) over i: 4, j: 64
s2: W[i,j] = Z[j,i] * 2 + R[i,j] over i: 4, j: 64
)"),
                                             "nvidia_sm80");
  EXPECT_EQ(occurrences(text, "  ISAMAP_LAUNCH("), 1);
  EXPECT_NE(text.find("columns side by side"), std::string::npos);
}

/// Sums of other threads need a launch: of another row, of all columns, and as many elements as sums but not theirs.
TEST(FinishedSums, WhatReadsOtherSumsDoesNot) {
  for (const char* behind : {"s1: Z[i,j] = Y[3 - i,j] + C[j] over i: 4, j: 64\n",
                             "s1: Z[i,j] += Y[i,l] * B[l,j] over i: 4, j: 64, l: 64\n"}) {
    SCOPED_TRACE(behind);
    EXPECT_EQ(launches_of_right_run(few_rows("tensor Z: f32[4,64]\n", behind)), 2);
  }
}

/// Queries, keys and values with their biases are one launch, of as many blocks as the three have.
TEST(IndependentLaunches, ProductsOfOneInputAreOne) {
  const std::string text = text_of_right_run(R"(kernel projections
tensor A: f32[4,384]
tensor B: f32[384,64]
tensor D: f32[384,40]
tensor C: f32[64]
tensor Y: f32[4,64]
tensor Z: f32[4,64]
tensor V: f32[4,40]
tensor W: f32[4,40]
s0: Y[i,j] += A[i,k] * B[k,j] over i: 4, j: 64, k: 384
s1: Z[i,j] = Y[i,j] + C[j] over i: 4, j: 64
s2: V[i,j] += A[i,k] * D[k,j] over i: 4, j: 40, k: 384
s3: W[i,j] = V[i,j] - 1 over i: 4, j: 40
)",
                                             "nvidia_sm80");
  EXPECT_EQ(occurrences(text, "  ISAMAP_LAUNCH("), 1);
}

/// The second product reads the first one.
TEST(IndependentLaunches, WhatDependsIsAnother) {
  EXPECT_EQ(launches_of_right_run(R"(kernel two
tensor A: f32[4,384]
tensor B: f32[384,64]
tensor D: f32[64,64]
tensor Y: f32[4,64]
tensor Z: f32[4,64]
s0: Y[i,j] += A[i,k] * B[k,j] over i: 4, j: 64, k: 384
s1: Z[i,j] += Y[i,k] * D[k,j] over i: 4, j: 64, k: 64
)"),
            2);
}

}  // namespace
}  // namespace isamap
