// SPDX-License-Identifier: Apache-2.0
// Trees of instructions that cover a body.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "isamap/frontends.h"
#include "isamap/hardware.h"
#include "mapper/match/instruction_tree.h"
#include "tests/mapper/cases.h"

namespace isamap {
namespace {

const HardwareModel& vector_machine() {
  static const auto loaded = load_hardware("x86_avx512", {std::string(ISAMAP_SOURCE_DIR) + "/hardware_models"});
  return loaded->model;
}

Kernel floats(const std::string& text) { return testing::kernel_of(text, {{"i", 40}, {"j", 50}}, {}, DType::f32); }

/// Its names, and what each call reads: t1 is the first read, c0 the first call, numbers are constants.
std::string tree_text(const std::string& formula) {
  const Kernel kernel = floats(formula);
  const auto tree = cheapest_tree(kernel.statements[0], kernel.tensors, vector_machine());
  if (!tree) return "none";
  std::string text;
  for (const TreeCall& call : tree->calls) {
    text += (text.empty() ? "" : "; ") + vector_machine().instruction(call.instruction).name;
    for (const TreeInput& input : call.inputs)
      text += input.from == TreeInput::From::read   ? fmt::format(" t{}", input.number)
              : input.from == TreeInput::From::call ? fmt::format(" c{}", input.number)
                                                    : fmt::format(" {}", input.value);
  }
  return text;
}

TEST(Trees, CoverBodies) {
  EXPECT_EQ(tree_text("Y[i] = max(X[i] + Z[i], 0)"), "add_f32 t0 t1; relu_f32 c0");
  EXPECT_EQ(tree_text("Y[i] = min(max(X[i] + Z[i], 0), 6)"), "add_f32 t0 t1; relu_f32 c0; lesser_f32 6 c1");
  EXPECT_EQ(tree_text("Y[i] = max(2, X[i])"), "greater_f32 2 t0");
  EXPECT_EQ(tree_text("Y[i] = X[i] * W[i] + Z[i] * X[i]"), "mul_f32 t0 t1; mul_f32 t2 t0; add_f32 c0 c1");
  EXPECT_EQ(tree_text("Y[i] = 0.5 * X[i] * (1 + erf(X[i] * 0.75))"),
            "mul_f32 0.5 t0; mul_f32 t0 0.75; erf_f32 c1; add_f32 1 c2; mul_f32 c0 c3");
  EXPECT_EQ(tree_text("Y[i] = X[i] / (1 + exp(0 - X[i]))"), "sub_f32 0 t0; exp_f32 c0; add_f32 1 c1; div_f32 t0 c2");
  EXPECT_EQ(tree_text("S[i] += exp(X[i,j] - Z[i])"), "sub_f32 t0 t1; exp_f32 c0; add_into_f32 c1");
  EXPECT_EQ(tree_text("S[i] max= X[i,j] * Z[j]"), "mul_f32 t0 t1; max_into_f32 c0");
}

/// Sums of integer products become bytes in registers, though two registers hold what one holds of sums in f64. Factors
/// are read from memory: one for all lanes, or one for each.
TEST(Trees, CoverTheScalingOfIntegerSums) {
  const auto names = [](const std::string& formula, DType to, DType zero) {
    const Kernel kernel = testing::kernel_of(
        formula, {{"i", 5}, {"j", 50}},
        {{"T", DType::s32}, {"B", DType::s32}, {"F", DType::f64}, {"G", DType::f64}, {"Z", zero}, {"Y", to}});
    std::string text;
    for (const InstructionTree& tree : cheapest_trees(kernel.statements[0], kernel.tensors, vector_machine()))
      text += (text.empty() ? "" : " or ") + tree.form->name;
    return text.empty() ? "none" : text;
  };
  EXPECT_EQ(names("Y[i,j] = sat_u8(round(f64(T[i,j]) * F[]))", DType::u8, DType::u8), "scaled_u8");
  EXPECT_EQ(names("Y[i,j] = sat_s8(round(f64(T[i,j] + B[j]) * F[] + f64(f32(Z[]))))", DType::s8, DType::s8),
            "add_s32.scaled_s8_zero");
  EXPECT_EQ(names("Y[i,j] = sat_u8(round(f64(T[i,j]) * G[j] + f64(f32(Z[]))))", DType::u8, DType::u8),
            "scaled_u8_zero or scaled_u8_lanes_zero");
  EXPECT_EQ(names("Y[i,j] = sat_u8(round(f64(T[i,j]) * F[] + f64(f32(Z[]))))", DType::u8, DType::s8), "none");
}

/// The first operand of a min instruction that chooses must be no NaN and no 0: equal zeros may differ in their signs.
TEST(Trees, ChooseOperandsOnlyForConstantsThatAreTheirOnlyEqual) {
  EXPECT_EQ(tree_text("Y[i] = min(X[i], 0)"), "min_f32 t0 0");
  EXPECT_EQ(tree_text("Y[i] = min(X[i], -0.0)"), "min_f32 t0 -0");
  EXPECT_EQ(tree_text("Y[i] = min(X[i], 1e-60)"), "min_f32 t0 0");  // 0 in its type
  EXPECT_EQ(tree_text("Y[i] = min(X[i] + 1, Z[i])"), "add_f32 t0 1; min_f32 c0 t1");
  EXPECT_EQ(tree_text("Y[i] = max(X[i], 0)"), "relu_f32 t0");
}

TEST(Trees, NeedAnInstructionForEachPart) {
  EXPECT_EQ(tree_text("Y[i] = tan(X[i]) + 1"), "none");
  EXPECT_EQ(tree_text("Y[i] *= X[i,j] + 1"), "none");
  EXPECT_EQ(tree_text("Y[i] = X[i]"), "none");
}

TEST(Trees, AreReadBackFromTheirNames) {
  const Kernel kernel = floats("Y[i] = 0.5 * X[i] * (1 + erf(X[i] * 0.75)) + max(Z[i] + X[i], 0)");
  const auto tree = cheapest_tree(kernel.statements[0], kernel.tensors, vector_machine());
  ASSERT_TRUE(tree);
  EXPECT_EQ(tree->form->name, "mul_f32.mul_f32.erf_f32.add_f32.mul_f32.add_f32.relu_f32.add_f32");
  EXPECT_EQ(tree->form->statement().body, kernel.statements[0].body);
  const auto again = tree_named(tree->form->name, kernel.statements[0], kernel.tensors, vector_machine());
  ASSERT_TRUE(again);
  EXPECT_TRUE(*again == *tree);
  for (const char* wrong : {"mul_f32.erf_f32.add_f32.mul_f32.add_f32.relu_f32.add_f32", "add_f32", "mul_f32..add_f32",
                            "mul_f32.nothing", ".", "mul_f32.mul_f32.erf_f32.add_f32.mul_f32.add_f32.max_f32.mul_f32"})
    EXPECT_FALSE(tree_named(wrong, kernel.statements[0], kernel.tensors, vector_machine())) << wrong;
  const Kernel other = floats("Y[i] = X[i] + Z[i]");
  EXPECT_FALSE(tree_named(tree->form->name, other.statements[0], other.tensors, vector_machine()));
}

TEST(Trees, CountRegistersAndSlots) {
  const Kernel kernel = floats("Y[i] = 0.5 * X[i] * (1 + erf(X[i] * 0.75))");
  const auto tree = cheapest_tree(kernel.statements[0], kernel.tensors, vector_machine());
  ASSERT_TRUE(tree);
  EXPECT_EQ(registers_beside_operands(*tree, vector_machine()), 2 + 3);  // two live results; 0.5, 0.75 and 1
  EXPECT_EQ(tree->form->timing.port, "fma");
  const Kernel divided = floats("Y[i] = (X[i] + 1) / Z[i]");
  EXPECT_EQ(cheapest_tree(divided.statements[0], divided.tensors, vector_machine())->form->timing.port, "divide");
}

TEST(Trees, AreMappingsOfStatementsThatNoInstructionComputes) {
  const Kernel kernel = floats("Y[i] = min(max(X[i] + Z[i], 0), 6)");
  const auto found = enumerate_mappings(kernel, vector_machine(), {});
  ASSERT_TRUE(found);
  ASSERT_FALSE(found->mappings.empty());
  for (const Mapping& mapping : found->mappings) {
    EXPECT_EQ(mapping.tree.form->name, "add_f32.relu_f32.lesser_f32");
    EXPECT_EQ(mapping.proof, Proof::proved);
  }
  MapOptions plain;
  plain.rule = Rule::access;
  EXPECT_TRUE(enumerate_mappings(kernel, vector_machine(), plain)->mappings.empty());
  Kernel bordered = floats("Y[i] = (X[i] + X[i+1]) * 2");
  EXPECT_FALSE(enumerate_mappings(bordered, vector_machine(), {})->mappings.empty());
  bordered.tensors[1].shape[0] -= 1;  // reads beyond it need copies with a border
  bordered.tensors[1].outside = 0;
  EXPECT_TRUE(enumerate_mappings(bordered, vector_machine(), {})->mappings.empty());
  for (const Mapping& mapping : enumerate_mappings(floats("Y[i] = X[i] + Z[i]"), vector_machine(), {})->mappings)
    EXPECT_TRUE(mapping.tree.empty());
}

}  // namespace
}  // namespace isamap
