// SPDX-License-Identifier: Apache-2.0
// Biases in front of their sums or behind them: by the prices of both, on machines that fill their accumulators and
// where no schedule does.

#include "driver/bias_placement.h"

#include <gtest/gtest.h>

#include "tests/driver/on_machine.h"
#include "tests/models_of_text.h"

namespace isamap {
namespace {

/// A window of 3x3 and a product, each with bias; the first has a ReLU, which no instruction computes.
Model window_and_product() {
  Model model = model_of(R"(kernel biased
tensor X: f32[3,9,9]
tensor F: f32[5,3,3,3] constant
tensor C: f32[5] constant
tensor T: f32[5,7,7]
tensor R: f32[5,7,7]
tensor A: f32[19,21]
tensor W: f32[21,37] constant
tensor B: f32[37] constant
tensor U: f32[19,37]
tensor Y: f32[19,37]
window: T[k,p,q] += X[c,p+r,q+s] * F[k,c,r,s] over k: 5, p: 7, q: 7, c: 3, r: 3, s: 3
relu: R[k,p,q] = max(T[k,p,q] + C[k], 0) over k: 5, p: 7, q: 7
product: U[i,j] += A[i,k] * W[k,j] over i: 19, j: 37, k: 21
add: Y[i,j] = U[i,j] + B[j] over i: 19, j: 37
)");
  model.origins.resize(model.kernel.statements.size());
  return model;
}

double cost_of(const Model& model, PartStore& store) { return plan_model(model, store, {}).cost; }

class CheapestFit : public testing::TestWithParam<const char*> {};

TEST_P(CheapestFit, IsDearerThanNeitherForm) {
  const HardwareModel machine = described(GetParam());
  PartStore store(machine, OnMachine::searched_for(40));
  const Model model = window_and_product(), in_front = fitted_to(model, machine);
  const std::vector<std::string> sums = sums_with_biases_first(in_front.kernel);
  ASSERT_EQ(sums, (std::vector<std::string>{"window", "product"}));
  const Model behind = fitted_to(model, machine, {false, {sums.begin(), sums.end()}});
  EXPECT_TRUE(sums_with_biases_first(behind.kernel).empty());
  const Model best = place_biases(model, store, {}, false);
  const double cost = cost_of(best, store);
  EXPECT_LE(cost, cost_of(in_front, store));
  EXPECT_LE(cost, cost_of(behind, store));
}

INSTANTIATE_TEST_SUITE_P(Machines, CheapestFit, testing::Values("output_stationary16", "dot16", "conv3x3"),
                         [](const auto& machine) { return std::string(machine.param); });

/// There the schedule of the window cannot begin with its bias, and that of the product does.
TEST(CheapestFitAlone, MixesTheTwoForms) {
  const HardwareModel machine = described("output_stationary16");
  PartStore store(machine, OnMachine::searched_for(40));
  const Model best = place_biases(window_and_product(), store, {}, false);
  EXPECT_EQ(sums_with_biases_first(best.kernel), (std::vector<std::string>{"product"}));
  EXPECT_TRUE(verify(best.kernel).empty());
}

}  // namespace
}  // namespace isamap
