// SPDX-License-Identifier: Apache-2.0
// Models for all sizes through the library: lifted from imports, compiled once, compared with an import of each size.

#include "driver/symbolic/symbolic_model.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "backends/cpp/model/sized_model.h"
#include "backends/cpp/plain_loops.h"
#include "driver/plan/plan_model.h"
#include "driver/symbolic/recurrent_parts.h"
#include "driver/symbolic/symbolic_model_run.h"
#include "frontends/lifted_sizes.h"
#include "frontends/size_ranges.h"
#include "isamap/backend.h"
#include "isamap/frontends.h"
#include "isamap/hardware.h"
#include "tests/frontends/onnx_bytes.h"
#include "tests/models_of_text.h"
#include "tests/scratch.h"

namespace isamap {
namespace {

HardwareModel model_machine(const std::string& name = "scalar_c", const std::string& cores = "") {
  LoadOptions options;
  if (!cores.empty()) options.params = {{"cores", cores}};
  return load_hardware(name, {std::string(ISAMAP_SOURCE_DIR) + "/hardware_models"}, options)->model;
}

/// Scores of rows against each other, a table of positions, and a mean over all rows. `shift`: what is wrong at some
/// size; `start`: of the table.
Model scores_at(std::int64_t n, int shift = 0, double start = 0) {
  Model model = model_of(fmt::format(R"(kernel scores
tensor X: f32[{0},6]
tensor P: f32[{0},6] constant
tensor A: f32[{0},6]
tensor S: f32[{0},{0}]
tensor T: f32[6]
tensor Y: f32[6]
add: A[i,k] = X[i,k] + P[i,k] over i: {0}, k: 6
score: S[i,j] += A[i,k] * A[j,k] over i: {0}, j: {0}, k: 6
mix: T[k] += S[i,j] * A[j,k] over k: 6, i: {0}, j: {0}
mean: Y[k] = T[k] / {1} over k: 6
)",
                                     n, n + shift));
  auto table = std::make_shared<TensorData>(make_data(model.kernel.tensors[1]));
  for (std::int64_t i = 0; i < table->count(); ++i) table->set(i, {start * double(n) + double(i % 11) / 8, 0});
  Weight weight;
  weight.tensor = make_id<TensorId>(1);
  weight.values = table;
  model.weights = {weight};
  return with_origins(std::move(model));
}

struct Compiled {
  HardwareModel machine;
  SampledModel sampled;
  CompiledSymbolicModelParts parts;
  std::unique_ptr<SymbolicModelRunner> runner;

  explicit Compiled(
      const std::string& dims, Model (*model_at)(std::int64_t) = [](std::int64_t n) { return scores_at(n); },
      const std::vector<BandGroup>& bands = {}, const std::string& target = "scalar_c", const std::string& cores = "")
      : machine(model_machine(target, cores)) {
    sampled = *sample_model(*size_facts_of(dims),
                            [&](const Bindings& at, const ValuesOfSizes&) { return model_at(at.at("N")); });
    SymbolicModelOptions options;
    options.compile.schedule.max_evaluations = 20;
    const Kernel& kernel = sampled.models[0].kernel;
    ModelPlan plan = kernel.repeats.empty() ? single_statements(kernel) : chain_plan(kernel);
    plan.bands = bands;
    auto made = compile_symbolic_model(sampled, plan, machine, options);
    if (!made) throw std::runtime_error(render(made.diagnostics()));
    parts = std::move(*made);
    runner = make_symbolic_model_runner(parts.program, machine);
  }
  ModelRun run(std::int64_t n, const Model& model) {
    Random random(7);
    const auto data = data_of(model, {random_data(model.kernel.tensors[0], Fill::real, random)});
    const Bindings sizes{{"N", n}};
    return run_symbolic_model(parts, *runner, sampled, {sizes, model, *data}, {});
  }
};

TEST(SymbolicModels, OneCompilationServesEverySize) {
  Compiled compiled("N=1..40@9");
  for (const std::int64_t n : {1, 2, 5, 16, 40}) {
    const ModelRun run = compiled.run(n, scores_at(n));
    EXPECT_EQ(static_cast<int>(run.code), 0) << n << ": " << render(run.problems);
    EXPECT_EQ(run.parts.size(), 4u);
  }
  EXPECT_EQ(compiled.runner->compilations(), 1);
}

/// Scores of three heads with a mask of queries by keys, less the largest of their row.
Model heads_at(std::int64_t n) {
  return with_origins(model_of(fmt::format(R"(kernel heads
tensor X: f32[{0},3,2]
tensor A: f32[3,2,{0}]
tensor S: f32[3,{0},{0}]
tensor M: f32[3,{0}]
tensor E: f32[3,{0},{0}]
tensor Y: f32[3,{0}]
tensor K: f32[{0},{0}]
tensor T: f32[3,{0},{0}]
add: A[h,k,i] = X[i,h,k] + 1 over h: 3, k: 2, i: {0}
score: S[h,i,j] += A[h,k,i] * A[h,k,j] over h: 3, i: {0}, j: {0}, k: 2
mask: T[h,i,j] = S[h,i,j] + K[i,j] over h: 3, i: {0}, j: {0}
most: M[h,i] max= T[h,i,j] over h: 3, i: {0}, j: {0}
less: E[h,i,j] = T[h,i,j] - M[h,i] over h: 3, i: {0}, j: {0}
sum: Y[h,i] += E[h,i,j] over h: 3, i: {0}, j: {0}
)",
                                           n)));
}

/// Rows divided by their number, as the mean over another axis of the same size is.
Model rows_over_their_number(std::int64_t n) {
  return with_origins(model_of(fmt::format(R"(kernel parts_of_a_whole
tensor X: f32[{0},6]
tensor Y: f32[{0},6]
tensor Z: f32[{0},6]
mean: Y[i,k] = X[i,k] * {1} over i: {0}, k: 6
whole: Z[i,k] = Y[i,k] * {0} over i: {0}, k: 6
)",
                                           n, 1.0 / static_cast<double>(n))));
}

/// Shares for any work, however little.
void start_for_nothing(SymbolicModelProgram& program) {
  for (SymbolicPartProgram& part : program.programs) {
    if (!part.rows) continue;
    for (RowVersion& version : part.rows->versions) version.shares.start = -1;
    for (Grid& grid : part.rows->grids) grid.shares.start = -1;
  }
}

/// Parts of rows, of grids and plain loops; products by weights that are distributed along columns.
Model mixed_at(std::int64_t n) {
  Model model = model_of(fmt::format(R"(kernel mixed
tensor X: f32[{0},24]
tensor W: f32[24,40] constant
tensor A: f32[{0},40]
tensor S: f32[{0},{0}]
tensor T: f32[{0},40]
tensor N: f32[{0},40]
tensor Y: f32[{0},40]
product: A[i,j] += X[i,k] * W[k,j] over i: {0}, j: 40, k: 24
score: S[i,j] += A[i,k] * A[j,k] over i: {0}, j: {0}, k: 40
mix: T[i,k] += S[i,j] * A[j,k] over i: {0}, k: 40, j: {0}
number: N[i,k] = T[i,k] * f32(value(i)) over i: {0}, k: 40
scale: Y[i,k] = N[i,k] * 0.001 + A[i,k] over i: {0}, k: 40
)",
                                     n));
  auto table = std::make_shared<TensorData>(make_data(model.kernel.tensors[1]));
  for (std::int64_t i = 0; i < table->count(); ++i) table->set(i, {double(i % 13 - 6) / 16, 0});
  Weight weight;
  weight.tensor = make_id<TensorId>(1);
  weight.values = table;
  model.weights = {weight};
  return with_origins(std::move(model));
}

TEST(SymbolicModels, ATeamExecutesThem) {
  for (const char* const cores : {"3", "2"}) {
    Compiled compiled("N=1..70@24", mixed_at, {}, "x86_avx2", cores);
    if (availability(compiled.machine).how != ExecutionMode::native) GTEST_SKIP() << "no AVX2 here";
    start_for_nothing(compiled.parts.program);
    compiled.runner = make_symbolic_model_runner(compiled.parts.program, compiled.machine);
    const auto unit = print_symbolic_model(compiled.parts.program, compiled.machine);
    ASSERT_TRUE(unit) << render(unit.diagnostics());
    EXPECT_NE(unit->text.find("share += team.members"), std::string::npos) << "nothing is distributed";
    EXPECT_EQ(unit->text.find("#pragma omp"), std::string::npos) << "models have threads of their own";
    for (const std::int64_t n : {1, 2, 7, 24, 45, 70}) {
      const ModelRun run = compiled.run(n, mixed_at(n));
      EXPECT_EQ(static_cast<int>(run.code), 0) << n << ": " << render(run.problems);
    }
    EXPECT_EQ(compiled.runner->compilations(), 1);
  }
}

TEST(SymbolicModels, RowsThatComputeWithASize) {
  Compiled compiled("N=1..40@9", rows_over_their_number);
  for (const std::int64_t n : {1, 2, 9, 40}) {
    const ModelRun run = compiled.run(n, rows_over_their_number(n));
    EXPECT_EQ(static_cast<int>(run.code), 0) << n << ": " << render(run.problems);
    EXPECT_LT(run.max_error, 1e-5) << n;
  }
}

TEST(SymbolicModels, SizesAreOutermostButInScores) {
  Compiled compiled("N=1..40@9", &heads_at);
  ASSERT_EQ(compiled.parts.plan.order.size(), 8u);
  EXPECT_EQ(compiled.parts.plan.order[1], (std::vector<int>{2, 0, 1}));  // rows of A
  for (const std::size_t t : {2, 3, 4, 7}) EXPECT_TRUE(compiled.parts.plan.order[t].empty()) << t;
  for (const std::int64_t n : {1, 2, 5, 16, 39, 40}) {
    const ModelRun run = compiled.run(n, heads_at(n));
    EXPECT_EQ(static_cast<int>(run.code), 0) << n << ": " << render(run.problems);
    EXPECT_LT(run.max_error, 1e-5) << n;
  }
}

/// Scores of three heads, of which each is a band.
Model banded_heads_at(std::int64_t n) {
  return with_origins(model_of(fmt::format(R"(kernel heads
tensor X: f32[{0},3,2]
tensor A: f32[{0},3,2]
tensor B: f32[{0},3,2]
tensor S: f32[3,{0},{0}]
tensor M: f32[3,{0}]
tensor E: f32[3,{0},{0}]
tensor Y: f32[3,{0}]
one: A[i,h,k] = X[i,h,k] + 1 over i: {0}, h: 3, k: 2
two: B[i,h,k] = X[i,h,k] - 1 over i: {0}, h: 3, k: 2
score: S[h,i,j] += A[i,h,k] * B[j,h,k] over h: 3, i: {0}, j: {0}, k: 2
most: M[h,i] max= S[h,i,j] over h: 3, i: {0}, j: {0}
less: E[h,i,j] = S[h,i,j] - M[h,i] over h: 3, i: {0}, j: {0}
sum: Y[h,i] += E[h,i,j] over h: 3, i: {0}, j: {0}
)",
                                           n)));
}

TEST(SymbolicModels, HeadsRunInBandsAtSizesWhereTheirScoresAreLarge) {
  Compiled compiled("N=1..120@9", &banded_heads_at, {{2, 4, 1, "h"}}, "x86_avx2");
  ASSERT_EQ(compiled.parts.program.bands.size(), 1u) << compiled.parts.plan.bands_refused.front().reason;
  const SymbolicBands& bands = compiled.parts.program.bands.front();
  EXPECT_EQ(bands.by, 1);
  EXPECT_FALSE(bands.between.empty());
  for (const SymbolicBandLoop& loop : bands.loops)
    for (const SymbolicBandStep& step : loop.steps)
      if (const auto* call = std::get_if<SymbolicCall>(&step.is)) {
        EXPECT_TRUE(argument_program(compiled.parts.program.programs[call->program])) << call->name;
      }
  if (availability(compiled.machine).how != ExecutionMode::native) GTEST_SKIP() << availability(compiled.machine).why;
  for (const std::int64_t n : {1, 2, 5, 40, 73, 120}) {
    const ModelRun run = compiled.run(n, banded_heads_at(n));
    EXPECT_EQ(static_cast<int>(run.code), 0) << n << ": " << render(run.problems);
    EXPECT_LT(run.max_error, 1e-3) << n;  // of sums of 120 differences
    EXPECT_EQ(run.parts.size(), 6u) << n;
  }
}

/// The heads are summed up with weights of their own.
Model summed_heads_at(std::int64_t n) {
  Model model = model_of(fmt::format(R"(kernel summed
tensor X: f32[6,{0},2]
tensor S: f32[6,{0},{0}]
tensor Y: f32[6,{0}]
tensor W: f32[6,5] constant
tensor Z: f32[{0},5]
tensor R: f32[{0},5]
score: S[h,i,j] += X[h,i,k] * X[h,j,k] over h: 6, i: {0}, j: {0}, k: 2
most: Y[h,i] max= S[h,i,j] over h: 6, i: {0}, j: {0}
mix: Z[i,c] += Y[h,i] * W[h,c] over i: {0}, c: 5, h: 6
less: R[i,c] = Z[i,c] - 1 over i: {0}, c: 5
)",
                                     n));
  auto values = std::make_shared<TensorData>(make_data(model.kernel.tensors[3]));
  for (std::int64_t i = 0; i < values->count(); ++i) values->set(i, {double(i % 7) - 2.5, 0});
  Weight weight;
  weight.tensor = make_id<TensorId>(3);
  weight.values = values;
  model.weights = {weight};
  return with_origins(std::move(model));
}

TEST(SymbolicModels, BandsSumUpHeadsWithSlicesOfWeights) {
  Compiled compiled("N=1..120@9", &summed_heads_at, {{0, 3, 2, "h"}}, "x86_avx2");
  ASSERT_EQ(compiled.parts.program.bands.size(), 1u) << compiled.parts.plan.bands_refused.front().reason;
  EXPECT_EQ(compiled.parts.program.bands.front().by, 2);
  if (availability(compiled.machine).how != ExecutionMode::native) GTEST_SKIP() << availability(compiled.machine).why;
  for (const std::int64_t n : {1, 2, 5, 40, 73, 120}) {
    const ModelRun run = compiled.run(n, summed_heads_at(n));
    EXPECT_EQ(static_cast<int>(run.code), 0) << n << ": " << render(run.problems);
    EXPECT_LT(run.max_error, 1e-4) << n;
  }
}

TEST(SymbolicModels, BandsAreAsNarrowAsTheLargestSizesNeed) {
  const Compiled compiled("N=1..400@9", &summed_heads_at, {{0, 3, 2, "h"}}, "x86_avx2");
  ASSERT_EQ(compiled.parts.plan.bands.size(), 1u) << compiled.parts.plan.bands_refused.front().reason;
  EXPECT_EQ(compiled.parts.plan.bands.front().by, 1);  // scores of two heads: 1.3 MB
}

TEST(SymbolicModels, NoBandsOfRowsWhoseNumberDependsOnASize) {
  const Compiled compiled("N=1..120@9", &banded_heads_at, {{2, 2, 3, "i"}}, "x86_avx2");
  EXPECT_TRUE(compiled.parts.program.bands.empty());
  ASSERT_EQ(compiled.parts.plan.bands_refused.size(), 1u);
  EXPECT_EQ(compiled.parts.plan.bands_refused.front().reason, "the number of rows depends on a size");
}

/// Pairs of rows; the last one of odd sizes has a row beyond the tensor, which even sizes do not read.
Model pooled_at(std::int64_t n) {
  Model model = model_of(fmt::format(R"(kernel pooled
tensor X: f32[{0},4]
tensor A: f32[{0},4]
tensor Y: f32[{1},4]
add: A[i,k] = X[i,k] + 1 over i: {0}, k: 4
pool: Y[p,k] max= A[2*p + r,k]{2} over p: {1}, k: 4, r: 2
)",
                                     n, (n + 1) / 2, n % 2 == 0 ? "" : " outside -100"));
  return with_origins(std::move(model));
}

TEST(SymbolicModels, WindowsThatDoNotDivideEverySize) {
  Compiled compiled("N=1..40@9", &pooled_at);
  for (const std::int64_t n : {1, 2, 5, 16, 39, 40}) {
    const ModelRun run = compiled.run(n, pooled_at(n));
    EXPECT_EQ(static_cast<int>(run.code), 0) << n << ": " << render(run.problems);
    EXPECT_LT(run.max_error, 1e-6) << n;
  }
}

/// One of so many rows.
Model strided_at(std::int64_t n, std::int64_t stride) {
  return with_origins(model_of(fmt::format(R"(kernel strided
tensor X: f32[{0},4]
tensor Y: f32[{1},4]
take: Y[p,k] = X[{2}*p,k] over p: {1}, k: 4
)",
                                           n, (n + stride - 1) / stride, stride)));
}

/// Near the likely size many quotients agree: (N + 32)/34 is (N + 34)/35 at most of 2..102.
TEST(SymbolicModels, SamplesDecideByWhichNumberWindowsStride) {
  for (const std::int64_t stride : {3, 5, 7, 8, 9, 12, 16, 24, 35})
    for (const std::string range : {"2..9", "2..70@57", "2..102@31", "58..74@70", "16..64", "7..2000@224", "4..7"}) {
      const auto facts = *size_facts_of("N=" + range);
      const auto sampled =
          sample_model(facts, [&](const Bindings& at, const ValuesOfSizes&) { return strided_at(at.at("N"), stride); });
      ASSERT_TRUE(sampled) << range << " " << stride << render(sampled.diagnostics());
      EXPECT_LE(sampled->sizes.size(), 40u) << range << " " << stride;
      std::vector<std::int64_t> rows;
      for (const Model& model : sampled->models) rows.push_back(model.kernel.tensors[1].shape[0]);
      const auto fitted = SizeFit(sampled->sizes).fit(rows);
      ASSERT_TRUE(fitted) << range << " " << stride;
      for (std::int64_t n = facts.sizes[0].min; n <= facts.sizes[0].max; ++n)
        ASSERT_EQ(evaluate(*fitted, {{"N", n}}), (n + stride - 1) / stride)
            << print(*fitted) << " at " << n << " of " << range;
    }
}

/// Batches of at most 2: what is sampled at 2 alone were a number.
TEST(SymbolicModels, OneSampleInTheRangeIsNotAllOfIt) {
  for (const std::string range : {"0..2", "1..2", "2..3"}) {
    const auto sampled = sample_model(*size_facts_of("N=" + range), [](const Bindings& at, const ValuesOfSizes&) {
      return strided_at(at.at("N"), 1);
    });
    ASSERT_TRUE(sampled) << range << render(sampled.diagnostics());
    EXPECT_GE(sampled->sizes.size(), 2u) << range;
  }
}

/// Two states that N steps change with weights, forward or backward, and what is before and behind them.
Model stepped_at(std::int64_t n, bool backward) {
  const std::int64_t begin = backward ? n : 0, from = backward ? 1 : 0, to = 1 - from;
  Model model = model_of(fmt::format(R"(kernel stepped
tensor X: f32[{0},4]
tensor A: f32[{0},4]
tensor H: f32[{1},4]
tensor U: f32[4,4] constant
tensor G: f32[{0},4]
tensor Y: f32[{0},4]
tensor L: f32[4]
add: A[i,k] = X[i,k] + 1 over i: {0}, k: 4
start: H[{2},k] = 0.25 over k: 4
repeat t: {0} of 2 statements{5}
mix: G[t,k] += H[t + {3},l] * U[l,k] over t: {0}, k: 4, l: 4
step: H[t + {4},k] = G[t,k] + A[t,k] over t: {0}, k: 4
all: Y[i,k] = H[i + {4},k] + 1 over i: {0}, k: 4
last: L[k] = H[{6},k] * 2 over k: 4
)",
                                     n, n + 1, begin, from, to, backward ? " backward" : "", n - begin));
  auto values = std::make_shared<TensorData>(make_data(model.kernel.tensors[3]));
  for (std::int64_t i = 0; i < values->count(); ++i) values->set(i, {double(i % 5) / 16 - 0.1, 0});
  Weight weight;
  weight.tensor = make_id<TensorId>(3);
  weight.values = values;
  model.weights = {weight};
  return with_origins(std::move(model));
}

TEST(SymbolicModels, RecurrencesOfAnyNumberOfSteps) {
  const auto forward = [](std::int64_t n) { return stepped_at(n, false); };
  const auto backward = [](std::int64_t n) { return stepped_at(n, true); };
  for (Model (*model_at)(std::int64_t) : {+forward, +backward}) {
    Compiled compiled("N=0..40@9", model_at);
    ASSERT_EQ(compiled.parts.parts.size(), 5u);
    ASSERT_TRUE(compiled.parts.parts[2].loop);
    EXPECT_EQ(print(compiled.parts.parts[2].loop->steps), "N");
    EXPECT_TRUE(compiled.parts.program.programs[compiled.parts.parts[2].program].fixed);  // a step has no size
    for (const std::int64_t n : {0, 1, 2, 40}) {
      const ModelRun run = compiled.run(n, model_at(n));
      EXPECT_EQ(static_cast<int>(run.code), 0) << n << ": " << render(run.problems);
    }
    EXPECT_EQ(compiled.runner->compilations(), 1);
  }
}

/// The plan of a model joins a recurrence with what is around it; each is a part of its own where sizes are known at
/// the call.
TEST(SymbolicModels, RecurrencesAreCutOutOfTheirParts) {
  const Kernel kernel = stepped_at(9, false).kernel;
  ModelPlan plan = chain_plan(kernel);
  plan.parts = {{{0, 1, 2, 3, 4, 5}}};
  const ModelPlan apart = with_recurrences_apart(plan, kernel);
  EXPECT_TRUE(verify(apart, kernel).empty());
  EXPECT_NE(std::find(apart.parts.begin(), apart.parts.end(), Part{{2, 3}}), apart.parts.end());
}

/// A sequence along the last axis of an input.
Model stepped_inside_at(std::int64_t n) {
  return with_origins(model_of(fmt::format(R"(kernel inside
tensor X: f32[4,{0}]
tensor H: f32[{1},4]
tensor Y: f32[4]
start: H[0,k] = 0 over k: 4
repeat t: {0} of 1 statements
step: H[t + 1,k] = H[t,k] * 0.5 + X[k,t] over t: {0}, k: 4
last: Y[k] = H[{0},k] + 1 over k: 4
)",
                                           n, n + 1)));
}

TEST(SymbolicModels, StepsThatAreNotOutermostInAnInputAreRefusedByName) {
  const auto sampled = sample_model(*size_facts_of("N=1..40@9"), [](const Bindings& at, const ValuesOfSizes&) {
    return stepped_inside_at(at.at("N"));
  });
  ASSERT_TRUE(sampled) << render(sampled.diagnostics());
  const auto made = compile_symbolic_model(*sampled, single_statements(sampled->models[0].kernel), model_machine(), {});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.diagnostics().front().message,
            "step: a recurrence has no program for all sizes: the steps of 'X' are not its outermost axis");
  EXPECT_EQ(made.diagnostics().front().hint, "bind its size with --sizes");
}

/// Each row goes to its place, if that is a row.
Model placed_at(std::int64_t n) {
  return with_origins(model_of(fmt::format(R"(kernel placed
tensor X: f32[{0},4]
tensor J: s32[{0},4]
tensor L: s32[{0},4]
tensor S: f32[{0},4]
tensor Y: f32[{0},4]
at: J[u,k] = value(2*u - 3*k) over u: {0}, k: 4
last: L[i,k] max= select(s64(J[u,k]) == s64(value(i)), value(u), -2147483648) over i: {0}, k: 4, u: {0}
sum: S[i,k] += select(J[u,2] == value(i), X[u,k], 0) over i: {0}, k: 4, u: {0}
place: Y[i,k] = S[i,k] + select(L[i,k] < 0, -1, X[at(L[i,k]),k]) over i: {0}, k: 4
)",
                                           n)));
}

TEST(SymbolicModels, ScattersHaveNoLoopsOverElements) {
  Compiled compiled("N=1..40@9", placed_at);
  for (const std::int64_t n : {1, 2, 7, 40}) {
    const ModelRun run = compiled.run(n, placed_at(n));
    EXPECT_EQ(static_cast<int>(run.code), 0) << n << ": " << render(run.problems);
  }
  const auto kernel = symbolic_kernel_from_formula("L[i,k] max= select(J[u,k] == value(i + 2), value(u), -2147483648)",
                                                   "i=?,k=8,u=?", "L=s32,J=s32", {});
  ASSERT_TRUE(kernel) << render(kernel.diagnostics());
  Surroundings around;
  const auto text = print_plain_loops(*kernel, model_machine(), "placed", true, around);
  ASSERT_TRUE(text) << render(text.diagnostics());
  EXPECT_EQ(text->find("for (long i_i"), std::string::npos) << *text;
  EXPECT_NE(text->find("- static_cast<std::uint64_t>(2); at < static_cast<std::uint64_t>("), std::string::npos)
      << *text;
  EXPECT_LT(text->find("for (long i_u"), text->find("for (long i_k")) << *text;  // positions of a row are neighbours
}

TEST(SymbolicModels, AnotherImportAtASizeIsFound) {
  Compiled compiled("N=1..40@9");
  for (const std::int64_t n : {1, 5}) {
    const ModelRun run = compiled.run(n, scores_at(n, 2));
    EXPECT_EQ(run.code, Exit::wrong_result);
    ASSERT_FALSE(run.problems.empty());
    EXPECT_NE(run.problems.front().message.find("wrong: "), std::string::npos) << run.problems.front().message;
  }
}

TEST(SymbolicModels, ConstantsThatAreOtherOnesAreRefused) {
  const auto facts = *size_facts_of("N=1..40@9");
  const auto sampled =
      sample_model(facts, [](const Bindings& at, const ValuesOfSizes&) { return scores_at(at.at("N"), 0, 1); });
  ASSERT_FALSE(sampled);
  EXPECT_EQ(sampled.diagnostics().front().message, "the constant P is another one at N = 9 than at N = 40");
}

/// What the importer knows at each size is compared: the table is another one, a number of it is written.
TEST(SymbolicModels, ValuesOfSizesAreNamedToTheImport) {
  const auto facts = *size_facts_of("N=1..40@9");
  const auto sampled = sample_model(facts, [](const Bindings& at, const ValuesOfSizes& of_sizes) -> Result<Model> {
    const std::int64_t n = at.at("N");
    Model model = scores_at(n, 0, of_sizes.computed.contains("table") ? 0 : 1);
    TensorData number = make_data({.name = "", .shape = {}, .dtype = DType::s64}), same = number;
    number.set(0, {0, n});
    model.known = {{"table", model.weights[0].values},
                   {"number", std::make_shared<TensorData>(number)},
                   {"same", std::make_shared<TensorData>(same)}};
    model.known["root"] = model.known["number"];  // no sum, whatever the samples say
    model.of_extents = {{"number", "Shape", {}, model.known["number"]},
                        {"same", "Shape", {}, model.known["same"]},
                        {"root", "Sqrt", {{model.known["number"], 0}}, model.known["root"]}};
    return model;
  });
  ASSERT_TRUE(sampled) << render(sampled.diagnostics());
  EXPECT_EQ(sampled->of_sizes.computed, (std::set<std::string>{"root", "table"}));
  EXPECT_EQ(sampled->of_sizes.written, (std::set<std::string>{"number"}));
  EXPECT_EQ(sampled->of_sizes.tensors, (std::set<std::string>{"P"}));  // not computed ahead
}

/// `n > 1`, `min(n, 2)`: equal at all samples, and not at all sizes. What follows from the facts remains a constant.
TEST(SymbolicModels, ValuesThatOnlySamplesAgreeOnAreComputed) {
  using namespace onnx_bytes;
  if (!onnx_supported()) GTEST_SKIP() << "built without ONNX (Debian: apt-get install libonnx-dev libprotobuf-dev)";
  const std::string graph =
      input("x", {unknown, 4}) + constant("zero", {}, {0}) + constant("one", {}, {1}) + constant("two", {}, {2}) +
      constant("none", {2}, {-1, -1}) + constant("ones", {2}, {1, 1}) + constant_floats("r", {4}, {1, 2, 3, 4}) +
      node("Shape", {"x"}, "s") + node("Gather", {"s", "zero"}, "n") + node("Greater", {"n", "one"}, "many") +
      node("Min", {"n", "two"}, "few") + node("Cast", {"few"}, "f", integer("to", 1)) + node("Mul", {"x", "f"}, "y") +
      node("Equal", {"s", "none"}, "free") + node("Where", {"free", "ones", "s"}, "t") +
      node("Expand", {"r", "t"}, "e") + node("Add", {"y", "e"}, "z") +
      node("If", {"many"}, "w",
           graph_attribute("then_branch", node("Neg", {"z"}, "a") + output("a")) +
               graph_attribute("else_branch", node("Abs", {"z"}, "b") + output("b"))) +
      output("w");
  const std::string path = scratch("values.onnx");
  std::ofstream(path, std::ios::binary) << onnx_bytes::model(graph, 18);
  for (const int least : {1, 2}) {
    const auto sampled = sample_model(*size_facts_of(fmt::format("N={}..40@9", least)),
                                      [&](const Bindings& at, const ValuesOfSizes& of_sizes) {
                                        ModelOptions options;
                                        options.sizes = at;
                                        options.of_all_sizes = true;
                                        options.of_sizes = of_sizes;
                                        return import_model(path, options);
                                      });
    ASSERT_TRUE(sampled) << render(sampled.diagnostics());
    EXPECT_EQ(sampled->models[0].refused.size(), 0U);
    const std::set<std::string> none, computed{"few", "many"}, written{"n", "s", "t"};
    EXPECT_EQ(sampled->of_sizes.computed, least == 1 ? computed : none);
    EXPECT_EQ(sampled->of_sizes.written, least == 1 ? written : none);
  }
}

/// Values that samples agree on, or that are fitted to them, without being so at all sizes.
TEST(SymbolicModels, WhatOnlySamplesSayIsNoProgram) {
  using namespace onnx_bytes;
  if (!onnx_supported()) GTEST_SKIP() << "built without ONNX (Debian: apt-get install libonnx-dev libprotobuf-dev)";
  std::vector<std::int64_t> sevens(40, 1);
  sevens[0] = 7;
  const std::string start =
      input("x", {unknown, 4}) + constant("zero", {}, {0}) + constant("one", {}, {1}) + constant("none", {1}, {0}) +
      constant("two", {1}, {2}) + constant("nines", {2}, {9, 9}) + constant("table", {40}, sevens) +
      constant("row", {1, 2}, {2, 2}) + constant("column", {2, 1}, {100, 3}) + constant("first", {2, 1}, {1, 0}) +
      constant("eight", {}, {8}) + node("Shape", {"x"}, "s") + node("Gather", {"s", "zero"}, "n") +
      node("Sub", {"n", "one"}, "last") + node("Range", {"zero", "n", "one"}, "range");
  struct Case {
    std::string nodes, why;  ///< empty: `v` is computed when the model runs
  };
  const std::vector<Case> cases{
      {node("Gather", {"table", "last"}, "v"), "v takes elements at places that depend on a size"},
      {node("Concat", {"range", "nines"}, "long", integer("axis", 0)) + node("Slice", {"long", "none", "two"}, "v"),
       "v takes elements"},
      {node("Tile", {"range", "two"}, "long") + node("Slice", {"long", "none", "two"}, "v"), "v takes elements"},
      {node("Mul", {"first", "n"}, "part") + node("Add", {"part", "column"}, "tall") +
           node("Mul", {"row", "n"}, "wide") + node("Sub", {"wide", "n"}, "w") + node("Greater", {"tall", "w"}, "v"),
       ""},
      {node("ReduceMin", {"s"}, "v", integer("keepdims", 0)), ""},  // of n and 4
      {node("Cast", {"n"}, "v", integer("to", 2)), ""},             // to 8 bits
      {node("Mod", {"n", "eight"}, "over") + node("Sub", {"eight", "over"}, "less") +
           node("Mod", {"less", "eight"}, "rows") + node("Unsqueeze", {"rows", "none"}, "row1") +
           node("Concat", {"none", "none", "row1", "none"}, "pads", integer("axis", 0)) +
           node("Pad", {"x", "pads"}, "v"),
       "dimension 0 of"},
  };
  for (const Case& one : cases) {
    const std::string path = scratch("moved.onnx");
    std::ofstream(path, std::ios::binary)
        << onnx_bytes::model(start + one.nodes + node("Cast", {"v"}, "f", integer("to", 1)) +
                                 node("ReduceSum", {"f"}, "sum") + node("Mul", {"x", "sum"}, "y") + output("y"),
                             18);
    const auto sampled = sample_model(*size_facts_of("N=1..40@39"), [&](const Bindings& at, const ValuesOfSizes& of) {
      ModelOptions options;
      options.sizes = at;
      options.of_all_sizes = true;
      options.of_sizes = of;
      return import_model(path, options);
    });
    if (!one.why.empty()) {
      ASSERT_FALSE(sampled) << one.nodes;
      EXPECT_NE(render(sampled.diagnostics()).find(one.why), std::string::npos) << render(sampled.diagnostics());
      continue;
    }
    ASSERT_TRUE(sampled) << one.nodes << render(sampled.diagnostics());
    EXPECT_TRUE(sampled->of_sizes.computed.contains("v")) << one.nodes;
  }
}

TEST(SymbolicModels, OnlyLoopsAlongMemoryMayBeVectorized) {
  const auto kernel = symbolic_kernel_from_formula("C[i,j] += A[i,k] * B[k,j]", "i=?,j=8,k=?", "", {});
  ASSERT_TRUE(kernel);
  Surroundings around;
  const auto text = print_plain_loops(*kernel, model_machine(), "product", false, around);
  ASSERT_TRUE(text) << render(text.diagnostics());
  std::istringstream lines(*text);
  std::size_t along_memory = 0, others = 0;
  for (std::string line, next; std::getline(lines, line);) {
    const std::size_t loop = line.find("for (");
    if (loop == std::string::npos || !line.ends_with("{")) continue;
    ASSERT_TRUE(std::getline(lines, next)) << *text;
    const bool along = line.find("long lane", loop) != std::string::npos;
    EXPECT_EQ(next.find("asm volatile") == std::string::npos, along) << line;
    (along ? along_memory : others) += 1;
  }
  EXPECT_EQ(along_memory, 3u) << *text;
  EXPECT_GE(others, 3u) << *text;
}

}  // namespace
}  // namespace isamap
