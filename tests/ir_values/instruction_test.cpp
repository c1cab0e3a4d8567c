// SPDX-License-Identifier: Apache-2.0
#include "isamap/instruction.h"

#include <gtest/gtest.h>

#include "ir/text/parse.h"

namespace isamap {
namespace {

using Table = std::optional<std::vector<std::int64_t>>;

Instruction made(const std::string& text) {
  const auto kernel = parse_kernel("kernel k\n" + text);
  EXPECT_TRUE(static_cast<bool>(kernel)) << render(kernel.diagnostics());
  Instruction instruction;
  instruction.name = "x";
  if (!kernel) return instruction;
  instruction.tensors = kernel->tensors;
  instruction.semantics = kernel->statements;
  for (const Tensor& tensor : kernel->tensors) {
    Operand operand;
    operand.name = tensor.name;
    operand.dtype = tensor.dtype;
    instruction.operands.push_back(operand);
  }
  for (const Dim& dim : instruction.statement().domain.dims)
    instruction.ranges.push_back({dim.extent, dim.extent, dim.extent, false, {}});
  return instruction;
}

const std::string multiply =
    "tensor C: s32[4,4]\ntensor A: s8[4,8]\ntensor B: s8[8,4]\n"
    "s0: C[i,j] += s32(A[i,k]) * s32(B[k,j]) over i: 4, j: 4, k: 8\n";

TEST(Instruction, MeaningIsAskedOfTheStatement) {
  const Instruction move = made("tensor D: f32[16]\ntensor S: f32[16]\ns0: D[i] = S[i] over i: 16\n");
  const Instruction fill = made("tensor D: f32[16]\ns0: D[i] = -1 over i: 16\n");
  const Instruction widen = made("tensor D: f32[16]\ntensor S: bf16[16]\ns0: D[i] = f32(S[i]) over i: 16\n");
  EXPECT_TRUE(is_move(move));
  EXPECT_FALSE(is_compute(move));
  EXPECT_EQ(fill_value(fill), -1.0);
  EXPECT_FALSE(is_move(widen));
  EXPECT_TRUE(is_compute(widen));
  EXPECT_TRUE(is_setter(Instruction{}));
  EXPECT_TRUE(is_compute(made(multiply)));
  EXPECT_EQ(operand_box(made(multiply), 1), (std::vector<std::int64_t>{4, 8}));
  EXPECT_EQ(operand_of_access(made(multiply), 2), TensorId{2});
}

TEST(Instruction, PrintsAndVerifies) {
  Instruction instruction = made(multiply);
  EXPECT_TRUE(verify(instruction).empty()) << render(verify(instruction));
  EXPECT_EQ(print(instruction),
            "x:\n  C[i,j] += s32(A[i,k]) * s32(B[k,j]) over i: 4, j: 4, k: 8\n  dims: i 4, j 4, k 8\n"
            "  C: s32[4,4]\n  A: s8[4,8]\n  B: s8[8,4]\n");
  instruction.ranges[1] = {1, 8, 1, false, {}};
  instruction.operands[1].dtype = DType::u8;
  EXPECT_EQ(render(verify(instruction)),
            "instruction 'x': dim j has extent 4, but its largest allowed extent is 8\n"
            "instruction 'x': operand A is u8, but the statement computes with s8\n");
}

IntExpr number(std::int64_t n) {
  IntExpr e;
  e.number = n;
  return e;
}

StrideTerm term(const std::string& text, std::optional<std::int64_t> stride) {
  StrideTerm t;
  t.term = *parse_affine(text);
  if (stride) t.stride = number(*stride);
  t.text = text;
  return t;
}

TEST(Positions, OfLayouts) {
  Operand operand;
  operand.dtype = DType::s8;
  operand.index_names = {"k", "j"};
  EXPECT_EQ(positions(operand, {2, 3}), Table({0, 1, 2, 3, 4, 5}));
  operand.layout = StridedLayout{{term("k/2", 8), term("j", 2), term("k%2", 1)}, {}};
  EXPECT_EQ(positions(operand, {4, 2}), Table({0, 2, 1, 3, 8, 10, 9, 11}));
  operand.layout = StridedLayout{{term("k", 8), term("j", 1)}, XorSwizzle{1, 3, 0}};  // odd rows exchange neighbours
  EXPECT_EQ(positions(operand, {2, 2}), Table({0, 1, 9, 8}));
  operand.layout = StridedLayout{{term("k", std::nullopt), term("j", 1)}, {}};
  EXPECT_EQ(positions(operand, {2, 2}), std::nullopt);
}

TEST(Positions, OfFragments) {
  Operand operand;
  operand.layout =
      FragmentLayout{{{"lane", 4}, {"elem", 2}}, {*parse_affine("lane/2 + 2*elem"), *parse_affine("lane%2")}, {}};
  EXPECT_EQ(positions(operand, {4, 2}), Table({0, 2, 4, 6, 1, 3, 5, 7}));
  EXPECT_EQ(positions(operand, {5, 2}), std::nullopt);  // row 4 has no position
}

}  // namespace
}  // namespace isamap
