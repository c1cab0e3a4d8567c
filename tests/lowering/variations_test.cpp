// SPDX-License-Identifier: Apache-2.0
// Variants that `tune` measures besides the best of a search: each lowers, computes the same, and describes itself.

#include "scheduler/tuning_variants.h"
#include "tests/lowering/support.h"

namespace isamap {
namespace {

TEST(Variations, OfDistancesAndShortTiles) {
  const HardwareModel model = machine("x86_avx512");
  Kernel kernel = formula("C[i,j] += A[i,k] * B[k,j]", "i=13,j=100,k=90");
  kernel.tensors[1].constant = true;
  Schedule schedule = schedule_of({"stage B in ram as [j/32, k, j%32] aot", "for j by 32", "for i by 6",
                                   "stage C in vec", "for k by 1", "stage B in l1 ahead 5", "stage B in vec",
                                   "for i by 1 unroll", "for j by 16 unroll", "do s0 with fma_f32_bcast(j=j)"});
  expect_schedule_right(kernel, model, schedule);
  const std::vector<TuningVariant> found = tuning_variants(schedule, 0, kernel, model);
  std::vector<std::string> words;
  for (const TuningVariant& one : found) {
    words.push_back(one.what);
    Schedule with = schedule;
    with.nests[0] = one.nest;
    expect_schedule_right(kernel, model, with);
  }
  // Short tiles of i would read rows of A that are not there.
  EXPECT_EQ(words, (std::vector<std::string>{"B prefetched 3 steps ahead", "B prefetched 10 steps ahead",
                                             "B not prefetched", "tail of j masked"}));
}

TEST(Variations, ThereAreNoneWhereNothingIsLeftOpen) {
  const HardwareModel model = machine("x86_avx512");
  const Kernel kernel = formula("C[i,j] += A[i,k] * B[k,j]", "i=12,j=96,k=90");
  const Schedule schedule = schedule_of({"for j by 32", "for i by 6", "stage C in vec", "for k by 1", "stage B in vec",
                                         "for i by 1 unroll", "for j by 16 unroll", "do s0 with fma_f32_bcast(j=j)"});
  EXPECT_TRUE(tuning_variants(schedule, 0, kernel, model).empty());
}

}  // namespace
}  // namespace isamap
