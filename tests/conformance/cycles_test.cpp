// What a schedule is predicted to cost and what its program costs in the simulator, on every accelerator: cycles of
// commands with cycles of commands, scalar code with scalar code.

#include <gtest/gtest.h>

#include <cmath>

#include "backends/backend.h"
#include "tests/conformance/matrix.h"

namespace isamap::conformance {
namespace {

constexpr double factor = 2.5;        // between prediction and simulation
constexpr double least_cycles = 500;  // below, latencies that overlap by chance decide

class Cycles : public testing::TestWithParam<std::string> {};

TEST_P(Cycles, PredictionAndSimulationAgree) {
  const HardwareModel model = load_model(GetParam());
  const auto runner = make_runner(model);
  int compared = 0;
  for (const char* example : {"gemm_s8", "gemm", "gemm_bf16", "conv2d_s8", "conv2d_nhwc", "conv2d", "pointwise",
                              "conv2d_strided", "depthwise", "depthwise_nhwc", "batched_gemm", "linear_relu"}) {
    const auto variant = small(example, 100000);
    ASSERT_TRUE(variant);
    const Compiled compiled = compile(variant->kernel, model);
    ASSERT_TRUE(compiled.program) << compiled.problem;
    const Cost& cost = compiled.scheduled->cost;
    auto data = random_data(variant->kernel, Fill::integers, 7);
    const auto outcome = runner->run(*compiled.program, data, RunLimits{}, 0);
    ASSERT_TRUE(outcome) << render(outcome.diagnostics());
    const auto near = [&](double predicted, double found, const char* what) {
      if (predicted < least_cycles && found < least_cycles) return;
      ++compared;
      EXPECT_LT(std::max(predicted, found), factor * std::max(std::min(predicted, found), 1.0))
          << model.name << " x " << example << ": " << what << " predicted " << predicted << ", simulated " << found
          << "\n"
          << print(compiled.scheduled->schedule);
    };
    near(cost.cycles - cost.scalar_cycles, static_cast<double>(outcome->cycles), "cycles");
    near(cost.scalar_cycles, outcome->scalar_cycles, "cycles of scalar code");
  }
  EXPECT_GT(compared, 0);
}

INSTANTIATE_TEST_SUITE_P(Model, Cycles, testing::ValuesIn(accelerator_names()), model_of_case);

}  // namespace
}  // namespace isamap::conformance
