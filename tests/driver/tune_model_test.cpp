// SPDX-License-Identifier: Apache-2.0
// Tuning of parts whose schedules split statements.

#include "driver/tune_model.h"

#include <gtest/gtest.h>

#include "isamap/backend.h"
#include "tests/driver/on_machine.h"
#include "tests/models_of_text.h"

namespace isamap {
namespace {

/// Sums in lanes have more statements and tensors than the part, and candidates without lanes stand beside them.
TEST(TuneModel, ReductionsInLanes) {
  const Model model = model_of(R"(kernel sums
tensor X: f32[4,67]
tensor Y: f32[4]
rows: Y[i] += X[i,j] over i: 4, j: 67
)");
  const OnMachine on(model, described("x86_avx2"), single_statements(model.kernel), Fill::real, 20);
  if (availability(on.machine).how != ExecutionMode::native) GTEST_SKIP() << "this processor does not execute AVX2";
  ASSERT_FALSE(on.compiled.programs.front()->scheduled->schedule.lanes.empty());
  TuneModelOptions options;
  options.compile.schedule.max_evaluations = 20;
  options.measured = 3;
  options.min_seconds = 0.01;
  const TunedModel tuned = tune_model(on.model, on.compiled, on.machine, on.data, options);
  ASSERT_EQ(tuned.code, Exit::ok) << message(tuned.problems);
  ASSERT_EQ(tuned.parts.size(), 1U);
  EXPECT_GT(tuned.parts.front().candidates, 1U);
  EXPECT_GT(tuned.parts.front().alone_before, 0);
}

}  // namespace
}  // namespace isamap
