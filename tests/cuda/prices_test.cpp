// SPDX-License-Identifier: Apache-2.0
// What is predicted of code that no tensor instruction covers, and what a search chooses by that.

#include "isamap/cost_model.h"
#include "tests/cuda/support.h"
#include "tests/searched.h"

namespace isamap {
namespace {

/// Cycles of the best schedule that is found.
double predicted(const std::string& text, const HardwareModel& model,
                 const CostModelFactory& costs = make_cost_model_closed_form) {
  const Kernel kernel = kernel_from(text);
  const auto mapped = enumerate_mappings(kernel, model, {});
  EXPECT_TRUE(mapped);
  ScheduleOptions options;
  options.objective = Objective::cycles;
  options.max_evaluations = 200;
  options.costs = costs;
  const auto scheduled = schedule(kernel, *mapped, model, options);
  EXPECT_TRUE(scheduled) << render(scheduled.diagnostics());
  return scheduled ? scheduled->cost.cycles : 0;
}

double cycles_of_bytes(double bytes, const HardwareModel& model) {
  return bytes / model.memory(model.home()).read_bandwidth;
}

TEST(ParallelScalar, ElementwiseCodeTakesWhatItsBytesTake) {
  for (const char* name : {"nvidia_sm80", "nvidia_sm90a"}) {
    const auto model = machine(name);
    const double bytes = 2.0 * 8192 * 4096 * 4;
    const std::string square =
        "kernel: square\ntensors: {X: {shape: [8192, 4096]}, Y: {shape: [8192, 4096]}}\ncompute:\n  - Y[i,j] = "
        "X[i,j] * X[i,j]\n";
    const double cycles = predicted(square, model);
    EXPECT_GE(cycles, cycles_of_bytes(bytes, model)) << name;
    EXPECT_LE(cycles, 1.1 * cycles_of_bytes(bytes, model)) << name;
    EXPECT_NEAR(predicted(square, model, make_cost_model_latency), cycles, 0.01 * cycles) << name;
  }
}

/// Softmax is one launch, since its nests are stitched.
TEST(Launches, HaveAPrice) {
  const auto model = machine("nvidia_sm80");
  auto free_of_them = model;
  free_of_them.timing.launch = 0;
  const auto launches = [&](const std::string& kernel) {
    return (predicted(kernel, model) - predicted(kernel, free_of_them)) / model.timing.launch;
  };
  EXPECT_EQ(launches("kernel: square\ntensors: {X: {shape: [64, 96]}, Y: {shape: [64, 96]}}\ncompute:\n  - Y[i,j] = "
                     "X[i,j] * X[i,j]\n"),
            1);
  EXPECT_EQ(launches("kernel: softmax\ntensors: {X: {shape: [64, 96]}, M: {shape: [64]}, E: {shape: [64, 96]}, S: "
                     "{shape: [64]}, Y: {shape: [64, 96]}}\ncompute:\n  - M[i] max= X[i,j]\n  - E[i,j] = exp(X[i,j] - "
                     "M[i])\n  - S[i] += E[i,j]\n  - Y[i,j] = E[i,j] / S[i]\n"),
            1);
}

TEST(ParallelScalar, SumsAreSplit) {
  const auto model = machine("nvidia_sm80");
  const std::string shapes = "tensors: {X: {shape: [64, 65536]}, Y: {shape: [64]}}\ncompute:\n";
  const double sums = predicted("kernel: sums\n" + shapes + "  - Y[i] += X[i,j]\n", model);
  EXPECT_LT(sums, 64.0 * 65536 * 2 / 64);  // more than one thread for each sum
  EXPECT_GT(sums, cycles_of_bytes(64.0 * 65536 * 4, model));
}

/// Lanes share the sums of warps that a schedule asks for, as they do in the kernel that is printed.
TEST(ParallelScalar, SumsOfScheduledWarpsAreSplit) {
  const auto model = machine("nvidia_sm80");
  const Kernel kernel =
      kernel_from("kernel: sums\ntensors: {X: {shape: [16, 4096]}, Y: {shape: [16]}}\ncompute:\n  - Y[i] += X[i,j]\n");
  const auto schedule = parse_schedule(
      "schedule: sums\nnest:\n  - for i by 4 on block\n  - for i by 1 on warp\n  - for j by 1\n  - do s0 with scalar\n",
      "schedule.yaml", kernel, model);
  ASSERT_TRUE(schedule) << render(schedule.diagnostics());
  const auto program = lower(*schedule, kernel, model);
  ASSERT_TRUE(program) << render(program.diagnostics());
  EXPECT_NE(print_cuda(*program, model)->text.find("each lane adds up a part"), std::string::npos);
  const auto cost =
      make_cost_model_closed_form()->estimate({&kernel, make_id<StatementId>(0), &model, schedule->nests.front()});
  ASSERT_TRUE(cost) << render(cost.diagnostics());
  EXPECT_LT(cost->cycles - cost->launch_cycles, 16.0 * 4096 * 2 / 16);  // more than one thread for each sum
}

TEST(ParallelScalar, ProductsOnPlainThreadsTakeTheirRequests) {
  const auto model = machine("nvidia_sm80");
  const double cycles = predicted(
      "kernel: product\ntensors: {A: {shape: [512, 512]}, B: {shape: [512, 512]}, C: {shape: [512, 512]}}\ncompute:\n"
      "  - C[i,j] += A[i,k] * B[k,j]\n",
      model);
  EXPECT_GT(cycles, 512.0 * 512 * 512 * 3 / (108 * 32));
  EXPECT_LT(cycles, 512.0 * 512 * 512 * 3 / (108 * 32) + 2000 + model.timing.launch);
}

/// The cycles of blocks in rounds have fills and drains in them: there is no other latency.
TEST(ParallelScalar, LatencyIsThatOfTheWaves) {
  const auto model = machine("nvidia_sm90a");
  const std::string layer =
      "kernel: layer\ntensors:\n  A: {shape: [4096, 4096], dtype: bf16}\n  B: {shape: [4096, 4096], dtype: bf16}\n  D: "
      "{shape: [4096]}\n  T: {shape: [4096, 4096]}\n  Y: {shape: [4096, 4096], dtype: bf16}\ncompute:\n  - T[i,j] += "
      "f32(A[i,k]) * f32(B[k,j])\n  - Y[i,j] = bf16(max(T[i,j] + D[j], 0))\n";
  EXPECT_EQ(predicted(layer, model, make_cost_model_latency), predicted(layer, model));
}

TEST(ParallelScalar, AnEpilogueIsFused) {
  const auto model = machine("nvidia_sm90a");
  const Kernel layer = kernel_from(
      "kernel: layer\ntensors:\n  A: {shape: [4096, 4096], dtype: bf16}\n  B: {shape: [4096, 4096], dtype: bf16}\n  D: "
      "{shape: [4096]}\n  T: {shape: [4096, 4096]}\n  Y: {shape: [4096, 4096], dtype: bf16}\ncompute:\n  - T[i,j] += "
      "f32(A[i,k]) * f32(B[j,k])\n  - Y[i,j] = bf16(max(T[i,j] + D[j], 0))\n");
  const auto mapped = enumerate_mappings(layer, model, {});
  ASSERT_TRUE(mapped);
  ScheduleOptions options;
  options.max_evaluations = 800;
  const auto scheduled = schedule(layer, *mapped, model, options);
  ASSERT_TRUE(scheduled) << render(scheduled.diagnostics());
  EXPECT_NE(print(scheduled->schedule).find("stage T in shared from s0"), std::string::npos)
      << print(scheduled->schedule);
  EXPECT_LT(scheduled->cost.cycles, 437e3);
}

}  // namespace
}  // namespace isamap
