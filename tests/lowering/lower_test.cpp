// Hand-written schedules, lowered, verified and run by the program interpreter against the kernel interpreter.

#include <gtest/gtest.h>

#include "frontends/frontends.h"
#include "hwdesc/program_check.h"
#include "hwdesc/yaml_loader.h"
#include "ir/interpret.h"
#include "scheduler/lower.h"

namespace isamap {
namespace {

HardwareModel machine(const std::string& name) {
  auto loaded = load_hardware(name, {std::string(ISAMAP_SOURCE_DIR) + "/hardware_models"});
  EXPECT_TRUE(loaded) << render(loaded.diagnostics());
  return loaded->model;
}

Kernel formula(const std::string& compute, const std::string& dims, const std::string& dtypes = "") {
  auto kernel = kernel_from_formula(compute, dims, dtypes);
  EXPECT_TRUE(kernel) << render(kernel.diagnostics());
  return *kernel;
}

Schedule schedule_of(const std::vector<std::string>& lines) {
  Schedule schedule;
  schedule.nests.emplace_back();
  for (const std::string& text : lines) {
    auto line = parse_line(text);
    EXPECT_TRUE(line) << text << "\n" << render(line.diagnostics());
    schedule.nests[0].lines.push_back(*line);
  }
  return schedule;
}

void expect_right(const Kernel& kernel, const HardwareModel& model, const std::vector<std::string>& lines) {
  auto program = lower(schedule_of(lines), kernel, model);
  ASSERT_TRUE(program) << render(program.diagnostics());
  Random random(7);
  std::vector<TensorData> expected;
  for (const Tensor& tensor : kernel.tensors) expected.push_back(random_data(tensor, Fill::integers, random));
  std::vector<TensorData> found = expected;
  interpret(kernel, expected);
  auto counts = interpret(*program, model, found);
  ASSERT_TRUE(counts) << render(counts.diagnostics());
  for (std::size_t t = 0; t < kernel.tensors.size(); ++t)
    if (role_of(kernel, make_id<TensorId>(t)) == Role::output) EXPECT_EQ(expected[t].bytes, found[t].bytes) << kernel.tensors[t].name;
}

const std::string gemm = "C[i,j] += A[i,k] * B[k,j]";

TEST(Lower, GemmWithPackedPanelsAndRaggedSizes) {
  for (const std::string dims : {"i=28,j=64,k=8", "i=29,j=37,k=7", "i=1,j=1,k=1", "i=13,j=16,k=5"})
    expect_right(formula(gemm, dims), machine("x86_avx512"),
                 {"stage B in ram as [j/32, k, j%32]", "for j by 32", "for i by 14", "stage C in vec", "for k by 1",
                  "stage B in vec", "for i by 1 unroll", "for j by 16 unroll", "do s0 with fma_f32_bcast(j=j)"});
}

TEST(Lower, GemmStraightFromRowMajorWithMaskedEdges) {
  expect_right(formula(gemm, "i=5,j=37,k=7"), machine("x86_avx512"),
               {"for j by 32", "for i by 4", "stage C in vec", "for k by 1", "stage B in vec", "for i by 1 unroll",
                "for j by 16 unroll", "do s0 with fma_f32_bcast(j=j)"});
}

TEST(Lower, ReductionBlockedOutsideTheAccumulatorsLoadsPartialSums) {
  expect_right(formula(gemm, "i=9,j=20,k=21"), machine("x86_avx512"),
               {"for k by 8", "for j by 32", "for i by 4", "stage C in vec", "for k by 1", "stage B in vec",
                "for i by 1 unroll", "for j by 16 unroll", "do s0 with fma_f32_bcast(j=j)"});
}

}  // namespace
}  // namespace isamap
