// SPDX-License-Identifier: Apache-2.0
// Parts in bands of rows as emitted programs: compared with the interpreter, and found where a cache is small.

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "backends/model_runner.h"
#include "driver/plan/band_price.h"
#include "driver/plan/plan_model.h"
#include "driver/run_model.h"
#include "isamap/hardware.h"
#include "planner/plan_file.h"
#include "planner/traffic.h"
#include "tests/every.h"
#include "tests/models_of_text.h"
#include "tests/planner/attention.h"
#include "tests/scratch.h"

namespace isamap {
namespace {

/// An image, an expansion of its channels, a depthwise window with a stride, a projection with a residual, a sum over
/// everything: bands may hold all but the last.
Model model_of_windows() {
  return model_of(R"(kernel windows
tensor X: f32[1,2,33,3] outside 0
tensor W0: f32[4,2,3] constant
tensor T0: f32[1,33,3,4]
tensor W1: f32[4,8] constant
tensor T1: f32[1,33,3,8] outside 0
tensor W2: f32[8,3,3] constant
tensor T2: f32[1,17,3,8]
tensor W3: f32[8,4] constant
tensor T3: f32[1,17,3,4]
tensor R: f32[1,17,3,4]
tensor T4: f32[1,17,3,4]
tensor Y: f32[4]
stem: T0[n,p,q,k] += X[n,c,p + r - 1,q] * W0[k,c,r] over n: 1, p: 33, q: 3, k: 4, c: 2, r: 3
expand: T1[n,p,q,k] += T0[n,p,q,c] * W1[c,k] over n: 1, p: 33, q: 3, k: 8, c: 4
depthwise: T2[n,p,q,c] += T1[n,2*p + r - 1,q + s - 1,c] * W2[c,r,s] over n: 1, p: 17, q: 3, c: 8, r: 3, s: 3
project: T3[n,p,q,k] += T2[n,p,q,c] * W3[c,k] over n: 1, p: 17, q: 3, k: 4, c: 8
residual: T4[n,p,q,k] = T3[n,p,q,k] + R[n,p,q,k] over n: 1, p: 17, q: 3, k: 4
sums: Y[k] += T4[n,p,q,k] over k: 4, n: 1, p: 17, q: 3
)");
}

/// Scalar code behind caches of a few lines, the second of which is filled slowly.
HardwareModel machine_with_small_caches() {
  std::ifstream in(std::string(ISAMAP_SOURCE_DIR) + "/hardware_models/scalar_c.yaml");
  std::stringstream text;
  text << in.rdbuf();
  std::string yaml = text.str();
  const auto put = [&](const std::string& old, const std::string& by) {
    const std::size_t at = yaml.find(old);
    ASSERT_NE(at, std::string::npos) << old;
    yaml.replace(at, old.size(), by);
  };
  put("capacity: 1MiB", "capacity: 4KiB");
  put("capacity: 32KiB", "capacity: 512B");
  put("links:\n",
      "links:\n  - {name: fill_l2, from: ram, to: l2, bandwidth: 0.25B/cycle}\n"
      "  - {name: fill_l1, from: l2, to: l1, bandwidth: 16B/cycle}\n");
  const std::string path = scratch("small_caches.yaml");
  std::ofstream(path) << yaml;
  auto loaded = load_hardware(path, {std::string(ISAMAP_SOURCE_DIR) + "/hardware_models"});
  EXPECT_TRUE(loaded) << (loaded ? "" : render(loaded.diagnostics()));
  return loaded->model;
}

class BandedModels : public testing::Test {
 protected:
  void emitted_bands_give_what_the_interpreter_gives(Every every);
  void heads_and_queries_are_rows(Every every);
  void sums_over_bands(Every every);
  BandedModels() : model_(model_of_windows()), machine_(machine_with_small_caches()), store_(machine_, options()) {
    data_ = random_data(model_.kernel, Fill::real, 3);
  }
  static PartStoreOptions options() {
    PartStoreOptions options;
    options.compile.schedule.max_evaluations = 10;
    return options;
  }
  /// Each statement a part.
  ModelPlan plan_with(std::vector<BandGroup> bands) const {
    ModelPlan plan;
    plan.parts = apart(model_.kernel);
    plan.bands = std::move(bands);
    EXPECT_TRUE(verify(plan, model_.kernel).empty());
    return plan;
  }
  double error_of(const ModelRun& run) const {
    std::vector<TensorData> expected = data_;
    interpret(model_.kernel, expected);
    double error = 0;
    for (std::int64_t i = 0; i < 4; ++i)
      error = std::max(error, std::abs(run.data[11].get(i).real - expected[11].get(i).real));
    return error;
  }
  Model model_;
  HardwareModel machine_;
  PartStore store_;
  std::vector<TensorData> data_;
};

void BandedModels::emitted_bands_give_what_the_interpreter_gives(Every every) {
  const CompiledModel whole = compile_model(model_, plan_with({}), store_);
  const auto stored = link_model(model_, whole, data_, machine_);
  ASSERT_TRUE(stored);
  for (const std::vector<BandGroup>& bands :
       {std::vector<BandGroup>{{0, 5, 2}}, {{0, 5, 5}}, {{0, 2, 4}, {2, 2, 3}}, {{1, 3, 1}}, {{2, 3, 17}}}) {
    if (every.skips()) continue;
    const CompiledModel compiled = compile_model(model_, plan_with(bands), store_);
    ASSERT_EQ(compiled.code, Exit::ok);
    const ModelRun run = run_model(model_, compiled, machine_, data_, {});
    ASSERT_EQ(run.code, Exit::ok) << (run.problems.empty() ? "" : run.problems.front().message);
    EXPECT_EQ(run.parts.size(), 6u);
    EXPECT_LT(error_of(run), 1e-3);
    if (bands[0].by < 5) {
      EXPECT_LT(run.arena_bytes, stored->arena_bytes);
    }
    EXPECT_LT(activation_bytes(model_.kernel, bands_as_parts(compiled.plan)),
              activation_bytes(model_.kernel, compiled.plan.parts));
  }
}

TEST_F(BandedModels, EmittedBandsGiveWhatTheInterpreterGives) {
  emitted_bands_give_what_the_interpreter_gives(Every(3));
}
TEST_F(BandedModels, HeavyEmittedBandsGiveWhatTheInterpreterGives) {
  emitted_bands_give_what_the_interpreter_gives(Every(1));
}

Model model_of_attention() { return model_of(attention_of_four_heads()); }

/// Heads with the weights that each of them reads, heads of stored queries, keys and values, and queries.
void BandedModels::heads_and_queries_are_rows(Every every) {
  const Model model = model_of_attention();
  const std::vector<TensorData> data = random_data(model.kernel, Fill::real, 3);
  std::vector<TensorData> expected = data;
  interpret(model.kernel, expected);
  for (const BandGroup& bands :
       {BandGroup{0, 8, 1, "h"}, {0, 8, 3, "h"}, {3, 5, 1, "h"}, {3, 5, 3, ""}, {2, 6, 2, "i"}}) {
    if (every.skips()) continue;
    ModelPlan plan;
    plan.parts = {{{0}}, {{1}}, {{2, 3}}, {{4}}, {{5}}, {{6}}, {{7}}, {{8}}};
    plan.bands = {bands};
    ASSERT_TRUE(verify(plan, model.kernel).empty()) << render(verify(plan, model.kernel));
    const CompiledModel compiled = compile_model(model, plan, store_);
    ASSERT_EQ(compiled.code, Exit::ok);
    const ModelRun run = run_model(model, compiled, machine_, data, {});
    ASSERT_EQ(run.code, Exit::ok) << bands.first << bands.along << ": " << render(run.problems);
    for (std::int64_t i = 0; i < expected[13].count(); ++i)
      ASSERT_NEAR(run.data[13].get(i).real, expected[13].get(i).real, 1e-4) << bands.first << bands.along << bands.by;
  }
}

TEST_F(BandedModels, HeadsAndQueriesAreRows) { heads_and_queries_are_rows(Every(4)); }
TEST_F(BandedModels, HeavyHeadsAndQueriesAreRows) { heads_and_queries_are_rows(Every(1)); }

/// Every band adds to the sum; what follows it, and what others read, is computed once.
void BandedModels::sums_over_bands(Every every) {
  for (const BandGroup& bands :
       {BandGroup{1, 3, 1, "c"}, {1, 3, 3, "c"}, {1, 3, 5, "c"}, {1, 3, 8, "c"}, {0, 2, 2, "c"}}) {
    if (every.skips()) continue;
    ModelPlan plan;
    plan.parts = {{{0}}, {{1}}, {{2}}, {{3, 4}}, {{5}}};
    plan.bands = {bands};
    ASSERT_TRUE(verify(plan, model_.kernel).empty()) << render(verify(plan, model_.kernel));
    const CompiledModel compiled = compile_model(model_, plan, store_);
    ASSERT_EQ(compiled.code, Exit::ok);
    const ModelRun run = run_model(model_, compiled, machine_, data_, {});
    ASSERT_EQ(run.code, Exit::ok) << bands.first << " by " << bands.by << ": " << render(run.problems);
    EXPECT_LT(error_of(run), 1e-3);
  }
}

TEST_F(BandedModels, SumsOverBands) { sums_over_bands(Every(4)); }
TEST_F(BandedModels, HeavySumsOverBands) { sums_over_bands(Every(1)); }

/// The rows that a band keeps for the next: without one of them the output is another.
TEST_F(BandedModels, ARowLessOfTheHaloIsSeen) {
  const CompiledModel compiled = compile_model(model_, plan_with({{0, 5, 4}}), store_);
  auto linked = link_model(model_, compiled, data_, machine_);
  ASSERT_TRUE(linked);
  const auto output = [&] {
    std::vector<std::vector<TracedArray>> traced(6);
    traced[5] = {{linked->calls[5].arguments.back(), 4 * 4}};
    for (const ModelPlace& place : linked->calls[5].arguments)
      if (place.in == ModelPlace::In::output) traced[5][0].place = place;
    std::vector<std::uint8_t> found;
    EXPECT_TRUE(run_model_program(*linked, machine_, {data_[0], data_[9]}, traced, {},
                                  [&](std::size_t part, const std::vector<std::vector<std::uint8_t>>& arrays) {
                                    if (part == 5) found = arrays[0];
                                    return true;
                                  }));
    return found;
  };
  const std::vector<std::uint8_t> right = output();
  ASSERT_EQ(linked->bands.size(), 1u);
  std::size_t moves = 0;
  for (ModelBandLoop& loop : linked->bands[0].loops)
    for (ModelBandStep& step : loop.steps)
      if (auto* rows = std::get_if<MovedRows>(&step.is)) rows->bytes = 0, ++moves;
  ASSERT_GT(moves, 0u);
  EXPECT_NE(output(), right);
}

TEST_F(BandedModels, TheSearchFindsThemWhereTheCacheIsSmall) {
  const ModelPlan plan = plan_model(model_, store_, {});
  EXPECT_FALSE(plan.bands.empty());
  EXPECT_TRUE(verify(plan, model_.kernel).empty());
  PlanOptions without;
  without.band_kernels = 0;
  const ModelPlan other = plan_model(model_, store_, without);
  EXPECT_TRUE(other.bands.empty());
  EXPECT_LT(plan.cost, other.cost);
  const Model stored = in_order(model_, plan.order);
  const ModelRun run =
      run_model(stored, compile_model(stored, plan, store_), machine_, in_order(data_, plan.order), {});
  EXPECT_EQ(run.code, Exit::ok) << (run.problems.empty() ? "" : run.problems.front().message);
}

/// Bands of rows would read all weights again in each of them, which the second cache does not hold.
TEST_F(BandedModels, TheSearchSumsWhereWeightsAreLarge) {
  Model model;
  model.kernel = *parse_kernel(R"(kernel block
tensor X: f32[1,9,8]
tensor W: f32[64,8] constant
tensor T: f32[1,9,64] outside 0
tensor D: f32[64,3] constant
tensor U: f32[1,9,64]
tensor P: f32[8,64] constant
tensor S: f32[1,9,8]
tensor Y: f32[1,9,8]
expand: T[n,p,k] += X[n,p,c] * W[k,c] over n: 1, p: 9, k: 64, c: 8
depthwise: U[n,p,c] += T[n,p + r - 1,c] * D[c,r] over n: 1, p: 9, c: 64, r: 3
project: S[n,p,k] += U[n,p,c] * P[k,c] over n: 1, p: 9, k: 8, c: 64
residual: Y[n,p,k] = S[n,p,k] + X[n,p,k] over n: 1, p: 9, k: 8
)");
  model.inputs = {make_id<TensorId>(0)};
  model.outputs = {make_id<TensorId>(7)};
  model.file_names = {{model.inputs[0], "x"}, {model.outputs[0], "y"}};
  const ModelPlan plan = plan_model(model, store_, {});
  ASSERT_EQ(plan.bands.size(), 1u) << print(plan, model.kernel, machine_.name);
  EXPECT_EQ(plan.bands[0].along, "c");
  EXPECT_EQ(plan.bands[0].count, 3u);
  EXPECT_EQ(plan.bands[0].by % 16, 0) << "whole lines";
  const Model stored = in_order(model, plan.order);
  const std::vector<TensorData> data = random_data(model.kernel, Fill::real, 3);
  const ModelRun run = run_model(stored, compile_model(stored, plan, store_), machine_, in_order(data, plan.order), {});
  EXPECT_EQ(run.code, Exit::ok) << render(run.problems);
  PlanOptions strict;
  strict.band_gain = 0.99;
  strict.plan_ties = 0;
  const ModelPlan without = plan_model(model, store_, strict);
  EXPECT_TRUE(without.bands.empty());
  strict.plan_ties = 0.5;
  const ModelPlan fewer = plan_model(model, store_, strict);
  EXPECT_EQ(fewer.bands.size(), 1u) << "two parts less at about the same price";
  EXPECT_LE(fewer.cost, 1.5 * without.cost);
  EXPECT_FALSE(fewer.proved);
}

/// A classifier whose bands sum over channels reads each of its weights once, as it does without bands.
TEST_F(BandedModels, SlicedWeightsComeFromWhereTheModelLeavesThem) {
  const Model model = model_of(R"(kernel classifier
tensor X: f32[49,8]
tensor W: f32[8,64] constant
tensor T: f32[49,64]
tensor P: f32[64]
tensor V: f32[64,2048] constant
tensor Y: f32[2048]
expand: T[p,k] += X[p,c] * W[c,k] over p: 49, k: 64, c: 8
pool: P[k] += T[p,k] over k: 64, p: 49
classify: Y[m] += P[k] * V[k,m] over m: 2048, k: 64
)");
  HardwareModel cold = machine_;
  cold.timing.between_runs = 1 << 30;
  PartStore store(cold, options());
  const std::vector<Part> parts = apart(model.kernel);
  const BandSchedule sums = *band_schedule(model.kernel, parts, 16, "k"),
                     rows = *band_schedule(model_of_windows().kernel, {{{1}}, {{2}}, {{3}}}, 4);
  EXPECT_EQ(weights_between(model.kernel, parts[2], sums), Between::model);
  EXPECT_EQ(weights_between(model.kernel, parts[1], sums), Between::bands) << "none";
  EXPECT_EQ(weights_between(model_.kernel, {{3}}, rows), Between::bands) << "every band reads all of them";
  PlanOptions any;
  any.band_gain = -100;
  const ModelPlan plan = plan_model(model, store, any);
  EXPECT_FALSE(plan.bands.empty());
  EXPECT_GE(plan.cost, 64 * 2048 * 4 / band_caches(cold)->far);
}

/// T is read and written along its outer axis, U along its inner one, and no statement has both.
TEST_F(BandedModels, TensorsThatNeverMeetMayDifferInOrder) {
  const Model model = model_of(R"(kernel branches
tensor X: f32[48,40]
tensor W: f32[40,64] constant
tensor V: f32[64,32] constant
tensor T: f32[64,48]
tensor U: f32[48,32]
tensor S: f32[32,32] constant
tensor Y: f32[48,32]
tensor Z: f32[48,32]
first: T[j,i] += X[i,k] * W[k,j] over j: 64, i: 48, k: 40
second: Y[i,m] += T[j,i] * V[j,m] over i: 48, m: 32, j: 64
third: U[i,m] += X[i,k] * W[k,m] over i: 48, m: 32, k: 40
fourth: Z[i,m] += U[i,l] * S[l,m] over i: 48, m: 32, l: 32
)");
  const auto loaded = load_hardware("x86_avx512", {std::string(ISAMAP_SOURCE_DIR) + "/hardware_models"});
  ASSERT_TRUE(loaded) << render(loaded.diagnostics());
  PartStore store(loaded->model, options());
  const ModelPlan plan = plan_model(model, store, {});
  ASSERT_EQ(plan.order.size(), model.kernel.tensors.size()) << ::testing::PrintToString(plan.orders_priced);
  EXPECT_EQ(plan.order[3], (std::vector<int>{1, 0}));
  EXPECT_EQ(plan.order[4], (std::vector<int>{})) << ::testing::PrintToString(plan.orders_priced);
}

/// An order that is dearer part by part: only there a band of rows is one block.
TEST_F(BandedModels, OrdersArePricedWithTheirBands) {
  const Model model = model_of(R"(kernel block
tensor X: f32[2,999]
tensor W: f32[4,2] constant
tensor T: f32[4,999] outside 0
tensor D: f32[4,5] constant
tensor U: f32[4,999]
tensor P: f32[2,4] constant
tensor Y: f32[2,999]
expand: T[k,p] += X[c,p] * W[k,c] over k: 4, p: 999, c: 2
depthwise: U[c,p] += T[c,p + r - 2] * D[c,r] over c: 4, p: 999, r: 5
project: Y[k,p] += U[c,p] * P[k,c] over k: 2, p: 999, c: 4
)");
  PlanOptions one, any;
  one.tied_orders = 0;
  any.order_ties = 10;
  const ModelPlan before = plan_model(model, store_, one), plan = plan_model(model, store_, any);
  EXPECT_EQ(before.order, (std::vector<std::vector<int>>{}));
  EXPECT_FALSE(plan.bands.empty());
  EXPECT_LT(plan.cost, before.cost);
  EXPECT_EQ(plan.orders_priced.size(), before.orders_priced.size() + 1);
  const Model stored = in_order(model, plan.order);
  const std::vector<TensorData> data = random_data(model.kernel, Fill::real, 3);
  const ModelRun run = run_model(stored, compile_model(stored, plan, store_), machine_, in_order(data, plan.order), {});
  EXPECT_EQ(run.code, Exit::ok) << render(run.problems);
}

/// Every part reads rows of its own only: few of them, which the nearest cache holds until the last part has read them.
TEST_F(BandedModels, ASoftmaxOfManyRowsIsOnePass) {
  const Model model = model_of(R"(kernel softmax
tensor X: f32[1536,128]
tensor M: f32[1536]
tensor E: f32[1536,128]
tensor S: f32[1536]
tensor Y: f32[1536,128]
maximum: M[i] max= X[i,j] over i: 1536, j: 128
exponent: E[i,j] = exp(X[i,j] - M[i]) over i: 1536, j: 128
total: S[i] += E[i,j] over i: 1536, j: 128
normalise: Y[i,j] = E[i,j] * S[i] over i: 1536, j: 128
)");
  const HardwareModel large = load_hardware("x86_avx512", {std::string(ISAMAP_SOURCE_DIR) + "/hardware_models"})->model;
  PartStoreOptions with = options();
  with.compile.schedule.max_evaluations = 50;
  PartStore store(large, with);
  const ModelPlan plan = plan_model(model, store, {});
  ASSERT_EQ(plan.bands.size(), 1u) << print(plan, model.kernel, large.name);
  EXPECT_EQ(plan.bands[0].count, 4u);
  EXPECT_LE(plan.bands[0].by * 128 * 4, 24 << 10) << "half of the nearest cache";
}

/// All tensors of the block fit the second cache, so that rows save next to nothing, and no row the nearest one: a
/// group of bands is a part less at about the same price.
TEST_F(BandedModels, ABlockThatFitsTheSecondCacheHasFewerParts) {
  const Model model = model_of(R"(kernel block
tensor X: f32[14,14,64]
tensor W: f32[384,64] constant
tensor T: f32[14,14,384] outside 0
tensor D: f32[384,3,3] constant
tensor U: f32[14,14,384]
tensor P: f32[64,384] constant
tensor Y: f32[14,14,64]
expand: T[p,q,k] += X[p,q,c] * W[k,c] over p: 14, q: 14, k: 384, c: 64
depthwise: U[p,q,c] += T[p + r - 1,q + s - 1,c] * D[c,r,s] over p: 14, q: 14, c: 384, r: 3, s: 3
project: Y[p,q,k] += U[p,q,c] * P[k,c] over p: 14, q: 14, k: 64, c: 384
)");
  const HardwareModel large = load_hardware("x86_zen4", {std::string(ISAMAP_SOURCE_DIR) + "/hardware_models"})->model;
  PartStoreOptions with = options();
  with.compile.schedule.max_evaluations = 100;
  PartStore store(large, with);
  PlanOptions cheapest;
  cheapest.plan_ties = 0;
  EXPECT_TRUE(plan_model(model, store, cheapest).bands.empty());
  const ModelPlan plan = plan_model(model, store, {});
  ASSERT_EQ(plan.bands.size(), 1u) << print(plan, model.kernel, large.name);
  EXPECT_EQ(plan.bands[0].along, "");
}

TEST_F(BandedModels, NoBandsWhereEverythingFits) {
  const HardwareModel large = load_hardware("x86_avx512", {std::string(ISAMAP_SOURCE_DIR) + "/hardware_models"})->model;
  PartStore store(large, options());
  EXPECT_TRUE(plan_model(model_, store, {}).bands.empty());
}

}  // namespace
}  // namespace isamap
