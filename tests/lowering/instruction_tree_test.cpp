// SPDX-License-Identifier: Apache-2.0
// `do` lines with trees of instructions: lowered, executed, read back, refused.

#include "isamap/compile.h"
#include "isamap/mapper.h"
#include "tests/lowering/support.h"

namespace isamap {
namespace {

Kernel activated(int m, int n, int k, const std::string& body) {
  std::string tensors;
  for (const auto& [name, shape] : {std::pair("B", "[N]"), std::pair("S", "[M]"), std::pair("R", "[M, N]")})
    if (body.find(std::string(name) + "[") != std::string::npos)
      tensors += std::string("  ") + name + ": {shape: " + shape + ", dtype: f32}\n";
  auto kernel = parse_kernel_yaml(
      "kernel: activated\ndims: {M: " + std::to_string(m) + ", N: " + std::to_string(n) + ", K: " + std::to_string(k) +
          "}\ntensors:\n  X: {shape: [M, K], dtype: f32}\n  W: {shape: [K, N], dtype: f32}\n" + tensors +
          "  T: {shape: [M, N], dtype: f32}\n  Y: {shape: [M, N], dtype: f32}\ncompute:\n"
          "  - {name: mm, compute: \"T[i,j] += X[i,k] * W[k,j]\"}\n"
          "  - {name: act, compute: \"Y[a,b] = " +
          body + "\"}\n",
      "activated.yaml");
  EXPECT_TRUE(kernel) << render(kernel.diagnostics());
  return *kernel;
}

Schedule behind_product(int i, int j, const std::string& tree, const std::vector<std::string>& inputs) {
  const std::string by_i = std::to_string(i), by_j = std::to_string(j);
  std::vector<std::string> act = {"for a by " + by_i, "for b by " + by_j, "stage T in vec from mm",
                                  "for b by 16 unroll", "for a by 1 unroll"};
  for (const std::string& input : inputs) act.push_back("stage " + input + " in vec");
  act.insert(act.end(), {"stage Y in vec", "do act with " + tree + "(j=b)"});
  return schedule_of({{"for i by " + by_i, "for j by " + by_j, "stage T in vec then act", "for k by 1",
                       "stage W in vec", "for i by 1 unroll", "for j by 16 unroll", "do mm with fma_f32_bcast(j=j)"},
                      act});
}

const std::vector<std::array<int, 3>> product_sizes = {{12, 64, 9}, {13, 37, 7}, {1, 1, 1},
                                                       {5, 33, 1},  {4, 16, 0},  {0, 16, 3}};

TEST(InstructionTree, BehindAProduct) {
  struct Case {
    std::string body, tree;
    std::vector<std::string> inputs;
  };
  const std::vector<Case> cases = {
      {"min(max(T[a,b] + B[b], 0), 6)", "add_f32.relu_f32.lesser_f32", {"B"}},
      {"max(T[a,b] * S[a] + B[b] + R[a,b], -2)", "mul_f32.add_f32.add_f32.greater_f32", {"S", "B", "R"}},
      {"T[a,b] * min(max(T[a,b] + 3, 0), 6) * 0.5", "add_f32.relu_f32.lesser_f32.mul_f32.mul_f32", {}},
      {"(T[a,b] + B[b]) * (T[a,b] - R[a,b])", "add_f32.sub_f32.mul_f32", {"B", "R"}},
      {"min(T[a,b], B[b])", "min_f32", {"B"}}};
  for (const Case& one : cases)
    for (const auto& [m, n, k] : product_sizes)
      expect_schedule_right(activated(m, n, k, one.body), machine("x86_avx512"),
                            behind_product(4, 32, one.tree, one.inputs));
}

/// Nothing between the instructions is stored, and constants are set once.
TEST(InstructionTree, KeepsValuesInRegisters) {
  const HardwareModel model = machine("x86_avx512");
  const Kernel kernel = activated(8, 64, 4, "min(max(T[a,b] + B[b], 0), 6)");
  const auto program = lower(behind_product(4, 32, "add_f32.relu_f32.lesser_f32", {"B"}), kernel, model);
  ASSERT_TRUE(program) << render(program.diagnostics());
  std::vector<TensorData> data;
  for (const Tensor& tensor : kernel.tensors) data.push_back(make_data(tensor));
  const auto counts = interpret(*program, model, data);
  ASSERT_TRUE(counts) << render(counts.diagnostics());
  EXPECT_EQ(counts->calls.at("add_f32"), 32);
  EXPECT_EQ(counts->calls.at("lesser_f32"), 32);
  EXPECT_EQ(counts->calls.at("store_f32"), 32);
  EXPECT_EQ(counts->calls.at("broadcast_f32"), 1);
}

/// A product that takes all 32 registers leaves none for the constant 6 and for results between the calls behind it.
TEST(InstructionTree, TakesNoRegistersFromTheProductBefore) {
  for (const auto& [m, n, k] : product_sizes)
    expect_schedule_right(activated(m, n, k, "min(max(T[a,b] + B[b], 0), 6)"), machine("x86_avx512"),
                          behind_product(7, 64, "add_f32.relu_f32.lesser_f32", {"B"}));
}

TEST(InstructionTree, RefusalsNameTheTree) {
  const HardwareModel model = machine("x86_avx512");
  const auto why = [&](const std::string& tree) {
    const Kernel kernel = formula("Y[i] = max(X[i] + Z[i], 0)", "i=40");
    const Schedule schedule = schedule_of(
        {"for i by 16", "stage X in vec", "stage Z in vec", "stage Y in vec", "do s0 with " + tree + "(j=i)"});
    const auto program = lower(schedule, kernel, model);
    return program ? std::string("taken") : program.diagnostics().front().message;
  };
  EXPECT_EQ(why("add_f32.relu_f32"), "taken");
  EXPECT_EQ(why("relu_f32.add_f32"), "'relu_f32.add_f32' is no tree of instructions of x86_avx512 that computes s0");
  EXPECT_EQ(why("add_f32.rely_f32"), "'add_f32.rely_f32' is no tree of instructions of x86_avx512 that computes s0");
}

/// Max pooling with a border, averages, and chains behind a product are vector code that the search finds by itself.
TEST(InstructionTree, IsFoundByTheSearch) {
  struct Case {
    std::string compute, dims, call;
  };
  const std::vector<Case> cases = {{"Y[p,c] = min(max(X[p,c] + B[c], 0), 6)", "p=5,c=37", "lesser_f32"},
                                   {"Y[c] max= X[p,c]", "p=9,c=33", "max_into_f32"},
                                   {"Y[c] min= X[p,c] * B[c]", "p=9,c=33", "min_into_f32"},
                                   {"Y[c] += X[p,c]", "p=9,c=33", "add_into_f32"},
                                   {"Y[p,c] = X[p,c] / S[p]", "p=9,c=32", "div_f32"}};
  const HardwareModel model = machine("x86_avx512");
  for (const Case& one : cases) {
    const Kernel kernel = formula(one.compute, one.dims);
    CompileOptions options;
    options.schedule.max_evaluations = 100;
    const Compilation compiled = compile(kernel, model, options);
    ASSERT_TRUE(compiled.program) << one.compute << render(compiled.problems);
    expect_schedule_right(kernel, model, compiled.scheduled->schedule);
    const std::string text = print(*compiled.program, model);
    EXPECT_NE(text.find(one.call), std::string::npos) << one.compute << "\n" << text;
  }
}

/// The constant of a mean is set by a broadcast where instructions that only set the machine's state come first.
TEST(InstructionTree, ConstantsBesideInstructionsWithoutOperands) {
  const HardwareModel model = machine("riscv_v");
  ASSERT_TRUE(is_setter(model.instructions().front()));
  const Kernel kernel = formula("M[i] += 0.025 * X[i,j]", "i=9,j=40");
  CompileOptions options;
  options.schedule.max_evaluations = 100;
  const Compilation compiled = compile(kernel, model, options);
  ASSERT_TRUE(compiled.program) << render(compiled.problems);
  expect_schedule_right(kernel, model, compiled.scheduled->schedule);
}

/// --strict-float: approximated functions are the library's, in scalar code.
TEST(InstructionTree, StrictFloatRefusesApproximatedFunctions) {
  const Kernel kernel = formula("Y[i] = exp(X[i] - 1)", "i=64");
  const HardwareModel model = machine("x86_avx512");
  for (const bool strict : {false, true}) {
    CompileOptions options;
    options.strict_float = options.schedule.space.sums_in_order = strict;
    options.schedule.max_evaluations = 50;
    const Compilation compiled = compile(kernel, model, options);
    ASSERT_TRUE(compiled.program) << render(compiled.problems);
    EXPECT_EQ(print(*compiled.program, model).find("exp_f32") == std::string::npos, strict);
  }
}

}  // namespace
}  // namespace isamap
