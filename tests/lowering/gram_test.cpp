// SPDX-License-Identifier: Apache-2.0
// Statements that read one tensor with two accesses: each has its own tiles, X and X.2 in a schedule.

#include <fmt/format.h>

#include "isamap/scheduler.h"
#include "tests/lowering/support.h"
#include "tests/searched.h"

namespace isamap {
namespace {

struct GramCase {
  const char *target, *product, *dtypes;
};
const GramCase gram_cases[] = {
    {"x86_avx512", "X[i,k] * X[j,k]", ""},
    {"x86_avx512", "X[k,i] * X[k,j]", ""},
    {"scalar_c", "X[i,k] * X[j,k]", ""},
    {"npu16", "s32(X[i,k]) * s32(X[j,k])", "X=s8,G=s32"},
    {"npu16", "s32(X[k,i]) * s32(X[k,j])", "X=s8,G=s32"},
    {"intel_amx", "f32(X[i,k]) * f32(X[j,k])", "X=bf16,G=f32"},
    {"intel_amx", "f32(X[k,i]) * f32(X[k,j])", "X=bf16,G=f32"},
    {"nvidia_sm80", "f32(X[i,k]) * f32(X[j,k])", "X=bf16,G=f32"},
};

bool calls_an_instruction(const HardwareModel& model, const Counts& counts) {
  for (const auto& [name, count] : counts.calls)
    if (const auto id = model.find_instruction(name); id && count > 0 && is_compute(model.instruction(*id)))
      return true;
  return false;
}

/// Sizes that tiles divide, that they do not, of 1 and of 0.
TEST(Gram, IsComputedByInstructions) {
  const char* const sizes[] = {"i=32,j=32,k=32", "i=19,j=19,k=37", "i=5,j=23,k=9",
                               "i=1,j=1,k=1",    "i=7,j=1,k=0",    "i=0,j=0,k=3"};
  for (const GramCase& c : gram_cases) {
    const HardwareModel model = machine(c.target);
    for (const std::string dims : sizes) {
      const std::string text = fmt::format("{}: {} of {}", c.target, c.product, dims);
      const Kernel kernel = formula(fmt::format("G[i,j] += {}", c.product), dims, c.dtypes);
      const Program program = searched(kernel, model, 30);
      Random random(7);
      std::vector<TensorData> expected;
      for (const Tensor& tensor : kernel.tensors) expected.push_back(random_data(tensor, Fill::integers, random));
      std::vector<TensorData> found = expected;
      interpret(kernel, expected);
      const auto counts = interpret(program, model, found);
      ASSERT_TRUE(counts) << text << render(counts.diagnostics());
      for (std::size_t t = 0; t < kernel.tensors.size(); ++t)
        EXPECT_EQ(expected[t].bytes, found[t].bytes) << text << " " << kernel.tensors[t].name;
      if (dims == sizes[0] || dims == sizes[1]) {  // scalar code may be cheaper for a few elements
        EXPECT_TRUE(calls_an_instruction(model, *counts)) << text << "\n" << print(program, model);
      }
    }
  }
}

const char* const gram_by_hand = R"(schedule: gram
kernel: formula
target: npu16
nest:
  - stage X.2 in dram as [j/16, k/16, k%16, j%16]
  - for i by 32
  - for j by 16
  - stage G in acc first flag
  - for k by 32
  - stage X in spad
  - stage X.2 in spad
  - for i by 16
  - for k by 16
  - do s0 with mma(i=i, j=j, k=k)
)";

TEST(Gram, TilesOfEachReadAreNamed) {
  const HardwareModel model = machine("npu16");
  const Kernel kernel = formula("G[i,j] += s32(X[i,k]) * s32(X[j,k])", "i=40,j=40,k=50", "X=s8,G=s32");
  const auto schedule = parse_schedule(gram_by_hand, "gram.yaml", kernel, model);
  ASSERT_TRUE(schedule) << render(schedule.diagnostics());
  EXPECT_EQ(print(*schedule), gram_by_hand);
  expect_schedule_right(kernel, model, *schedule);
  const auto program =
      lower(*schedule, formula("G[i,j] += s32(X[i,k]) * s32(X[j,k])", "i=32,j=16,k=32", "X=s8,G=s32"), model);
  ASSERT_TRUE(program) << render(program.diagnostics());
  std::vector<std::string> names;
  for (const Buffer& buffer : program->buffers) names.push_back(buffer.name);
  EXPECT_EQ(names, (std::vector<std::string>{"X", "G", "X_2_dram", "G_acc", "X_spad", "X_2_spad"}));
}

std::string why_wrong(std::string text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  text.replace(at, what.size(), with);
  const auto schedule =
      parse_schedule(text, "gram.yaml", formula("G[i,j] += s32(X[i,k]) * s32(X[j,k])", "i=40,j=40,k=50", "X=s8,G=s32"),
                     machine("npu16"));
  return schedule ? "taken" : render(schedule.diagnostics());
}

TEST(Gram, OperandsNameTheRead) {
  EXPECT_EQ(why_wrong(gram_by_hand, "k=k)", "k=k) operands A=X B=X.2"), "taken");
  EXPECT_NE(why_wrong(gram_by_hand, "(i=i, j=j, k=k)", "(i=i, j=j, k=k) operands A=X B=X")
                .find("no operand of mma takes X.2"),
            std::string::npos);
  EXPECT_NE(why_wrong(gram_by_hand, "X.2 in spad", "X.3 in spad").find("no tensor 'X.3' in s0"), std::string::npos);
  EXPECT_NE(why_wrong(gram_by_hand, "  - stage X.2 in spad\n", "").find("add 'stage X.2 in spad'"), std::string::npos);
}

/// The second read on the first operand, and the other way round.
TEST(Gram, OperandsInTheOtherOrderAreRight) {
  for (const char* sizes : {"a=8,b=32,k=4", "a=5,b=21,k=3", "a=1,b=1,k=1"})
    expect_right(formula("G[a,b] += X[k,b] * X[k,a]", sizes), machine("x86_avx512"),
                 {"for a by 4", "for b by 16", "stage G in vec", "for k by 1", "stage X in vec", "for a by 1 unroll",
                  "do s0 with fma_f32_bcast(j=b) operands A=X.2 B=X"});
}

/// A product of three factors is no single instruction, but a tree of two.
TEST(Gram, WeightedBySomethingElseIsATree) {
  const auto mapped =
      enumerate_mappings(formula("G[i,j] += X[i,k] * X[j,k] * W[k]", "i=16,j=16,k=16"), machine("x86_avx512"), {});
  ASSERT_TRUE(mapped);
  ASSERT_FALSE(mapped->mappings.empty());
  for (const Mapping& mapping : mapped->mappings) EXPECT_EQ(mapping.tree.form->name, "mul_f32.fma_f32");
  bool said = false;
  for (const Rejection& r : mapped->rejected)
    for (const Reason& reason : r.reasons)
      said = said || reason.text == "body: the instruction computes A * B; the statement computes X[i,k] * X[j,k] * W";
  EXPECT_TRUE(said);
}

/// A tile of T holds T[i] and not T[j] of the same call.
TEST(Gram, TilesAreHandedOnWhole) {
  const auto kernel = parse_kernel_yaml(R"(kernel: outer
dims: {N: 8}
tensors:
  X: {shape: [N]}
  Z: {shape: [N]}
  T: {shape: [N]}
  G: {shape: [N, N]}
compute:
  - T[i] = X[i] + Z[i]
  - G[i,j] = T[i] * T[j]
)",
                                        "outer.yaml");
  ASSERT_TRUE(kernel) << render(kernel.diagnostics());
  const auto schedule = [](const std::string& tile) {
    return schedule_of({{"for i by " + tile, "stage T in ram then s1", "for i by 1", "do s0 with scalar"},
                        {"for i by " + tile, "for j by " + tile, "stage T in ram from s0", "for i by 1", "for j by 1",
                         "do s1 with scalar"}});
  };
  const HardwareModel model = machine("x86_avx512");
  const auto part = lower(schedule("4"), *kernel, model);
  ASSERT_FALSE(part);
  EXPECT_NE(render(part.diagnostics()).find("it reads T at i and at j; the tile has 4 of 8 points of i"),
            std::string::npos)
      << render(part.diagnostics());
  expect_schedule_right(*kernel, model, schedule("8"));
}

}  // namespace
}  // namespace isamap
