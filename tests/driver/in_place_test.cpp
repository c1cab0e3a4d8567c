// SPDX-License-Identifier: Apache-2.0
// Models whose tensors live in the storage of those that overwrite them: compared with the interpreter.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "backends/cpp/model/fixed_units.h"
#include "backends/cpp/model/model_unit.h"
#include "planner/traffic.h"
#include "tests/driver/on_machine.h"
#include "tests/every.h"
#include "tests/models_of_text.h"

namespace isamap {
namespace {

Model softmax(std::int64_t rows, std::int64_t columns) {
  return model_of(fmt::format(R"(kernel softmax
tensor X: f32[{0},{1}]
tensor M: f32[{0}]
tensor E: f32[{0},{1}]
tensor S: f32[{0}]
tensor Y: f32[{0},{1}]
maximum: M[i] max= X[i,j] over i: {0}, j: {1}
exponent: E[i,j] = exp(X[i,j] - M[i]) over i: {0}, j: {1}
total: S[i] += E[i,j] over i: {0}, j: {1}
normalise: Y[i,j] = E[i,j] / S[i] over i: {0}, j: {1}
)",
                              rows, columns));
}

ModelPlan each_statement(const Model& model, std::vector<BandGroup> bands) {
  ModelPlan plan;
  plan.parts = apart(model.kernel);
  plan.bands = std::move(bands);
  return plan;
}

void exponents_lie_in_the_output_of_a_softmax(Every every) {
  for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{9, 37}, {1, 50}, {6, 1}, {3, 64}})
    for (const std::int64_t by : {0, 1, 2}) {
      if (by >= rows) continue;
      if (every.skips()) continue;
      const Model model = softmax(rows, columns);
      const OnMachine on(model, described("x86_avx512"),
                         each_statement(model, by == 0 ? std::vector<BandGroup>{} : std::vector<BandGroup>{{0, 4, by}}),
                         Fill::real, 10);
      ASSERT_EQ(on.compiled.code, Exit::ok) << message(on.compiled.problems);
      auto linked = on.link();
      ASSERT_TRUE(linked) << message(linked.diagnostics());
      EXPECT_EQ(on.place_of(*linked, 3, "E"), (ModelPlace{ModelPlace::In::output, 0})) << rows << "x" << columns;
      EXPECT_LE(linked->arena_bytes, 4 * 64) << "of M and S alone";
      const auto unit = print_whole_model(*linked, on.machine);
      ASSERT_TRUE(unit);
      EXPECT_NE(unit->text.find("const float* E, "), std::string::npos) << "it is no __restrict pointer";
      const ModelRun run = on.run();
      if (run.code == Exit::missing) GTEST_SKIP() << message(run.problems);
      EXPECT_EQ(run.code, Exit::ok) << rows << "x" << columns << ", bands of " << by << ": " << message(run.problems);
    }
}

TEST(InPlaceModels, ExponentsLieInTheOutputOfASoftmax) { exponents_lie_in_the_output_of_a_softmax(Every(5)); }
TEST(HeavyInPlaceModels, ExponentsLieInTheOutputOfASoftmax) { exponents_lie_in_the_output_of_a_softmax(Every(1)); }

/// What is compiled ahead is what the program has: also where arguments share their storage, which is known of each
/// part when it is scheduled. The order in which parts are found decides nothing.
TEST(InPlaceModels, FilesOfPartsAreKnownBeforeTheWhole) {
  for (const std::int64_t by : {0, 2}) {
    const Model model = softmax(9, 37);
    const ModelPlan plan =
        each_statement(model, by == 0 ? std::vector<BandGroup>{} : std::vector<BandGroup>{{0, 4, by}});
    const OnMachine on(model, described("x86_avx512"), plan, Fill::real, 10);
    const auto linked = on.link();
    ASSERT_TRUE(linked) << message(linked.diagnostics());
    const auto unit = print_model(*linked, on.machine, 0);
    ASSERT_TRUE(unit);
    ASSERT_EQ(unit->part_files.size(), linked->programs.size()) << "a file for each";
    std::map<std::size_t, FixedPart> found;
    std::mutex lock;
    PartStoreOptions options = OnMachine::searched_for(10);
    options.jobs = 3;
    PartStore store(on.machine, options);
    const auto read = [&](std::size_t number, const Program& program, const std::set<BufferId>& overlapping) {
      const std::lock_guard held(lock);
      found.emplace(number, *print_part(program, number, overlapping, on.machine, "softmax"));
    };
    ASSERT_EQ(compile_model(model, plan, store, read).code, Exit::ok);
    PartFiles files(on.machine, "softmax", 0);
    for (std::size_t p = 0; p < unit->part_files.size(); ++p) {
      ASSERT_TRUE(found.contains(p));
      EXPECT_EQ(files.add(found.at(p)), unit->part_files[p]) << p << ", bands of " << by;
    }
    EXPECT_EQ(files.rest(), "");
  }
}

/// A chain of element-wise parts has one tensor between them, and its input keeps its values.
TEST(InPlaceModels, ChainsHaveOneTensor) {
  const Model model = model_of(R"(kernel chain
tensor X: f32[5,7]
tensor A: f32[5,7]
tensor B: f32[5,7]
tensor C: f32[5,7]
tensor Y: f32[5]
a: A[i,j] = X[i,j] + 1 over i: 5, j: 7
b: B[i,j] = A[i,j] * A[i,j] over i: 5, j: 7
c: C[i,j] = B[i,j] - X[i,j] over i: 5, j: 7
y: Y[i] += C[i,j] over i: 5, j: 7
)");
  const OnMachine on(model, described("scalar_c"), each_statement(model, {}), Fill::real, 10);
  auto linked = on.link();
  ASSERT_TRUE(linked) << message(linked.diagnostics());
  EXPECT_EQ(on.place_of(*linked, 1, "A"), on.place_of(*linked, 1, "B"));
  EXPECT_EQ(on.place_of(*linked, 2, "B"), on.place_of(*linked, 2, "C"));
  EXPECT_EQ(linked->arena_bytes, 192) << "140 bytes in whole lines";
  const ModelRun run = on.run();
  EXPECT_EQ(run.code, Exit::ok) << message(run.problems);
}

/// Both are read by the sum of a product, whose program begins the result with zeros.
TEST(InPlaceModels, NotInAResultThatBeginsAtZero) {
  const Model model = model_of(R"(kernel begun
tensor X: f32[8,8]
tensor W: f32[8,8] constant
tensor A: f32[8,8]
tensor Y: f32[8,8]
a: A[i,j] = X[i,j] + 1 over i: 8, j: 8
y: Y[i,j] += A[i,k] * W[k,j] over i: 8, j: 8, k: 8
)");
  const OnMachine on(model, described("scalar_c"), each_statement(model, {}), Fill::real, 10);
  auto linked = on.link();
  ASSERT_TRUE(linked) << message(linked.diagnostics());
  EXPECT_EQ(on.place_of(*linked, 1, "A").in, ModelPlace::In::arena);
  EXPECT_EQ(on.run().code, Exit::ok);
}

}  // namespace
}  // namespace isamap
