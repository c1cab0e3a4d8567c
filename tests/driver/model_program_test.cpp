// SPDX-License-Identifier: Apache-2.0
// Whole models through the library: linked, executed, compared; and what a broken program would look like.

#include <gtest/gtest.h>

#include "backends/model_runner.h"
#include "driver/plan_model.h"
#include "driver/run_model.h"
#include "ir/text/parse.h"
#include "isamap/hardware.h"
#include "tests/model_places.h"
#include "tests/models_of_text.h"

namespace isamap {
namespace {

/// Two products, each with an activation, a residual over both, and a sum over rows: five tensors between parts.
Model small_model() {
  return model_of(R"(kernel small
tensor X: f32[7,9]
tensor W: f32[9,9] constant
tensor T: f32[7,9]
tensor R: f32[7,9]
tensor U: f32[7,9]
tensor V: f32[7,9]
tensor Y: f32[7]
first: T[i,j] += X[i,k] * W[k,j] over i: 7, j: 9, k: 9
relu: R[i,j] = max(T[i,j], 0) over i: 7, j: 9
second: U[i,j] += R[i,k] * W[k,j] over i: 7, j: 9, k: 9
residual: V[i,j] = U[i,j] + X[i,j] over i: 7, j: 9
rows: Y[i] += V[i,j] * R[i,j] over i: 7, j: 9
)");
}

HardwareModel scalar_machine() {
  return load_hardware("scalar_c", {std::string(ISAMAP_SOURCE_DIR) + "/hardware_models"})->model;
}

class ModelPrograms : public testing::Test {
 protected:
  ModelPrograms() : model_(small_model()), machine_(scalar_machine()), store_(machine_, options()) {
    data_ = random_data(model_.kernel, Fill::real, 3);
    compiled_ = compile_model(model_, single_statements(model_.kernel), store_);
  }
  static PartStoreOptions options() {
    PartStoreOptions options;
    options.compile.schedule.max_evaluations = 20;
    return options;
  }
  Model model_;
  HardwareModel machine_;
  PartStore store_;
  CompiledModel compiled_;
  std::vector<TensorData> data_;
};

TEST_F(ModelPrograms, EqualPartsAreOneProgram) {
  ASSERT_EQ(compiled_.code, Exit::ok);
  EXPECT_EQ(compiled_.parts.size(), 5u);
  EXPECT_EQ(compiled_.programs.size(), 4u);
  EXPECT_EQ(compiled_.parts[2].same_as, 0u);
  const auto linked = link_model(model_, compiled_, data_, machine_);
  ASSERT_TRUE(linked);
  EXPECT_EQ(linked->calls.size(), 5u);
  EXPECT_LE(linked->weights.size(), 2u * 9 * 9 * 4 + 64) << "the weights of both products are there once";
  EXPECT_GE(linked->arena_bytes, linked->arena_bound);
}

TEST_F(ModelPrograms, WholeOnesComputeWhatTheInterpreterDoes) {
  const ModelRun run = run_model(model_, compiled_, machine_, data_, {});
  ASSERT_EQ(run.code, Exit::ok) << (run.problems.empty() ? "" : run.problems.front().message);
  EXPECT_TRUE(run.whole);
  EXPECT_EQ(run.parts.size(), 5u);
  std::vector<TensorData> expected = data_;
  interpret(model_.kernel, expected);
  for (std::int64_t i = 0; i < 7; ++i) EXPECT_NEAR(run.data[6].get(i).real, expected[6].get(i).real, 1e-4);
}

/// R is needed until the last part. Placed where V goes, it is overwritten, and the part that then reads it is wrong.
TEST_F(ModelPrograms, WrongPlacesInTheArenaAreSeenAsWrongParts) {
  auto linked = link_model(model_, compiled_, data_, machine_);
  ASSERT_TRUE(linked);
  const auto place_of = [&](std::size_t call, const std::string& name) -> ModelPlace& {
    return place_in(*linked, compiled_, call, name);
  };
  const auto rows = [&] { return bytes_after(*linked, machine_, data_[0], {place_of(4, "Y"), 7 * 4}); };
  const std::vector<std::uint8_t> right = rows();
  std::vector<TensorData> expected = data_;
  interpret(model_.kernel, expected);
  TensorData y = expected[6];
  y.bytes = right;
  for (std::int64_t i = 0; i < 7; ++i) EXPECT_NEAR(y.get(i).real, expected[6].get(i).real, 1e-4);
  place_of(3, "V") = place_of(4, "V") = place_of(1, "R");
  EXPECT_NE(rows(), right);
}

TEST_F(ModelPrograms, PlansOfTheSearchAreLegalAndNotDearer) {
  const ModelPlan chains = chain_plan(model_.kernel);
  EXPECT_TRUE(verify(chains, model_.kernel).empty());
  const ModelPlan plan = plan_model(model_, store_, {});
  EXPECT_TRUE(verify(plan, model_.kernel).empty());
  EXPECT_LE(plan.cost, compiled_.predicted_cycles);
  EXPECT_LE(plan.bound, plan.cost);
}

TEST(ChainPlan, StatementsOfOtherBranchesDoNotCutAChain) {
  const Kernel kernel = *parse_kernel(R"(kernel branches
tensor X: f32[7,9]
tensor W: f32[9,9] constant
tensor T: f32[7,9]
tensor U: f32[7,9]
tensor R: f32[7,9]
tensor S: f32[7,9]
tensor Y: f32[7,9]
first: T[i,j] += X[i,k] * W[k,j] over i: 7, j: 9, k: 9
second: U[i,j] += X[i,k] * W[j,k] over i: 7, j: 9, k: 9
relu: R[i,j] = max(T[i,j], 0) over i: 7, j: 9
other: S[i,j] = max(U[i,j], 1) over i: 7, j: 9
both: Y[i,j] = R[i,j] + S[i,j] over i: 7, j: 9
)");
  const ModelPlan plan = chain_plan(kernel);
  EXPECT_TRUE(verify(plan, kernel).empty());
  EXPECT_EQ(plan.parts, (std::vector<Part>{{{0, 2}}, {{1, 3, 4}}}));
}

TEST_F(ModelPrograms, ResultsDoNotDependOnTheNumberOfJobs) {
  PartStoreOptions several = options();
  several.jobs = 3;
  PartStore other(machine_, several);
  const CompiledModel again = compile_model(model_, single_statements(model_.kernel), other);
  ASSERT_EQ(again.programs.size(), compiled_.programs.size());
  for (std::size_t p = 0; p < again.programs.size(); ++p)
    EXPECT_EQ(*again.programs[p]->program, *compiled_.programs[p]->program);
  EXPECT_EQ(other.searched, 4u);
}

}  // namespace
}  // namespace isamap
