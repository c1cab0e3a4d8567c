// SPDX-License-Identifier: Apache-2.0
// Programs of models are executed while a lock is held, and compiled and compared without it.

#include <gtest/gtest.h>

#include "driver/tune_model.h"
#include "isamap/backend.h"
#include "tests/driver/on_machine.h"
#include "tests/models_of_text.h"

namespace isamap {
namespace {

/// Counts how often something is held, and by how many at a time.
struct Held {
  int times = 0, now = 0, most = 0;
  std::function<std::shared_ptr<void>()> take() {
    return [this] {
      ++times;
      most = std::max(most, ++now);
      return std::shared_ptr<void>(nullptr, [this](void*) { --now; });
    };
  }
};

Model products() {
  return model_of(R"(kernel products
tensor X: f32[37,29]
tensor W: f32[29,45] constant
tensor T: f32[37,45]
tensor Y: f32[37]
first: T[i,j] += X[i,k] * W[k,j] over i: 37, j: 45, k: 29
rows: Y[i] += T[i,j] * T[i,j] over i: 37, j: 45
)");
}

TEST(TimedAlone, WhileTheProgramOfAModelIsExecuted) {
  const Model model = products();
  const OnMachine on(model, described("x86_avx2"), single_statements(model.kernel), Fill::real, 20);
  if (availability(on.machine).how != ExecutionMode::native) GTEST_SKIP() << "this processor does not execute AVX2";
  Held held;
  int compared = 0;
  ModelRunOptions options;
  options.alone = held.take();
  options.progress = [&](const std::string& text) {
    EXPECT_EQ(held.now, 0) << text;
    compared += text.ends_with(" compared") ? 1 : 0;
  };
  ASSERT_EQ(run_model(on.model, on.compiled, on.machine, on.data, options).code, Exit::ok);
  EXPECT_EQ(held.times, 1);
  EXPECT_EQ(compared, 2);
}

TEST(TimedAlone, WholeRunsAndPartsOfTuning) {
  const Model model = products();
  const OnMachine on(model, described("x86_avx2"), single_statements(model.kernel), Fill::real, 20);
  if (availability(on.machine).how != ExecutionMode::native) GTEST_SKIP() << "this processor does not execute AVX2";
  Held held;
  TuneModelOptions options;
  options.compile.schedule.max_evaluations = 20;
  options.measured = 2;
  options.min_seconds = 0.01;
  options.alone = held.take();
  options.most_parts = 0;
  ASSERT_EQ(tune_model(on.model, on.compiled, on.machine, on.data, options).code, Exit::ok);
  EXPECT_EQ(held.times, 1) << "the first run of the whole";
  options.most_parts = 1;
  ASSERT_EQ(tune_model(on.model, on.compiled, on.machine, on.data, options).code, Exit::ok);
  EXPECT_GT(held.times, 2) << "and those of a part";
  EXPECT_EQ(held.most, 1);
  EXPECT_EQ(held.now, 0);
}

}  // namespace
}  // namespace isamap
