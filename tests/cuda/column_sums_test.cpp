// SPDX-License-Identifier: Apache-2.0
// Sums over the rows of a matrix: columns x parts threads in a block, and one plan for their price and their program.

#include <cmath>

#include "hwdesc/model/parallel_reduction_plan.h"
#include "hwdesc/model/parallel_units.h"
#include "tests/cuda/requests.h"

namespace isamap {
namespace {

/// The plan of  Y[j] += X[i,j].
ParallelReductionPlan plan_of_columns(std::int64_t rows, std::int64_t columns, DType type, const HardwareModel& model) {
  const AffineExpr offset = AffineExpr::dim("i") * columns + AffineExpr::dim("j");
  const auto block = outermost_numbered(model, *model.scalar_unit_for(model.home()));
  EXPECT_TRUE(block);
  return parallel_reduction_plan(reduction_shape({{"j", columns}}, {{"i", rows}}, {{offset, type}}, type), model,
                                 *block, ReductionScope::launch);
}

std::string printed_columns(const Program& program, const HardwareModel& model) {
  auto unit = print_cuda(program, model);
  EXPECT_TRUE(unit) << render(unit.diagnostics());
  return unit ? unit->text : "";
}

std::string column_tensors(std::int64_t rows, std::int64_t columns, const std::string& type) {
  return "{X: {shape: [" + std::to_string(rows) + ", " + std::to_string(columns) + "], dtype: " + type +
         "}, Y: {shape: [" + std::to_string(columns) + "], dtype: " + type + "}}";
}

TEST(ColumnSums, PlansByHand) {
  const auto model = machine("nvidia_sm80");
  // 32 B of a row: 8 columns. 2 x 514 kB in flight, 8 loads of 4 B a thread: 502 threads a column, 4 rows each: 128
  // parts.
  ParallelReductionPlan plan = plan_of_columns(4096, 64, DType::f32, model);
  EXPECT_EQ(plan.columns, 8);
  EXPECT_EQ(plan.lanes, 4);
  EXPECT_EQ(plan.warps, std::vector<std::int64_t>{32});
  EXPECT_EQ(plan.blocks, 8);
  EXPECT_EQ(plan_of_columns(4096, 64, DType::f16, model).columns, 16);  // 32 B
  plan = plan_of_columns(4096, 4096, DType::f32, model);                // 128 blocks for 108 processors
  EXPECT_EQ(plan.columns, 32);
  EXPECT_EQ(plan.warps, std::vector<std::int64_t>{8});  // 32 k threads wanted: 7.8 a column
  for (const auto& [rows, columns] : {std::pair(4, 64), {1, 64}, {0, 64}, {64, 0}, {4096, 1 << 20}})
    EXPECT_FALSE(plan_of_columns(rows, columns, DType::f32, model).split()) << rows << " " << columns;
  for (const DType type : {DType::s64, DType::s8}) EXPECT_FALSE(plan_of_columns(4096, 64, type, model).split());
  plan = plan_of_columns(4096, 1, DType::f32, model);  // one column is a row
  EXPECT_TRUE(plan.by_rows());
  EXPECT_EQ(plan.chunk, 4);
}

TEST(ColumnSums, PriceAndProgramHaveOnePlan) {
  for (const char* name : {"nvidia_sm80", "nvidia_sm90a"})
    for (const auto& [rows, columns] : {std::pair(4096, 64), {4095, 63}, {999, 130}, {300, 5000}}) {
      SCOPED_TRACE(std::string(name) + " " + std::to_string(rows) + " x " + std::to_string(columns));
      const auto model = machine(name);
      const ParallelReductionPlan plan = plan_of_columns(rows, columns, DType::f32, model);
      ASSERT_TRUE(plan.by_columns());
      const Kernel kernel = kernel_from("kernel: k\ntensors: " + column_tensors(rows, columns, "f32") +
                                        "\ncompute:\n  - Y[j] += X[i,j]\n");
      const auto mapped = enumerate_mappings(kernel, model, {});
      ASSERT_TRUE(mapped);
      ScheduleOptions options;
      options.objective = Objective::cycles;
      options.max_evaluations = 50;
      const auto scheduled = schedule(kernel, *mapped, model, options);
      ASSERT_TRUE(scheduled) << render(scheduled.diagnostics());
      const auto made = lower(scheduled->schedule, kernel, model);
      ASSERT_TRUE(made) << render(made.diagnostics());
      const std::string text = printed_columns(*made, model);
      EXPECT_NE(text.find("ISAMAP_LAUNCH(k_1, " + std::to_string(plan.blocks) + ", " +
                          std::to_string(plan.columns * plan.parts()) + ","),
                std::string::npos);
      EXPECT_NE(text.find(std::to_string(plan.columns) + " columns side by side, each in " +
                          std::to_string(plan.parts()) + " parts"),
                std::string::npos);
      // What processors in use load and do; what the device loads; what one thread waits for; in the end the tree.
      const double bytes = 4.0 * rows * columns,
                   busy = std::min(
                       plan.blocks,
                       model.instances(
                           model.unit(*outermost_numbered(model, *model.scalar_unit_for(model.home()))).parent));
      const double each = std::ceil(static_cast<double>(rows) / static_cast<double>(plan.parts()));
      const double steps = std::ceil(std::log2(static_cast<double>(plan.parts())));
      const double threads = std::min(static_cast<double>(columns * plan.parts()), busy * 32);
      const double expected = std::max({2.0 * rows * columns / threads, bytes / (64 * busy),
                                        (bytes + 4.0 * columns) / model.memory(model.home()).read_bandwidth,
                                        (std::ceil(each / static_cast<double>(plan.loads_in_flight)) - 1) * 466}) +
                              2 * 466 + steps * (20 + 2 * 29) + model.timing.launch;
      // Y is stored by the launch that adds it up
      EXPECT_GE(scheduled->cost.cycles, expected);
      EXPECT_LE(scheduled->cost.cycles, expected + 0.02 * expected + 8);
    }
}

TEST(ColumnSums, LoadWholeTransactions) {
  const auto model = machine("nvidia_sm80");
  const Program made = program_of("Y[j] += X[i,j]", column_tensors(515, 64, "f32"), model);
  ASSERT_NE(printed_columns(made, model).find("columns side by side"), std::string::npos);
  const auto all = requests(made, model);
  const auto loads = all.find("k_1 X loads");
  ASSERT_NE(loads, all.end());
  EXPECT_EQ(loads->second.sectors, loads->second.least);
  EXPECT_EQ(loads->second.sectors, 515 * 64 * 4 / 32);
}

TEST(ColumnSums, AreRightWhereNothingDivides) {
  const auto model = machine("nvidia_sm90a");
  const Delivered delivered("random:7");
  const Program made = program_of("Y[j] max= X[i,j]", column_tensors(999, 131, "s32"), model);
  ASSERT_NE(printed_columns(made, model).find("columns side by side"), std::string::npos);
  expect_same(made, model, 5);
}

struct SummedColumns {
  const char *compute, *tensors;
};
const std::vector<SummedColumns> summed_columns = {
    {"Y[j] += X[i,j]", "{X: {shape: [4095, 63]}, Y: {shape: [63]}}"},
    {"Y[j] += X[i,j]", "{X: {shape: [4095, 63]}, Y: {shape: [63], inout: true}}"},
    {"Y[j] min= X[i,j]", "{X: {shape: [1025, 130], dtype: f16}, Y: {shape: [130], dtype: f16}}"},
    {"Y[j] += f32(X[i,j])", "{X: {shape: [1025, 31], dtype: bf16}, Y: {shape: [31]}}"},
    {"Y[j] += X[i,j]", "{X: {shape: [500, 70], dtype: f64}, Y: {shape: [70], dtype: f64}}"},
    {"Y[j] += s32(X[i,j])", "{X: {shape: [777, 5], dtype: s8}, Y: {shape: [5], dtype: s32}}"},
    {"Y[i,k] += X[i,j,k]", "{X: {shape: [3, 500, 7]}, Y: {shape: [3, 7]}}"},
    {"Y[k] += X[i,j,k]", "{X: {shape: [13, 30, 33], dtype: s32}, Y: {shape: [33], dtype: s32}}"},
    {"Y[j] += X[i,j] * W[i]", "{X: {shape: [700, 65]}, W: {shape: [700]}, Y: {shape: [65]}}"},
};

TEST(ColumnSumsHeavy, AreRightForEveryTypeHoweverThreadsTakeTurns) {
  for (const char* name : {"nvidia_sm80", "nvidia_sm90a"})
    for (const SummedColumns& c : summed_columns) {
      SCOPED_TRACE(std::string(name) + " " + c.compute + " " + c.tensors);
      const auto model = machine(name);
      const Program made = program_of(c.compute, c.tensors, model);
      EXPECT_NE(printed_columns(made, model).find("columns side by side"), std::string::npos);
      for (const char* how : {"late", "eager", "random:7"}) {
        const Delivered delivered(how);
        expect_same(made, model, 5);
      }
    }
}

TEST(ColumnSumsHeavy, ShortEmptyAndNarrowOnesAreNotSplit) {
  const auto model = machine("nvidia_sm80");
  for (const auto& [rows, columns, type] :
       {std::tuple(1, 64, "f32"), {0, 64, "f32"}, {64, 0, "f32"}, {4096, 64, "s8"}}) {
    const Program made = program_of("Y[j] max= X[i,j]", column_tensors(rows, columns, type), model);
    EXPECT_EQ(printed_columns(made, model).find("columns side by side"), std::string::npos);
    expect_same(made, model, 5);
  }
  Program made = program_of("Y[j] += X[i,j]", column_tensors(4096, 64, "f32"), model);
  made.sums_in_order = true;
  EXPECT_EQ(printed_columns(made, model).find("columns side by side"), std::string::npos);
  expect_same(made, model, 5);
}

TEST(ColumnSumsHeavy, ABarrierThatIsDroppedIsSeen) {  // planted
  const auto model = machine("nvidia_sm80");
  const Program made = program_of("Y[j] += X[i,j]", column_tensors(512, 64, "f32"), model);
  auto unit = print_cuda(made, model);
  ASSERT_TRUE(unit);
  EXPECT_TRUE(emulate(unit->text, *unit, made, model).right);
  const Emulated found = emulate(changed(unit->text, "    __syncthreads();\n", ""), *unit, made, model);
  EXPECT_EQ(found.code, 3);
  EXPECT_NE(found.output.find("no barrier between"), std::string::npos) << found.output;
}

}  // namespace
}  // namespace isamap
