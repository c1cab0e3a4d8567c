// SPDX-License-Identifier: Apache-2.0
// Statements that have no grid of blocks: plain loops serve every size, with one compilation, at the edge of guard
// pages.

#include <gtest/gtest.h>

#include "backends/cpp/symbolic/symbolic_unit.h"
#include "driver/symbolic/statement_loops.h"
#include "isamap/compile.h"
#include "tests/symbolic/kernels.h"

namespace isamap {
namespace {

struct LoopCase {
  std::string name, text;
  std::set<std::size_t> loops;  ///< statements that are loops; the others have grids
};

const std::string rows_and_columns = "dims: {M: {max: 40, likely: 9}, N: {max: 40, likely: 11}}\n";

const std::vector<LoopCase> loop_cases = {
    {"Window",
     "kernel: window\ndims: {P: {min: 1, max: 40, likely: 9}, R: {min: 1, max: 40, likely: 11}}\n"
     "tensors: {I: {shape: [3, P + R - 1]}, F: {shape: [R]}, O: {shape: [3, P]}}\n"
     "compute: ['O[c,p] += I[c,p+r] * F[r]']\n",
     {0}},
    {"WindowOfBytes",
     "kernel: window\ndims: {P: {min: 1, max: 40, likely: 9}, R: {min: 1, max: 40, likely: 11}}\n"
     "tensors: {I: {shape: [P + R - 1], dtype: u8}, F: {shape: [R], dtype: s8}, O: {shape: [P], dtype: s32}}\n"
     "compute: ['O[p] += s32(I[p+r]) * s32(F[r])']\n",
     {0}},
    {"WindowOfChannels",  // tiles of rows k and lanes p, also of three rows and of few lanes
     "kernel: window\ndims: {P: {min: 1, max: 60, likely: 9}, R: {min: 1, max: 40, likely: 11}}\n"
     "tensors: {I: {shape: [2, P + R - 1]}, F: {shape: [7, 2, R]}, O: {shape: [7, P]}}\n"
     "compute: ['O[k,p] += I[c,p+r] * F[k,c,r]']\n",
     {0}},
    {"NamesOfDimsLikeThoseOfTiles",
     "kernel: window\ndims: {P: {min: 1, max: 60, likely: 9}, R: {min: 1, max: 40, likely: 11}}\n"
     "tensors: {I: {shape: [2, P + R - 1]}, F: {shape: [7, 2, R]}, O: {shape: [7, P]}, S: {shape: [7, 2]}}\n"
     "compute: ['O[p,p_0] += I[p_0_0,p_0+r] * F[p,p_0_0,r]', 'S[p_0,q] += F[p_0,q,p]']\n",
     {0}},
    {"Scan",
     "kernel: scan\n" + rows_and_columns +
         "tensors: {X: {shape: [M, N], outside: 0}, Y: {shape: [M, N]}}\n"
         "compute: ['Y[i,j] += X[i,j-k]']\nwhere: {k: N}\n",
     {0}},
    {"NumberOfAnIteration",
     "kernel: numbers\n" + rows_and_columns +
         "tensors: {A: {shape: [M, N]}, C: {shape: [M, N]}}\ncompute: ['C[i,j] = A[i,j] * f32(value(j)) + "
         "f32(value(N))']\n",
     {0}},
    {"TwoWriters",
     "kernel: writers\n" + rows_and_columns +
         "tensors: {A: {shape: [M, 8]}, B: {shape: [N, 8]}, T: {shape: [2, 8]}, C: {shape: [M, 8]}}\n"
         "compute: ['T[0,j] += A[i,j]', 'T[1,j] += B[k,j]', 'C[i,j] = T[0,j] * A[i,j] + T[1,j]']\n",
     {0, 1}},
    {"ReadsWhatItWrites",
     "kernel: update\n" + rows_and_columns +
         "tensors: {A: {shape: [M, N]}, C: {shape: [M, N], inout: true}}\ncompute: ['C[i,j] = 0.5*C[i,j] + A[i,j]']\n",
     {0}},
    {"ComputedRows",
     "kernel: rows\ndims: {M: {min: 1, max: 40, likely: 9}, N: {max: 40, likely: 11}}\n"
     "tensors: {I: {shape: [N], dtype: s32, range: [0, 50]}, E: {shape: [M, 6]}, C: {shape: [N, 6]}}\n"
     "compute: ['C[i,d] = E[at(I[i]),d]']\n",
     {0}},
    {"HalfOfTheColumns",
     "kernel: half\n" + rows_and_columns +
         "tensors: {A: {shape: [M, N]}, C: {shape: [M, 2*N]}}\ncompute: ['C[i,2*j] = A[i,j] * f32(value(i))']\n",
     {0}},
    {"ASumBehindOne",
     "kernel: sums\n" + rows_and_columns +
         "tensors: {A: {shape: [M, N]}, B: {shape: [N, 8]}, T: {shape: [M, 8]}, C: {shape: [M, 8]}}\n"
         "compute: ['T[i,k] += A[i,j] * B[j,k]', 'C[i,k] = T[i,k] / f32(value(N) + 1)']\n",
     {1}},
};

std::string name_of_loop_case(const testing::TestParamInfo<std::size_t>& info) { return loop_cases[info.param].name; }

class SymbolicLoops : public testing::TestWithParam<std::size_t> {};

TEST_P(SymbolicLoops, ServeEverySize) {
  const LoopCase& one = loop_cases[GetParam()];
  const SymbolicKernel kernel = symbolic_kernel(one.text);
  ASSERT_EQ(kernel.facts.sizes.size(), 2U);
  CompileOptions options;
  options.schedule.max_evaluations = 40;
  options.most_versions = 1;
  const SymbolicCompilation compiled = compile_symbolic(kernel, vector_machine(), options);
  ASSERT_TRUE(compiled.program) << render(compiled.problems);
  ASSERT_EQ(compiled.program->grids.size(), kernel.sample.statements.size());
  for (std::size_t s = 0; s < compiled.program->grids.size(); ++s)
    EXPECT_EQ(compiled.program->grids[s].loops.has_value(), one.loops.contains(s)) << s;
  EXPECT_EQ(compiled.problems.size(), one.loops.size()) << "a warning for each";
  if (availability(vector_machine()).how != ExecutionMode::native) GTEST_SKIP() << availability(vector_machine()).why;
  const auto runner = make_symbolic_runner(*compiled.program, vector_machine());
  const std::vector<SymbolicSize>& sizes = kernel.facts.sizes;
  for (const std::int64_t first : {0, 1, 2, 7, 40})
    for (const std::int64_t second : {0, 1, 3, 16, 33}) {
      const Bindings at = {{sizes[0].name, std::max(first, sizes[0].min)},
                           {sizes[1].name, std::max(second, sizes[1].min)}};
      const auto checked = run_at(*runner, kernel, at, ExecutionMode::native);
      ASSERT_TRUE(checked) << first << " " << second << "\n" << render(checked.diagnostics());
      EXPECT_TRUE(checked->correct) << first << " " << second << " " << checked->first_difference;
    }
  EXPECT_EQ(runner->compilations(), 1);
}

INSTANTIATE_TEST_SUITE_P(Kernels, SymbolicLoops, testing::Range<std::size_t>(0, loop_cases.size()), name_of_loop_case);

/// Steps that models do not have: of an input that is not their outermost axis, forward and backward, adding to what
/// the caller left there.
TEST(SymbolicTimeLoops, ServeEverySize) {
  for (const bool backward : {false, true}) {
    const SymbolicKernel kernel = symbolic_kernel(
        std::string("kernel: steps\ndims: {T: {max: 30, likely: 5}, J: {max: 30, likely: 6}}\n"
                    "tensors: {X: {shape: [J, T]}, G: {shape: [T, J]}, H: {shape: [T + 1, J], inout: true}}\ncompute:\n"
                    "  - repeat: {t: T}\n") +
        (backward ? "    backward: true\n" : "") + "    compute: ['G[t,j] += X[j,t] * " +
        (backward ? "H[t+1,k]'" : "H[t,k]'") + ", '" +
        (backward ? "H[t,j] += 0.5*G[t,j]']\n" : "H[t+1,j] += 0.5*G[t,j]']\n"));
    const SymbolicCompilation compiled =
        compile_plain_loops(kernel, vector_machine(), {}, error("no program for all sizes: steps"));
    ASSERT_TRUE(compiled.program);
    const auto unit = print_symbolic_cpp(*compiled.program, vector_machine());
    ASSERT_TRUE(unit) << render(unit.diagnostics());
    EXPECT_NE(unit->text.find(backward ? "for (long step = T; step-- > 0;)" : "for (long step = 0; step < T; ++step)"),
              std::string::npos)
        << unit->text;
    if (availability(vector_machine()).how != ExecutionMode::native) continue;
    const auto runner = make_symbolic_runner(*compiled.program, vector_machine());
    for (const std::int64_t steps : {0, 1, 2, 9})
      for (const std::int64_t count : {0, 1, 5, 17}) {
        const auto checked = run_at(*runner, kernel, {{"T", steps}, {"J", count}}, ExecutionMode::native);
        ASSERT_TRUE(checked) << render(checked.diagnostics());
        EXPECT_TRUE(checked->correct) << steps << " " << count << " " << checked->first_difference;
      }
  }
}

/// A tensor that is read twice has one copy for all reads; its value outside may be any number of integers and of f32.
TEST(SymbolicStencils, ReadATensorTwice) {
  const std::string text =
      "kernel: stencil\ndims: {H: {max: 60, likely: 20}, W: {max: 60, likely: 24}}\n"
      "tensors: {I: {shape: [H, W], dtype: TYPE, outside: 3}, O: {shape: [H, W], dtype: TYPE}}\n"
      "compute: ['O[i,j] = 4*I[i,j] - I[i-1,j] - I[i+1,j] - I[i,j-2] - I[i,j+1]']\n";
  for (const std::string type : {"f32", "s32"}) {
    std::string one = text;
    for (std::size_t at = 0; (at = one.find("TYPE")) != std::string::npos;) one.replace(at, 4, type);
    const SymbolicKernel kernel = symbolic_kernel(one);
    const auto shape = grid_shape(kernel, 0);
    ASSERT_TRUE(shape) << render(shape.diagnostics());
    const PaddedCopy& copy = shape->padded.begin()->second;
    EXPECT_EQ(copy.low, (std::vector<std::int64_t>{-1, -2}));
    EXPECT_EQ(print(copy.extents[0]) + "; " + print(copy.extents[1]), "H + 2; W + 3");
    CompileOptions options;
    options.schedule.max_evaluations = 40;
    options.most_versions = 1;
    const SymbolicCompilation compiled = compile_symbolic(kernel, vector_machine(), options);
    ASSERT_TRUE(compiled.program) << render(compiled.problems);
    EXPECT_FALSE(compiled.program->grids[0].loops);
    if (availability(vector_machine()).how != ExecutionMode::native) continue;
    const auto runner = make_symbolic_runner(*compiled.program, vector_machine());
    for (const std::int64_t height : {0, 1, 2, 19, 33})
      for (const std::int64_t width : {0, 1, 3, 31, 50}) {
        const auto checked = run_at(*runner, kernel, {{"H", height}, {"W", width}}, ExecutionMode::native);
        ASSERT_TRUE(checked) << render(checked.diagnostics());
        EXPECT_TRUE(checked->correct) << height << " " << width << " " << checked->first_difference;
      }
  }
}

}  // namespace
}  // namespace isamap
