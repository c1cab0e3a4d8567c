// SPDX-License-Identifier: Apache-2.0
// Schedules for several sizes are searched, and blocks lowered, side by side: programs do not depend on it, and what
// users hand in is called by one thread at a time.

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "driver/symbolic/kept_values.h"
#include "isamap/backend.h"
#include "isamap/compile.h"
#include "isamap/cost_model.h"
#include "support/threads.h"
#include "tests/symbolic/kernels.h"

namespace isamap {
namespace {

/// Counts calls that are made while another one lasts.
class OneAtATime {
 public:
  void call() {
    if (inside_.exchange(true)) ++overlaps;
    ++calls;
    std::this_thread::yield();
    inside_ = false;
  }
  std::atomic<int> calls{0}, overlaps{0};

 private:
  std::atomic<bool> inside_{false};
};

std::string text_by(const std::string& kernel, int jobs, OneAtATime& factory, OneAtATime& progress) {
  CompileOptions options;
  options.schedule.objective = Objective::cycles;
  options.schedule.max_evaluations = 30;
  options.schedule.jobs = jobs;
  options.schedule.costs = [&] {
    factory.call();
    return make_cost_model_closed_form();
  };
  options.schedule.progress = [&](std::int64_t, double) {
    progress.call();
    return true;
  };
  const SymbolicCompilation compiled = compile_symbolic(symbolic_kernel(kernel), vector_machine(), options);
  EXPECT_TRUE(compiled.program) << render(compiled.problems);
  const auto files = compiled.program ? emit(*compiled.program, vector_machine()) : Diagnostics{};
  return files ? files->front().text : "";
}

void same_for_any_number_of_jobs(const std::string& kernel) {
  OneAtATime factory, progress;
  const std::string alone = text_by(kernel, 1, factory, progress);
  EXPECT_FALSE(alone.empty());
  EXPECT_EQ(alone, text_by(kernel, 3, factory, progress));
  EXPECT_GT(factory.calls, 0);
  EXPECT_GT(progress.calls, 0);
  EXPECT_EQ(factory.overlaps, 0);
  EXPECT_EQ(progress.overlaps, 0);
}

TEST(SymbolicSideBySide, AProgramIsTheSameForAnyNumberOfJobs) {
  same_for_any_number_of_jobs(R"(kernel: gemm
dims: {M: {max: 90, likely: 24}, N: {max: 90, likely: 24}, K: 20}
tensors: {A: {shape: [M, K]}, B: {shape: [K, N]}, C: {shape: [M, N]}}
compute:
  - C[i,j] += A[i,k] * B[k,j]
)");
}
TEST(HeavySymbolicSideBySide, ProgramsAreTheSameForAnyNumberOfJobs) {
  for (const std::string& kernel : {symbolic_product, symbolic_edges, symbolic_softmax})
    same_for_any_number_of_jobs(kernel);
}

TEST(KeptValues, AreMadeOnceByOneThreadAndAreTheFirstOfSeveral) {
  KeptValues<int> values;
  int made = 0;
  for (int n = 0; n < 3; ++n) EXPECT_EQ(values.of("a", [&] { return ++made; }), 1);
  const int* const first = &values.of("b", [] { return 7; });
  for_each_in_parallel(100, 3, [&](std::size_t n) {
    EXPECT_EQ(values.of("c" + std::to_string(n % 5), [&] { return static_cast<int>(n % 5); }), static_cast<int>(n % 5));
  });
  EXPECT_EQ(first, &values.of("b", [] { return 8; }));
}

}  // namespace
}  // namespace isamap
