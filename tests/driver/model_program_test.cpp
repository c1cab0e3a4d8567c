// SPDX-License-Identifier: Apache-2.0
// Whole models through the library: linked, executed, compared; and what a broken program would look like.

#include <gtest/gtest.h>

#include "backends/cpp/model/model_unit.h"
#include "frontends/layers.h"
#include "ir/text/parse.h"
#include "isamap/backend.h"
#include "tests/driver/on_machine.h"
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

class ModelPrograms : public testing::Test {
 protected:
  const Model model_ = small_model();
  OnMachine on_{model_, described("scalar_c"), single_statements(model_.kernel), Fill::real, 20};
};

TEST_F(ModelPrograms, EqualPartsAreOneProgram) {
  ASSERT_EQ(on_.compiled.code, Exit::ok);
  EXPECT_EQ(on_.compiled.parts.size(), 5u);
  EXPECT_EQ(on_.compiled.programs.size(), 4u);
  EXPECT_EQ(on_.compiled.parts[2].same_as, 0u);
  const auto linked = on_.link();
  ASSERT_TRUE(linked);
  EXPECT_EQ(linked->calls.size(), 5u);
  EXPECT_LE(linked->weights.size(), 2u * 9 * 9 * 4 + 64) << "the weights of both products are there once";
  EXPECT_GE(linked->arena_bytes, linked->arena_bound);
}

TEST_F(ModelPrograms, WholeOnesComputeWhatTheInterpreterDoes) {
  const ModelRun run = on_.run();
  ASSERT_EQ(run.code, Exit::ok) << (run.problems.empty() ? "" : run.problems.front().message);
  EXPECT_TRUE(run.whole);
  EXPECT_EQ(run.parts.size(), 5u);
  const std::vector<TensorData> expected = on_.expected();
  for (std::int64_t i = 0; i < 7; ++i) EXPECT_NEAR(run.data[6].get(i).real, expected[6].get(i).real, 1e-4);
}

/// R is needed until the last part. Placed where V goes, it is overwritten, and the part that then reads it is wrong.
TEST_F(ModelPrograms, WrongPlacesInTheArenaAreSeenAsWrongParts) {
  auto linked = on_.link();
  ASSERT_TRUE(linked);
  const std::vector<std::uint8_t> right = on_.last(*linked, "Y", 7 * 4);
  const std::vector<TensorData> expected = on_.expected();
  TensorData y = expected[6];
  y.bytes = right;
  for (std::int64_t i = 0; i < 7; ++i) EXPECT_NEAR(y.get(i).real, expected[6].get(i).real, 1e-4);
  on_.place_of(*linked, 3, "V") = on_.place_of(*linked, 4, "V") = on_.place_of(*linked, 1, "R");
  EXPECT_NE(on_.last(*linked, "Y", 7 * 4), right);
}

TEST_F(ModelPrograms, PlansOfTheSearchAreLegalAndNotDearer) {
  const ModelPlan chains = chain_plan(model_.kernel);
  EXPECT_TRUE(verify(chains, model_.kernel).empty());
  const ModelPlan plan = plan_model(model_, on_.store, {});
  EXPECT_TRUE(verify(plan, model_.kernel).empty());
  EXPECT_LE(plan.cost, on_.compiled.predicted_cycles);
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

/// A product ahead of the steps, a recurrence over states that begin as another statement says, and what reads them.
Model recurrent_model() {
  return model_of(R"(kernel recurrent
tensor X: f32[5,7]
tensor W: f32[7,7] constant
tensor G: f32[5,7]
tensor U: f32[5,7]
tensor S: f32[6,7]
tensor R: f32[5,7]
tensor Y: f32[5]
ahead: G[i,j] += X[i,k] * W[k,j] over i: 5, j: 7, k: 7
relu: U[i,j] = max(G[i,j], 0) over i: 5, j: 7
begin: S[0,j] = X[0,j] over j: 7
repeat t: 5 of 2 statements
state: R[t,j] += S[t,k] * W[k,j] over t: 5, j: 7, k: 7
next: S[t + 1,j] = max(R[t,j] + U[t,j], 0) over t: 5, j: 7
rows: Y[i] += S[i + 1,j] * X[i,j] over i: 5, j: 7
)");
}

TEST(ChainPlan, RecurrencesArePartsOfTheirOwn) {
  const Model model = recurrent_model();
  const ModelPlan plan = chain_plan(model.kernel);
  EXPECT_TRUE(verify(plan, model.kernel).empty());
  EXPECT_EQ(plan.parts, (std::vector<Part>{{{0, 1}}, {{2}}, {{3, 4}}, {{5}}}));
  const Kernel steps = cut(model.kernel, plan.parts[2].statements, "steps");
  EXPECT_EQ(steps.repeats, (std::vector<Repeat>{{"t", 5, 0, 2}}));
  EXPECT_TRUE(cut(model.kernel, std::vector<std::size_t>{4}, "half").repeats.empty());
}

TEST(ChainPlan, ModelsCutAtTheirRecurrencesComputeWhatTheInterpreterDoes) {
  for (const char* machine : {"scalar_c", "x86_avx512"}) {
    const Model model = recurrent_model();
    const OnMachine on(model, described(machine), chain_plan(model.kernel), Fill::real, 20);
    if (availability(on.machine).how != ExecutionMode::native) continue;
    const ModelRun run = on.run();
    ASSERT_EQ(run.code, Exit::ok) << machine << (run.problems.empty() ? "" : run.problems.front().message);
    EXPECT_EQ(run.parts.size(), 4u);
    const std::vector<TensorData> expected = on.expected();
    for (std::int64_t i = 0; i < 5; ++i) EXPECT_NEAR(run.data[6].get(i).real, expected[6].get(i).real, 1e-4);
    PartStore store(on.machine, OnMachine::searched_for(20));
    const ModelPlan searched = plan_model(model, store, {});
    EXPECT_TRUE(verify(searched, model.kernel).empty());
  }
}

TEST_F(ModelPrograms, ResultsDoNotDependOnTheNumberOfJobs) {
  PartStoreOptions several = OnMachine::searched_for(20);
  several.jobs = 3;
  PartStore other(on_.machine, several);
  const CompiledModel again = compile_model(model_, single_statements(model_.kernel), other);
  ASSERT_EQ(again.programs.size(), on_.compiled.programs.size());
  for (std::size_t p = 0; p < again.programs.size(); ++p)
    EXPECT_EQ(*again.programs[p]->program, *on_.compiled.programs[p]->program);
  EXPECT_EQ(other.searched, 4u);
}

/// Exported models name tensors by their layers; functions have the end of such names.
TEST(LongNames, AreCutInFunctionsOfParts) {
  const Model model = model_of(R"(kernel long
tensor encoder_layers_12_attention_output: f32[5]
tensor encoder_layers_13_attention_output: f32[5]
added: encoder_layers_13_attention_output[i] = encoder_layers_12_attention_output[i] + 1 over i: 5
)");
  const OnMachine on(model, described("scalar_c"), single_statements(model.kernel), Fill::real, 10);
  const auto linked = on.link();
  ASSERT_TRUE(linked) << render(linked.diagnostics());
  const auto unit = print_model(*linked, on.machine);
  ASSERT_TRUE(unit) << render(unit.diagnostics());
  for (const char* line : {"attention_output: f32[5], 20 bytes, 'encoder_layers_12_attention_output'\n",
                           "attention_output_2: f32[5], 20 bytes, written, 'encoder_layers_13_attention_output'\n",
                           "_part_0(const float* __restrict attention_output, float* __restrict attention_output_2, "})
    EXPECT_NE(unit->text.find(line), std::string::npos) << line;
  EXPECT_EQ(on.run().code, Exit::ok);
}

}  // namespace
}  // namespace isamap
