// SPDX-License-Identifier: Apache-2.0
// Exposed latency: reloads of partial sums, misses of the last-level cache, packing.

#include "scheduler/cost/priced_nest.h"
#include "tests/lowering/support.h"
#include "tests/searched.h"

namespace isamap {
namespace {

std::unique_ptr<PricedNest> priced(const Kernel& kernel, const HardwareModel& model,
                                   const std::vector<std::string>& lines) {
  const Schedule schedule = schedule_of(lines);
  auto nest = price_nest({&kernel, make_id<StatementId>(0), &model, schedule.nests[0]});
  EXPECT_TRUE(nest) << render(nest.diagnostics());
  return nest ? std::move(*nest) : nullptr;
}

double part(const PricedNest& nest, const std::string& name) {
  for (const auto& [term, time] : nest.terms.added)
    if (time.name() == name) return time.cycles;
  return 0;
}

TEST(Waits, ForSumsThatAreFetchedAgain) {
  const HardwareModel model = machine("x86_zen5");
  const Kernel kernel = formula("C[i,j] += A[i,k] * B[k,j]", "i=512,k=1024,j=1024");
  const auto waits = [&](const std::string& cut) {
    const auto nest =
        priced(kernel, model,
               {"for k by " + cut, "for i by 8", "for j by 32", "stage C in vec", "for k by 1", "stage B in vec",
                "for i by 1 unroll", "for j by 16 unroll", "do s0 with fma_f32_bcast(j=j)"});
    return nest ? part(*nest, "partial-sum reloads") : 0;
  };
  EXPECT_EQ(waits("1024"), 0);
  // 2 MiB of partial sums stay in L3: each tile of 1 KiB is moved at 27 and 48 bytes a cycle, after 53 and 14 cycles.
  const double of_sums = 512.0 / 8 * 1024 / 32;
  EXPECT_NEAR(waits("512"), of_sums * (1024.0 / 27 + 53 + 1024.0 / 48 + 14) / 2, of_sums);
  EXPECT_NEAR(waits("256"), 3 * waits("512"), of_sums);
}

/// The second factor is streamed once for every eight rows of the first.
double product(int columns) {
  const auto nest =
      priced(formula("C[i,j] += A[i,k] * B[k,j]", "i=64,k=2048,j=" + std::to_string(columns)), machine("x86_zen5"),
             {"for i by 8", "for j by 48", "stage C in vec", "for k by 1", "stage B in l1 ahead 4", "stage B in vec",
              "for i by 1 unroll", "for j by 16 unroll", "do s0 with fma_f32_bcast(j=j)"});
  return nest ? nest->cost.cycles : 0;
}

TEST(Waits, ForWhatTheOutermostCacheLost) {
  EXPECT_LT(product(1536), 1.6 * product(1024));  // 12.6 MB fit
  EXPECT_GT(product(2048), 2.5 * product(1024));  // 16.8 MB do not
}

TEST(Waits, EveryAskTakesThePortOfALoad) {
  const Kernel kernel = formula("C[i,j] += A[i,k] * B[k,j]", "i=64,k=2048,j=2048");
  std::vector<std::string> lines{"stage A in ram as [i/16, k, i%16]",
                                 "for k by 64",
                                 "for j by 28",
                                 "for i by 16",
                                 "stage C in vec",
                                 "for k by 1",
                                 "stage A in vec",
                                 "for j by 1 unroll",
                                 "stage B in vec",
                                 "do s0 with fma_f32(j=i)"};
  const auto without = priced(kernel, machine("x86_zen5"), lines);
  lines.insert(lines.begin() + 6, "stage B in l1 ahead 4");
  const auto asking = priced(kernel, machine("x86_zen5"), lines);
  ASSERT_TRUE(without && asking);
  EXPECT_GT(asking->cost.cycles, 1.5 * without->cost.cycles);
}

HardwareModel two_cores() {
  LoadOptions options;
  options.params = {{"cores", "2"}};
  auto loaded = load_hardware("x86_zen5", {std::string(ISAMAP_SOURCE_DIR) + "/hardware_models"}, options);
  EXPECT_TRUE(loaded) << render(loaded.diagnostics());
  return loaded ? std::move(loaded->model) : HardwareModel();
}

TEST(Waits, ThreadsMakeTheirPartsOfACopySideBySide) {
  const Kernel kernel = formula("C[i,j] += A[i,k] * B[k,j]", "i=1024,k=1024,j=1024");
  const std::string copy = "stage B in ram as [j/48, k, j%48]", distributed = "for j by 512 on core";
  const auto copying = [&](const HardwareModel& model, const std::vector<std::string>& outer) {
    std::vector<std::string> lines = outer;
    for (const char* line : {"for i by 8", "stage C in vec", "for k by 1", "stage B in vec", "for i by 1 unroll",
                             "stage A in vec", "for j by 16 unroll", "do s0 with fma_f32(j=j)"})
      lines.push_back(line);
    const auto nest = priced(kernel, model, lines);
    return nest ? part(*nest, "packed copy of B") : 0;
  };
  const double alone = copying(machine("x86_zen5"), {copy, "for j by 512", "for j by 48"});
  EXPECT_GT(alone, 0);
  // The reload from memory is shared. In front of the loop on cores the copy's own loops are distributed.
  EXPECT_LT(copying(two_cores(), {distributed, "for j by 48", copy}), 0.7 * alone);
  EXPECT_LT(copying(two_cores(), {copy, distributed, "for j by 48"}), 0.7 * alone);
}

/// Sums that are complete in several visits begin with zeros in memory, which one thread would set alone.
TEST(Waits, ThreadsBeginSumsInMemorySideBySide) {
  const Kernel kernel = formula("C[i,j] += A[i,k] * B[k,j]", "i=64,k=128,j=512");
  const Schedule schedule = schedule_of({"stage C in ram as [j/64, i, j%64]", "for j by 256 on core", "for k by 64",
                                         "for j by 64", "for i by 4", "stage C in vec", "for k by 1", "stage B in vec",
                                         "for i by 1 unroll", "for j by 16 unroll", "do s0 with fma_f32_bcast(j=j)"});
  const auto program = lower(schedule, kernel, two_cores());
  ASSERT_TRUE(program) << render(program.diagnostics());
  int loops = 0;
  for (const Node& node : program->body)
    if (const auto* loop = std::get_if<Loop>(&node.is)) {
      EXPECT_EQ(loop->unit, "core");
      ++loops;
    }
  EXPECT_EQ(loops, 3);  // zeros, products, the copy into the tensor
  expect_schedule_right(kernel, two_cores(), schedule);
}

TEST(Waits, EachThreadPacksWhatItAloneUses) {
  const Program program = searched(formula("C[i,j] += A[i,k] * B[k,j]", "i=1024,k=1024,j=1024"), two_cores());
  const Loop* distributed = nullptr;
  for (const Node& node : program.body)
    if (distributed == nullptr) distributed = std::get_if<Loop>(&node.is);  // no copy before it
  ASSERT_NE(distributed, nullptr);
  EXPECT_EQ(distributed->unit, "core");
}

}  // namespace
}  // namespace isamap
