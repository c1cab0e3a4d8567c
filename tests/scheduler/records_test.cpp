// SPDX-License-Identifier: Apache-2.0
// The published records of the access model on the check architecture: counts and cycles to the digit.

#include "tests/scheduler/support.h"

namespace isamap {
namespace {

using testing_support::cost_of;
using testing_support::formula;
using testing_support::kernel_yaml;
using testing_support::machine;

struct Expected {
  std::string memory, tensor;
  std::int64_t instances, tile, reads, fills, updates;
};

void expect_record(const Kernel& kernel, const std::string& levels, double cycles, double energy,
                   const std::vector<Expected>& rows) {
  const HardwareModel model = machine("a1");
  auto schedule = parse_schedule(levels, "record.yaml", kernel, model);
  ASSERT_TRUE(schedule) << render(schedule.diagnostics());
  auto cost = cost_of(*schedule, kernel, model);
  ASSERT_TRUE(cost) << render(cost.diagnostics());
  EXPECT_EQ(cost->cycles, cycles);
  EXPECT_NEAR(cost->energy_pJ, energy, energy * 1e-9);
  // The simulator counts the same; the formula for fill, drain and single buffers meets its cycles.
  const Candidate candidate{&kernel, make_id<StatementId>(0), &model, schedule->nests.front()};
  auto simulated = make_cost_model_simulator()->estimate(candidate);
  const auto latency = make_cost_model_latency()->estimate(candidate);
  ASSERT_TRUE(simulated && latency);
  EXPECT_GE(simulated->cycles, cycles);
  EXPECT_NEAR(latency->cycles / simulated->cycles, 1, 0.05) << latency->cycles << " " << simulated->cycles;
  for (const auto& [memory, tensors] : cost->memories)
    for (const auto& [tensor, t] : tensors) {
      const TensorTraffic& s = simulated->memories[memory][tensor];
      EXPECT_EQ((std::tuple{s.instances, s.tile, s.reads, s.fills, s.updates}),
                (std::tuple{t.instances, t.tile, t.reads, t.fills, t.updates}))
          << memory << " " << tensor;
    }
  for (const Expected& row : rows) {
    SCOPED_TRACE(row.memory + " " + row.tensor);
    const TensorTraffic& t = cost->memories[row.memory][row.tensor];
    EXPECT_EQ(t.instances, row.instances);
    EXPECT_EQ(t.tile, row.tile);
    EXPECT_EQ(t.reads, row.reads);
    EXPECT_EQ(t.fills, row.fills);
    EXPECT_EQ(t.updates, row.updates);
  }
}

Kernel cube(const std::string& size) {
  return formula("Z[m,n] += A[m,k] * B[k,n]", "m=" + size + ",n=" + size + ",k=" + size, "A=s16,B=s16,Z=s16");
}

TEST(Records, GemmByHand) {
  expect_record(cube("64"), R"(schedule: g64_hand
levels:
  - {memory: DRAM, loops: [n 2, k 4], keep: [A, B, Z]}
  - {memory: GLB,  loops: [m 2, n 4], spatial: [m 8 x, n 2 y, k 8 y]}
  - {memory: RF,   loops: [m 4, n 4, k 2]}
)",
                2048, 5079040.0,
                {{"RF", "A", 128, 8, 2048, 128, 0},
                 {"RF", "B", 128, 8, 2048, 512, 0},
                 {"RF", "Z", 128, 16, 1792, 768, 2048},
                 {"GLB", "A", 1, 1024, 8192, 8192, 0},
                 {"GLB", "B", 1, 512, 8192, 4096, 0},
                 {"GLB", "Z", 1, 2048, 12288, 0, 16384},
                 {"DRAM", "A", 1, 4096, 8192, 0, 0},
                 {"DRAM", "B", 1, 4096, 4096, 0, 0},
                 {"DRAM", "Z", 1, 4096, 0, 0, 4096}});
}

TEST(Records, GemmOptimum) {
  expect_record(cube("64"), R"(schedule: gemm_64_opt
levels:
  - {memory: DRAM, loops: [m 16]}
  - {memory: GLB, loops: [], spatial: [m 4 x, n 4 x, k 16 y]}
  - {memory: RF, loops: [n 16, k 4]}
)",
                1024, 3858432.0,
                {{"RF", "A", 256, 4, 1024, 64, 0},
                 {"RF", "B", 256, 64, 1024, 64, 0},
                 {"RF", "Z", 256, 16, 768, 0, 1024},
                 {"GLB", "A", 1, 256, 4096, 4096, 0},
                 {"GLB", "B", 1, 4096, 4096, 4096, 0},
                 {"GLB", "Z", 1, 256, 0, 0, 4096},
                 {"DRAM", "A", 1, 4096, 4096, 0, 0},
                 {"DRAM", "B", 1, 4096, 4096, 0, 0},
                 {"DRAM", "Z", 1, 4096, 0, 0, 4096}});
}

TEST(Records, LargeGemmOptimum) {
  expect_record(cube("1024"), R"(schedule: gemm_1024_opt
levels:
  - {memory: DRAM, loops: [n 4, m 8, k 1024]}
  - {memory: GLB, spatial: [m 16 x, n 16 y]}
  - {memory: RF, loops: [m 8, n 16]}
)",
                4194304, 8452571136.0,
                {{"RF", "A", 256, 8, 4194304, 262144, 0},
                 {"RF", "B", 256, 16, 4194304, 524288, 0},
                 {"RF", "Z", 256, 128, 4190208, 0, 4194304},
                 {"GLB", "A", 1, 128, 4194304, 4194304, 0},
                 {"GLB", "B", 1, 256, 8388608, 8388608, 0},
                 {"GLB", "Z", 1, 32768, 0, 0, 1048576},
                 {"DRAM", "A", 1, 1048576, 4194304, 0, 0},
                 {"DRAM", "B", 1, 1048576, 8388608, 0, 0},
                 {"DRAM", "Z", 1, 1048576, 0, 0, 1048576}});
}

TEST(Records, ConvolutionWithSlidingWindows) {
  const Kernel kernel = kernel_yaml(R"(kernel: conv
dims: {K: 64, C: 64, P: 56, Q: 56, R: 3, S: 3}
tensors:
  Inputs: {shape: [C, P + R - 1, Q + S - 1], dtype: s16}
  Weights: {shape: [K, C, R, S], dtype: s16}
  Outputs: {shape: [K, P, Q], dtype: s16}
compute:
  - Outputs[k,p,q] += Inputs[c,p+r,q+s] * Weights[k,c,r,s]
)");
  expect_record(kernel, R"(schedule: conv2_3x3
levels:
  - {memory: DRAM, loops: [c 2, k 4, q 7, p 2]}
  - {memory: GLB, loops: [c 2, p 7, q 4], spatial: [k 16 x, c 8 y, q 2 y]}
  - {memory: RF, loops: [c 2, p 4, s 3, r 3]}
)",
                451584, 996734976.0,
                {{"RF", "Weights", 256, 18, 451584, 4032, 0},
                 {"RF", "Inputs", 256, 36, 451584, 169344, 0},
                 {"RF", "Outputs", 256, 4, 445312, 18816, 451584},
                 {"GLB", "Weights", 1, 4608, 516096, 36864, 0},
                 {"GLB", "Inputs", 1, 9600, 2709504, 1039360, 0},
                 {"GLB", "Outputs", 1, 3584, 602112, 200704, 802816},
                 {"DRAM", "Weights", 1, 36864, 36864, 0, 0},
                 {"DRAM", "Inputs", 1, 215296, 1039360, 0, 0},
                 {"DRAM", "Outputs", 1, 200704, 200704, 0, 401408}});
}

TEST(Records, TailsKeepEveryUnitBusy) {
  const Kernel kernel = formula("Z[m,n] += A[m,k] * B[k,n]", "m=127,n=131,k=113", "A=s16,B=s16,Z=s16");
  const HardwareModel model = machine("a1");
  auto schedule = parse_schedule(R"(schedule: a1_tail
levels:
  - {memory: DRAM, loops: [n 9, m 8, k 2]}
  - {memory: GLB, spatial: [m 16 x, n 16 y], keep: [A, Z]}
  - {memory: RF, loops: [k 57]}
)",
                                 "tail.yaml", kernel, model);
  ASSERT_TRUE(schedule) << render(schedule.diagnostics());
  auto cost = cost_of(*schedule, kernel, model);
  ASSERT_TRUE(cost) << render(cost.diagnostics());
  EXPECT_EQ(cost->memories["GLB"]["A"].fills, 129159);
  EXPECT_EQ(cost->memories["GLB"]["Z"].updates, 16637);
  EXPECT_FALSE(cost->memories["GLB"].contains("B"));
}

}  // namespace
}  // namespace isamap
