// SPDX-License-Identifier: Apache-2.0
// Grids of blocks: any dim may be symbolic. The oracle (a block with trips is the program that lowering makes for these
// numbers), runs at many sizes with one compilation at the edge of guard pages, and mutants that must be caught.

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <regex>
#include <set>

#include "backends/common/process.h"
#include "backends/compiled_runner.h"
#include "backends/cpp/compile.h"
#include "backends/cpp/symbolic/block_arguments.h"
#include "backends/cpp/symbolic/shared_loads.h"
#include "backends/cpp/symbolic/symbolic_unit.h"
#include "driver/execute.h"
#include "driver/symbolic/edge_grids.h"
#include "driver/symbolic/grid_builder.h"
#include "driver/symbolic/grid_versions.h"
#include "isamap/compile.h"
#include "isamap/program_on_machine.h"
#include "isamap/scheduler.h"
#include "program/masked_blocks.h"
#include "program/packed_constants.h"
#include "program/shared_copies.h"
#include "program/skipped_terms.h"
#include "program/tile_loops.h"
#include "support/allocate.h"
#include "tests/every.h"
#include "tests/symbolic/kernels.h"

namespace isamap {
namespace {

const std::string values = R"(kernel: values
dims: {H: {max: 8, likely: 2}, S: {max: 200, likely: 60}, T: {max: 200, likely: 60}, D: 24}
tensors: {P: {shape: [H, S, T]}, V: {shape: [H, T, D]}, O: {shape: [H, S, D]}}
compute:
  - O[h,s,d] += P[h,s,t] * V[h,t,d]
)";

/// Several tests use one program.
const SymbolicCompilation& grid_of(const std::string& text) {
  static std::map<std::string, SymbolicCompilation> known;
  if (const auto found = known.find(text); found != known.end()) return found->second;
  CompileOptions options;
  options.schedule.objective = Objective::cycles;
  options.schedule.max_evaluations = 60;
  options.most_versions = 1;
  SymbolicCompilation result = compile_symbolic(symbolic_kernel(text), vector_machine(), options);
  EXPECT_TRUE(result.program) << render(result.problems);
  return known[text] = std::move(result);
}

bool native() { return availability(vector_machine()).how == ExecutionMode::native; }

/// Each size takes 0, 1 and random values; `most` runs.
void run_sizes(const std::string& text, int most) {
  if (!native()) GTEST_SKIP() << availability(vector_machine()).why;
  const SymbolicKernel kernel = symbolic_kernel(text);
  const SymbolicCompilation& compiled = grid_of(text);
  ASSERT_TRUE(compiled.program);
  ASSERT_FALSE(compiled.program->grids.empty());
  const auto runner = make_symbolic_runner(*compiled.program, vector_machine());
  std::mt19937 random(11);
  for (int n = 0; n < most; ++n) {
    Bindings sizes;
    std::string shown;
    for (const SymbolicSize& size : kernel.facts.sizes) {
      const std::int64_t high = n % 3 == 0 ? std::min<std::int64_t>(size.max, 9) : std::min<std::int64_t>(size.max, 70);
      sizes[size.name] = n < 2 ? std::max<std::int64_t>(n, size.min)
                               : std::uniform_int_distribution<std::int64_t>(size.min, high)(random);
      shown += size.name + " = " + std::to_string(sizes[size.name]) + " ";
    }
    const auto checked = run_at(*runner, kernel, sizes, availability(vector_machine()).how);
    ASSERT_TRUE(checked) << shown << "\n" << render(checked.diagnostics());
    EXPECT_TRUE(checked->correct) << shown << checked->first_difference;
  }
  EXPECT_EQ(runner->compilations(), 1);
}

void a_product_of_each_small_size(Every every);

/// One program, which each process compiles anew.
TEST(SymbolicBlocks, AProductWhoseSizesAllAreSymbolic) {
  run_sizes(symbolic_product, 20);
  a_product_of_each_small_size(Every(5));
}
TEST(SymbolicBlocks, Scores) { run_sizes(symbolic_scores, 10); }
TEST(SymbolicBlocks, HeavyValues) { run_sizes(values, 10); }
TEST(SymbolicBlocks, AConvolutionWithPaddingAndAnyImage) { run_sizes(symbolic_image, 10); }
TEST(SymbolicBlocks, AStridedDepthwiseConvolution) { run_sizes(symbolic_depthwise, 10); }
void edges_of_small_images(Every every);
void edges_serve_all_versions();

/// What tiles leave at edges is cut by a smaller tile: few bodies, which serve every number of positions.
void edges_have_few_bodies(const Grid& grid) {
  int cut = 0;
  for (const Grid& edge : grid.edges)
    for (const GridAxis& axis : edge.shape.axes) {
      const auto is_exact = [](const DimRun& run) { return run.tile == 0 && run.low == run.high; };
      EXPECT_LE(std::count_if(axis.runs.begin(), axis.runs.end(), is_exact), 4) << axis.dim;
      EXPECT_FALSE(uncovered_extent(axis)) << axis.dim;
      cut += axis.runs.size() > 2 && axis.runs[1].tile > 1;
    }
  EXPECT_GT(cut, 0);
}

TEST(SymbolicBlocks, EdgesOfADepthwiseConvolution) {
  ASSERT_TRUE(grid_of(symbolic_edges).program);
  EXPECT_EQ(grid_of(symbolic_edges).program->grids[0].edges.size(), 14);  // 2 + 2 rows, 1 + 1 columns, and inner ones
  EXPECT_TRUE(grid_of(symbolic_depthwise).program->grids[0].edges.empty());  // the last column depends on parity
  edges_have_few_bodies(grid_of(symbolic_edges).program->grids[0]);
  run_sizes(symbolic_edges, 12);
  edges_of_small_images(Every(7));
  edges_serve_all_versions();
}

/// Each size alone from 0 on, so that images are also smaller than their edges.
void edges_of_small_images(Every every) {
  if (!native()) GTEST_SKIP() << availability(vector_machine()).why;
  const SymbolicKernel kernel = symbolic_kernel(symbolic_edges);
  ASSERT_TRUE(grid_of(symbolic_edges).program);
  const SymbolicProgram& right = *grid_of(symbolic_edges).program;
  const auto runner = make_symbolic_runner(right, vector_machine());
  for (std::int64_t h = 0; h < 8; ++h)
    for (std::int64_t w = 0; w < 8; ++w) {
      if (every.skips()) continue;
      const auto checked = run_at(*runner, kernel, {{"N", 1}, {"H", h}, {"W", w}}, availability(vector_machine()).how);
      ASSERT_TRUE(checked) << render(checked.diagnostics());
      EXPECT_TRUE(checked->correct) << h << " x " << w << ": " << checked->first_difference;
    }
  SymbolicProgram less = right;  // mutant: the grid of a corner is missing
  less.grids[0].edges.pop_back();
  const auto checked = run_at(*make_symbolic_runner(less, vector_machine()), kernel, {{"N", 1}, {"H", 9}, {"W", 9}},
                              availability(vector_machine()).how);
  ASSERT_TRUE(checked) << render(checked.diagnostics());
  EXPECT_FALSE(checked->correct);
}

TEST(HeavySymbolicBlocks, EdgesOfSmallImages) { edges_of_small_images(Every(1)); }

/// Versions share the grids of edges, whatever sizes the first one is for.
void edges_serve_all_versions() {
  ASSERT_TRUE(grid_of(symbolic_edges).program);
  SymbolicProgram program = *grid_of(symbolic_edges).program;
  const std::vector<Grid> edges = std::exchange(program.grids[0].edges, {});
  Grid small = program.grids[0];
  for (GridAxis& axis : small.shape.axes) axis.most = std::min<std::int64_t>(axis.most, 6);
  program.grids.insert(program.grids.begin(), std::move(small));
  CompileOptions options;
  options.schedule.max_evaluations = 30;
  add_edges(program, vector_machine(), options);
  for (const Grid& grid : program.grids) {
    ASSERT_EQ(grid.edges.size(), edges.size());
    for (std::size_t e = 0; e < edges.size(); ++e)
      for (std::size_t a = 0; a < edges[e].shape.axes.size(); ++a)
        EXPECT_EQ(grid.edges[e].shape.axes[a].most, edges[e].shape.axes[a].most) << e << " " << a;
  }
}

/// More rows of the input than the output takes: nothing is beyond the last one.
const std::string symbolic_cropped = R"(kernel: cropped
dims: {H: {max: 60, likely: 24}, W: {max: 60, likely: 24}}
tensors: {I: {shape: [H + 3, W + 3, 20], outside: 0}, F: {shape: [3, 3, 20]}, O: {shape: [H, W, 20]}}
compute: "O[p,q,c] += I[p+r-1,q+s-1,c] * F[r,s,c]"
)";

TEST(SymbolicBlocks, EdgesOfACroppedImage) {
  if (!native()) GTEST_SKIP() << availability(vector_machine()).why;
  ASSERT_TRUE(grid_of(symbolic_cropped).program);
  EXPECT_FALSE(grid_of(symbolic_cropped).program->grids[0].edges.empty());
  run_sizes(symbolic_cropped, 10);
}

/// Weights of a window are packed in pairs, each pair for all lanes: the last one ends where the tensor does.
TEST(SymbolicBlocks, ReplicasAreReadAsTheyLie) {
  run_sizes(R"(kernel: windows
dims: {K: 31, P: 7, R: 1, Q: 16, S: {min: 1, max: 5}}
tensors: {I: {shape: [1, K, 3*P + R - 3, 3*Q + S - 3], dtype: bf16}, F: {shape: [K, R, S], dtype: bf16}, O: {shape: [1, K, P, Q]}}
compute:
  - O[n,k,p,q] += f32(I[n,k,3*p+r,3*q+s]) * f32(F[k,r,s])
)",
            12);
}

/// Infinite inputs: a product with what lies outside would be no number.
TEST(SymbolicBlocks, ExactProgramsHaveNoEdges) {
  CompileOptions options;
  options.schedule.max_evaluations = 30;
  options.most_versions = 1;
  options.strict_float = true;
  const SymbolicCompilation exact = compile_symbolic(symbolic_kernel(symbolic_edges), vector_machine(), options);
  ASSERT_TRUE(exact.program) << render(exact.problems);
  EXPECT_TRUE(exact.program->grids[0].edges.empty());
}

/// What a place is clamped to would be the extent of one size.
TEST(SymbolicBlocks, NoGridReadsAtAComputedPlaceAlongASymbolicSize) {
  for (const char* dims : {"{V: {min: 1, max: 70}, T: 20}", "{V: {min: 1, max: 70}, T: {max: 50}}"}) {
    const SymbolicKernel kernel = symbolic_kernel(std::string("kernel: table\ndims: ") + dims + R"(
tensors: {I: {shape: [T], dtype: s32}, E: {shape: [V, 12]}, G: {shape: [T, 12]}}
compute:
  - G[t,d] = E[at(I[t]),d]
)");
    const SymbolicCompilation made = compile_symbolic(kernel, vector_machine(), {});
    ASSERT_TRUE(made.program) << dims;
    EXPECT_TRUE(made.program->grids[0].loops) << dims;
    EXPECT_NE(render(made.problems).find("reads 'E' at a computed place along a symbolic size"), std::string::npos)
        << render(made.problems);
  }
}

TEST(SymbolicBlocks, ElementsAreReadAtComputedPlacesOfTheirRow) {
  run_sizes(R"(kernel: elements
dims: {M: {max: 40}, T: {max: 50}}
tensors: {I: {shape: [M, T], dtype: s32}, E: {shape: [M, T, 6]}, G: {shape: [M, T]}}
compute:
  - G[i,j] = E[i,j,at(I[i,j])]
)",
            6);
}

/// As many places as the tensor has, none of them inside.
TEST(SymbolicBlocks, WhatLiesBeforeATensorIsOutside) {
  run_sizes(R"(kernel: before
dims: {N: {max: 40}}
tensors: {X: {shape: [N, 1, 3], outside: 0}, Y: {shape: [3, N]}}
compute:
  - Y[j,k] = X[k,-1,j]
)",
            3);
}

TEST(SymbolicBlocks, SoftmaxWithRowsOfAnyLength) { run_sizes(symbolic_softmax, 10); }

/// The last vector of a row is loaded over -inf: the maximum has no remainder of its row, and no copy. The minimum has
/// one: the machine describes no fill with inf.
TEST(SymbolicBlocks, ALargestElementLeavesNoRemainder) {
  const HardwareModel model = machine_of_file("x86_avx512");
  std::string text = R"(kernel: largest
dims: {M: {max: 60, likely: 24}, N: {max: 200, likely: 128}}
tensors: {X: {shape: [M, N]}, H: {shape: [M]}}
compute:
  - H[i] max= X[i,j]
)";
  for (const bool largest : {true, false}) {
    if (!largest) text.replace(text.find("max="), 4, "min=");
    const SymbolicKernel kernel = symbolic_kernel(text);
    CompileOptions options;
    options.schedule.objective = Objective::cycles;
    options.schedule.max_evaluations = 200;
    options.most_versions = 1;
    const SymbolicCompilation made = compile_symbolic(kernel, model, options);
    ASSERT_TRUE(made.program) << render(made.problems);
    EXPECT_EQ(made.program->grids[0].shape.axes[1].end.has_value(), largest);
    EXPECT_TRUE(made.program->grids[0].shape.padded.empty());
    const auto unit = print_symbolic_cpp(*made.program, model);
    ASSERT_TRUE(unit);
    EXPECT_EQ(unit->text.find("_mm512_mask_loadu_ps(") != std::string::npos, largest);
    if (availability(model).how != ExecutionMode::native) continue;
    const auto runner = make_symbolic_runner(*made.program, model);
    for (const std::int64_t m : {0, 1, 7, 24, 37})
      for (const std::int64_t n : {0, 1, 15, 16, 17, 47, 199}) {
        const auto checked = run_at(*runner, kernel, {{"M", m}, {"N", n}}, ExecutionMode::native);
        ASSERT_TRUE(checked) << render(checked.diagnostics());
        EXPECT_TRUE(checked->correct) << m << " " << n << ": " << checked->first_difference;
      }
  }
}

TEST(SymbolicBlocks, LoopsOverAWindowAreUnrolled) {
  ASSERT_TRUE(grid_of(symbolic_edges).program);
  const auto unit = print_symbolic_cpp(*grid_of(symbolic_edges).program, vector_machine());
  ASSERT_TRUE(unit);
  EXPECT_NE(unit->text.find("#pragma GCC unroll 3\n"), std::string::npos);
}

const std::string symbolic_windows = R"(kernel: windows
dims: {P: {max: 60, likely: 26}, Q: {max: 60, likely: 26}, H: P + 2, W: Q + 2}
tensors: {I: {shape: [H, W, 16]}, F: {shape: [3, 3, 16]}, O: {shape: [P, Q, 16]}}
compute:
  - O[p,q,c] += I[p+r,q+s,c] * F[r,s,c]
)";

/// Blocks of a window of three rows and columns load elements once, and add the terms of each sum in the same order.
TEST(SymbolicBlocks, StepsOfAWindowShareLoads) {
  const HardwareModel model = machine_of_file("x86_avx512");
  CompileOptions options;
  options.schedule.objective = Objective::cycles;
  options.schedule.max_evaluations = 200;
  options.most_versions = 1;
  const SymbolicCompilation made = compile_symbolic(symbolic_kernel(symbolic_windows), model, options);
  ASSERT_TRUE(made.program) << render(made.problems);
  const Grid& grid = made.program->grids[0];
  int shared = 0;
  for (const Block& block : grid.blocks) {
    if (block.program.buffers.empty()) continue;
    Program program = block.program;
    if (share_loads(program, model, numbers_of(grid.shape, block)).empty()) continue;
    ++shared;
    EXPECT_FALSE(has_errors(verify(program, model))) << render(verify(program, model));
    std::vector<TensorData> data = random_data(program.kernel, Fill::real, 7), same = data;
    auto before = interpret(block.program, model, data);
    auto after = interpret(program, model, same);
    ASSERT_TRUE(before) << render(before.diagnostics());
    ASSERT_TRUE(after) << render(after.diagnostics());
    EXPECT_EQ(data, same);  // bit for bit
    EXPECT_LT(after->calls["load_f32"], before->calls["load_f32"]);
    EXPECT_EQ(after->calls["fma_f32"], before->calls["fma_f32"]);
  }
  EXPECT_GT(shared, 0);
  const auto unit = print_symbolic_cpp(*made.program, model);
  ASSERT_TRUE(unit);
  EXPECT_NE(unit->text.find("__asm__(\"\" : \"+v\"("), std::string::npos);
  // Rows at the stride of the call begin at the one before them.
  EXPECT_TRUE(std::regex_search(unit->text, std::regex(R"(const float\* const I_\w+_row_2 = I_\w+_row \+ I_s0;)")));
}

/// Convolutions with more channels than zones at edges are made for: a window of 5 x 3, and one of steps of two.
const std::string symbolic_channels = R"(kernel: channels
dims: {N: {max: 3, likely: 1}, H: {max: 40, likely: 28}, W: {max: 40, likely: 28}}
tensors: {I: {shape: [N, 4, H, W], outside: 0}, F: {shape: [32, 4, 5, 3]}, O: {shape: [N, 32, H, W]}}
compute:
  - O[n,k,p,q] += I[n,c,p+r-2,q+s-1] * F[k,c,r,s]
)";
const std::string strided_channels = R"(kernel: strided
dims: {H: {max: 40, likely: 28}, W: {max: 40, likely: 28}, P: "(H - 1)/2 + 1", Q: "(W - 1)/2 + 1"}
tensors: {I: {shape: [H, W, 3], outside: 0}, F: {shape: [3, 3, 3, 48]}, O: {shape: [P, Q, 48]}}
compute:
  - O[p,q,k] += I[2*p+r-1,2*q+s-1,c] * F[r,s,c,k]
)";

/// At small images, where most positions are at edges. False: some result differs.
bool right_at_small_images(const SymbolicProgram& program, const SymbolicKernel& kernel, const HardwareModel& model) {
  const auto runner = make_symbolic_runner(program, model);
  for (const std::int64_t height : {0, 1, 2, 4, 7})
    for (const std::int64_t width : {0, 1, 3, 8, 17}) {
      Bindings sizes{{"H", height}, {"W", width}};
      if (kernel.facts.sizes[0].name == "N") sizes["N"] = 2;
      const auto checked = run_at(*runner, kernel, sizes, ExecutionMode::native);
      if (!checked || !checked->correct) return false;
    }
  return true;
}

/// Loops over the rows of the window begin and end at the image; a row too few is caught.
TEST(SymbolicBlocks, TermsOutsideAnImageAreSkipped) {
  const HardwareModel model = machine_of_file("x86_avx512");
  if (availability(model).how != ExecutionMode::native) GTEST_SKIP() << availability(model).why;
  CompileOptions options;
  options.schedule.objective = Objective::cycles;
  options.schedule.max_evaluations = 60;
  options.most_versions = 1;
  for (const std::string& text : {symbolic_channels, strided_channels}) {
    const SymbolicKernel kernel = symbolic_kernel(text);
    SymbolicCompilation compiled = compile_symbolic(kernel, model, options);
    ASSERT_TRUE(compiled.program) << render(compiled.problems);
    EXPECT_TRUE(right_at_small_images(*compiled.program, kernel, model)) << text;
    std::size_t skipping = 0;
    for (Block& block : compiled.program->grids[0].blocks)
      for (auto& [variable, terms] : block.skipped) terms.first += 1, ++skipping;
    ASSERT_GT(skipping, 0) << text;
    EXPECT_FALSE(right_at_small_images(*compiled.program, kernel, model)) << text;
    options.strict_float = true;  // infinities outside would be NaN
    compiled = compile_symbolic(kernel, model, options);
    options.strict_float = false;
    ASSERT_TRUE(compiled.program) << render(compiled.problems);
    for (const Block& block : compiled.program->grids[0].blocks) EXPECT_TRUE(block.skipped.empty());
  }
}

/// A prefetch writes nothing, and does no harm outside.
TEST(SymbolicBlocks, TermsOfLoopsWithPrefetchesAreSkipped) {
  const HardwareModel model = machine_of_file("x86_avx512");
  const SymbolicKernel kernel = symbolic_kernel(R"(kernel: rows
dims: {H: {min: 3, max: 40, likely: 12}}
tensors: {I: {shape: [H, 16, 8]}, F: {shape: [3, 3, 8, 32]}, O: {shape: [H - 2, 14, 32]}}
compute:
  - O[p,q,k] += I[p+r,q+s,c] * F[r,s,c,k]
)");
  const auto bound = isamap::bind(kernel, {{"H", 12}});
  ASSERT_TRUE(bound) << render(bound.diagnostics());
  const auto schedule = parse_schedule(R"(schedule: rows
kernel: rows
target: x86_avx512
nest:
  - for p by 1
  - for q by 7
  - stage O in vec
  - for c by 1
  - stage F in l1 ahead 1
  - for r by 1
  - for s by 1
  - stage F in vec
  - for q by 1 unroll
  - stage I in vec
  - for k by 16 unroll
  - do s0 with fma_f32(j=k)
)",
                                       "s.yaml", *bound, model);
  ASSERT_TRUE(schedule) << render(schedule.diagnostics());
  const auto program = lower(*schedule, *bound, model);
  ASSERT_TRUE(program) << render(program.diagnostics());
  const auto skipped = skipped_terms(*program, model, bound->statements[0].reads[0].tensor);
  ASSERT_EQ(skipped.size(), 2U) << print(*program, model);
  std::set<std::size_t> dims;
  for (const auto& [variable, terms] : skipped) dims.insert(terms.dim);
  EXPECT_EQ(dims, (std::set<std::size_t>{0, 2})) << "rows and channels";
}

const std::string row_sums = R"(kernel: row_sums
dims: {M: {max: 90, likely: 24}, N: {max: 200, likely: 77}}
tensors: {X: {shape: [M, N]}, S: {shape: [M]}}
compute:
  - S[i] += X[i,j]
)";

/// Few columns, packed with zeros behind the last term; rows of the other factor are not copied.
const std::string few_columns = R"(kernel: few_columns
dims: {M: {max: 300, likely: 256}, N: {max: 300, likely: 256}, K: {max: 300, likely: 256}}
tensors: {A: {shape: [M, K]}, B: {shape: [K, N], constant: true}, C: {shape: [M, N]}}
compute:
  - C[i,j] += A[i,k] * B[k,j]
)";

/// Mutant: what ends with an axis does so a position early. Returns how many do.
int leave_last_out(SymbolicProgram& program) {
  int ended = 0;
  for (Grid& grid : program.grids)
    for (Block& block : grid.blocks)
      for (auto& [extent, to] : block.ended) to.first += 1, ++ended;
  return ended;
}

/// The last vector of terms ends with the sum, under a mask.
void run_to_the_end_of(const std::string& text, const std::string& summed, Bindings sizes) {
  const HardwareModel model = machine_of_file("x86_avx512");
  const SymbolicKernel kernel = symbolic_kernel(text);
  CompileOptions options;
  options.schedule.max_evaluations = 60;
  const SymbolicCompilation compiled = compile_symbolic(kernel, model, options);
  ASSERT_TRUE(compiled.program) << render(compiled.problems);
  SymbolicProgram less = *compiled.program;
  const int ended = leave_last_out(less);
  ASSERT_GT(ended, 0) << "no sum ends under a mask";
  if (availability(model).how != ExecutionMode::native) GTEST_SKIP() << availability(model).why;
  const auto runner = make_symbolic_runner(*compiled.program, model);
  const auto is_correct = [&](SymbolicRunner& of, std::int64_t n) {
    sizes[summed] = n;
    const auto checked = run_at(of, kernel, sizes, ExecutionMode::native);
    EXPECT_TRUE(checked) << render(checked.diagnostics());
    return checked && checked->correct;
  };
  for (const std::int64_t first : {0, 100})  // versions may begin at some number of terms
    for (std::int64_t n = first; n <= first + 70; ++n) EXPECT_TRUE(is_correct(*runner, n)) << n;
  EXPECT_EQ(runner->compilations(), 1);
  const auto mutant = make_symbolic_runner(less, model);
  EXPECT_FALSE(is_correct(*mutant, 45) && is_correct(*mutant, 109));
}

TEST(SymbolicBlocks, SumsInLanesEndUnderAMask) { run_to_the_end_of(row_sums, "N", {{"M", 9}}); }
TEST(SymbolicBlocks, ProductsOfFewColumnsEndUnderAMask) { run_to_the_end_of(few_columns, "K", {{"M", 9}, {"N", 3}}); }

/// Rows that a tile of sums in lanes leaves are cut by a smaller tile, those of other schedules have a body each.
TEST(SymbolicBlocks, SumsInLanesHaveFewBodies) {
  CompileOptions options;
  options.schedule.max_evaluations = 60;
  const auto compiled = compile_symbolic(symbolic_kernel(few_columns), machine_of_file("x86_avx512"), options);
  ASSERT_TRUE(compiled.program) << render(compiled.problems);
  int in_lanes = 0, others = 0;
  for (const Grid& grid : compiled.program->grids) {
    const GridAxis& rows = grid.shape.axes[0];
    const auto is_exact = [](const DimRun& run) { return run.tile == 0 && run.low == run.high; };
    const auto exact = std::count_if(rows.runs.begin(), rows.runs.end(), is_exact);
    EXPECT_FALSE(uncovered_extent(rows));
    (grid.schedule.lanes.empty() ? others : in_lanes) += 1;
    if (!grid.schedule.lanes.empty() && rows.runs[0].tile > 4) {
      EXPECT_LE(exact, 2);
      EXPECT_GT(rows.runs[1].tile, 1);
    }
    if (grid.schedule.lanes.empty() && rows.runs[0].tile > 4) {
      EXPECT_GT(exact, 3);
    }
  }
  EXPECT_GT(in_lanes, 0);
  EXPECT_GT(others, 0);
  const auto unit = print_symbolic_cpp(*compiled.program, machine_of_file("x86_avx512"));
  ASSERT_TRUE(unit);
  for (std::size_t g = 0; g < compiled.program->grids.size(); ++g) {  // rows of all numbers read the same copies
    const Grid& grid = compiled.program->grids[g];
    const std::string copy = "static void few_columns_" + std::to_string(g + 1) + "_copy";
    std::size_t packing = 0;
    for (std::size_t at = 0; (at = unit->text.find(copy, at)) != std::string::npos; ++at) ++packing;
    EXPECT_LE(packing, grid.shape.axes[1].runs.size());
    EXPECT_TRUE(grid.schedule.lanes.empty() || packing > 0);
  }
}

/// Remainders of a product, whose steps along the sum have many calls, are compiled without choosing induction
/// variables; those of a depthwise convolution, which has no such loop, are not.
TEST(SymbolicBlocks, RemaindersWithLongStepsHaveOptionsOfTheirOwn) {
  for (const auto& [text, has_long_steps] : {std::pair{symbolic_product, true}, {symbolic_depthwise, false}}) {
    ASSERT_TRUE(grid_of(text).program);
    const auto unit = print_symbolic_cpp(*grid_of(text).program, vector_machine());
    ASSERT_TRUE(unit);
    EXPECT_EQ(unit->text.find("\"no-ivopts\"") != std::string::npos, has_long_steps);
    EXPECT_NE(unit->text.find("optimize(\"O1\", \"no-tree-pta\")"), std::string::npos);
  }
}

/// One element: its lanes are unrolled, and end with a remainder.
TEST(SymbolicBlocks, SumsToOneElementRunAtEveryLength) {
  const HardwareModel model = machine_of_file("x86_avx512");
  if (availability(model).how != ExecutionMode::native) GTEST_SKIP() << availability(model).why;
  const SymbolicKernel kernel = symbolic_kernel(
      "kernel: sum\ndims: {K: {max: 500}}\ntensors: {A: {shape: [K]}, Y: {shape: []}}\ncompute: ['Y[] += A[k]']\n");
  CompileOptions options;
  options.schedule.max_evaluations = 60;
  const SymbolicCompilation compiled = compile_symbolic(kernel, model, options);
  ASSERT_TRUE(compiled.program) << render(compiled.problems);
  const auto runner = make_symbolic_runner(*compiled.program, model);
  for (const std::int64_t k : {0, 1, 15, 16, 17, 63, 64, 65, 130, 499, 500}) {
    const auto checked = run_at(*runner, kernel, {{"K", k}}, ExecutionMode::native);
    ASSERT_TRUE(checked) << render(checked.diagnostics());
    EXPECT_TRUE(checked->correct) << k << ": " << checked->first_difference;
  }
}

/// The kernel of one round of lanes has no loop over rounds, which the schedule of a block names.
TEST(GridPrices, OfOneRoundOfLanes) {
  const HardwareModel model = machine_of_file("x86_avx512");
  CompileOptions options;
  options.schedule.max_evaluations = 60;
  const SymbolicCompilation compiled = compile_symbolic(symbolic_kernel(row_sums), model, options);
  ASSERT_TRUE(compiled.program) << render(compiled.problems);
  std::int64_t round = 0;
  for (const Grid& grid : compiled.program->grids)
    for (const VectorizedReduction& lanes : grid.schedule.lanes) round = lanes.lanes * lanes.depth;
  ASSERT_GT(round, 0) << "no sum in lanes";
  const auto cycles_at = [&](std::int64_t rounds, std::int64_t remainder) {
    const auto cost =
        predicted_at(compiled, model, {{"M", 5}, {"N", rounds * round + remainder}}, CompileOptions{}.schedule.costs);
    EXPECT_TRUE(cost) << rounds << " rounds and " << remainder;
    return cost ? cost->cycles : 0;
  };
  EXPECT_GT(cycles_at(1, 0), 0);
  EXPECT_LT(cycles_at(1, 0), cycles_at(2, 0));
  EXPECT_LT(cycles_at(1, 1), cycles_at(2, 1));
}

/// A tensor that a later statement reads is an output, too.
TEST(SymbolicBlocks, AnOutputThatIsReadLater) {
  run_sizes(R"(kernel: biased
dims: {M: {max: 90, likely: 24}, N: {max: 200, likely: 50}}
tensors: {A: {shape: [M, 24]}, B: {shape: [24, N]}, G: {shape: [N]}, C: {shape: [M, N], output: true},
  D: {shape: [M, N]}}
compute:
  - C[i,j] += A[i,k] * B[k,j]
  - D[i,j] = max(C[i,j] + G[j], 0)
)",
            8);
}

/// Sizes 0 .. 70 along each dim while the others are small odd numbers, so that each remainder is alone once.
void a_product_of_each_small_size(Every every) {
  if (!native()) GTEST_SKIP() << availability(vector_machine()).why;
  const SymbolicKernel kernel = symbolic_kernel(symbolic_product);
  ASSERT_TRUE(grid_of(symbolic_product).program);
  const auto runner = make_symbolic_runner(*grid_of(symbolic_product).program, vector_machine());
  for (const char* const changed : {"M", "N", "K"})
    for (std::int64_t value = 0; value <= 70; ++value) {
      if (every.skips()) continue;
      Bindings sizes{{"M", 13}, {"N", 19}, {"K", 5}};
      sizes[changed] = value;
      const auto checked = run_at(*runner, kernel, sizes, availability(vector_machine()).how);
      ASSERT_TRUE(checked) << changed << " = " << value << "\n" << render(checked.diagnostics());
      EXPECT_TRUE(checked->correct) << changed << " = " << value << ": " << checked->first_difference;
    }
}

TEST(HeavySymbolicBlocks, AProductOfEachSmallSize) { a_product_of_each_small_size(Every(1)); }

TEST(HeavySymbolicBlocks, RunAtMoreSizes) {
  for (const auto& [text, most] : {std::pair(symbolic_product, 40),
                                   {symbolic_scores, 20},
                                   {values, 20},
                                   {symbolic_image, 20},
                                   {symbolic_depthwise, 20},
                                   {symbolic_edges, 30},
                                   {symbolic_cropped, 20},
                                   {symbolic_softmax, 20}})
    run_sizes(text, most);
}

TEST(SymbolicBlocks, RunsCoverEveryExtent) {
  for (const std::string& text :
       {symbolic_product, symbolic_scores, values, symbolic_image, symbolic_depthwise, symbolic_softmax}) {
    ASSERT_TRUE(grid_of(text).program);
    for (const Grid& grid : grid_of(text).program->grids)
      for (const GridAxis& axis : grid.shape.axes) {
        EXPECT_EQ(uncovered_extent(axis), std::nullopt) << axis.dim;
        for (std::size_t r = 0; r < axis.runs.size(); ++r) {  // mutant: a run less leaves an extent
          GridAxis less = axis;
          less.runs.erase(less.runs.begin() + static_cast<std::ptrdiff_t>(r));
          const bool is_larger_tile = axis.runs[r].tile > 0 && r + 1 < axis.runs.size() && axis.runs[r + 1].tile > 0;
          if (!is_larger_tile) {
            EXPECT_NE(uncovered_extent(less), std::nullopt) << axis.dim << " run " << r;
          }
        }
      }
  }
}

void drop_comments_of(std::vector<Node>& nodes) {
  std::erase_if(nodes, [](const Node& node) { return std::holds_alternative<Comment>(node.is); });
  for (Node& node : nodes)
    if (auto* loop = std::get_if<Loop>(&node.is)) drop_comments_of(loop->body);
}

void set_trips_of(std::vector<Node>& nodes, const Block& block, const std::vector<std::int64_t>& counts) {
  for (Node& node : nodes)
    if (auto* loop = std::get_if<Loop>(&node.is)) {
      if (const auto found = block.loops.find(loop->variable); found != block.loops.end())
        loop->trip = counts[static_cast<std::size_t>(found->second.axis)] / found->second.step;
      set_trips_of(loop->body, block, counts);
    }
}

/// With trips set, the first block is node by node the program that lowering makes for these numbers.
TEST(SymbolicBlocks, ABlockWithTripsIsTheProgramOfItsNumbers) {
  for (const std::string& text : {symbolic_product, values, symbolic_image}) {
    ASSERT_TRUE(grid_of(text).program);
    const Grid& grid = grid_of(text).program->grids[0];
    for (const std::int64_t steps : {4, 5, 9}) {
      std::vector<std::int64_t> counts;
      for (std::size_t a = 0; a < grid.shape.axes.size(); ++a)
        counts.push_back((steps + static_cast<std::int64_t>(a)) * grid.shape.axes[a].runs[0].tile);
      const auto lowered = lower(grid.schedule, block_kernel(grid.shape, counts, false), vector_machine());
      ASSERT_TRUE(lowered) << render(lowered.diagnostics());
      Program with = grid.blocks[0].program, without = *lowered;
      set_trips_of(with.body, grid.blocks[0], counts);
      drop_comments_of(with.body);
      drop_comments_of(without.body);
      EXPECT_TRUE(with.body == without.body) << print(with, vector_machine()) << "\nand\n"
                                             << print(without, vector_machine());
    }
  }
}

TEST(SymbolicBlocks, MutantsAreCaught) {
  if (!native()) GTEST_SKIP() << availability(vector_machine()).why;
  const SymbolicKernel kernel = symbolic_kernel(symbolic_product);
  ASSERT_TRUE(grid_of(symbolic_product).program);
  const SymbolicProgram& right = *grid_of(symbolic_product).program;
  const auto is_right = [&](const SymbolicProgram& program, const Bindings& sizes) {
    const auto checked =
        run_at(*make_symbolic_runner(program, vector_machine()), kernel, sizes, availability(vector_machine()).how);
    return checked && checked->correct;
  };
  const Bindings sizes{{"M", 61}, {"N", 67}, {"K", 33}};
  ASSERT_TRUE(is_right(right, sizes));
  SymbolicProgram wider = right;  // a mask of one lane more
  bool masked = false;
  for (Block& block : wider.grids[0].blocks)
    for (auto& [extent, from] : block.masked) from.second -= 1, masked = true;
  ASSERT_TRUE(masked);
  EXPECT_FALSE(is_right(wider, sizes) && is_right(wider, {{"M", 1}, {"N", 1}, {"K", 1}}));
  SymbolicProgram moved = right;  // another stride
  moved.grids[0].shape.strides[0][0].number += 1;
  EXPECT_FALSE(is_right(moved, sizes));
  SymbolicProgram more = right;  // loops of another trip
  for (auto& [variable, loop] : more.grids[0].blocks[0].loops) loop.step *= 2;
  EXPECT_FALSE(is_right(more, sizes));
}

TEST(SymbolicBlocks, ALoopWhoseVariableHasOtherUsesIsNone) {
  ASSERT_TRUE(grid_of(symbolic_product).program);
  const Grid& grid = grid_of(symbolic_product).program->grids[0];
  std::vector<std::int64_t> tiles, counts;
  for (const GridAxis& axis : grid.shape.axes)
    tiles.push_back(axis.runs[0].tile), counts.push_back(32 * axis.runs[0].tile);
  auto program = lower(grid.schedule, block_kernel(grid.shape, counts, false), vector_machine());
  ASSERT_TRUE(program);
  EXPECT_TRUE(tile_loops(*program, vector_machine(), grid.shape, counts, tiles));
  std::vector<std::int64_t> others = counts;
  others[0] += tiles[0];
  EXPECT_FALSE(tile_loops(*program, vector_machine(), grid.shape, others, tiles));
  const std::function<void(std::vector<Node>&)> guard = [&](std::vector<Node>& nodes) {  // the last step would differ
    for (Node& node : nodes)
      if (auto* loop = std::get_if<Loop>(&node.is)) {
        guard(loop->body);
        loop->body = {Node{Guard{{AffineExpr(1) - AffineExpr::dim(loop->variable)}, loop->body, {}, ""}}};
      }
  };
  guard(program->body);
  EXPECT_FALSE(tile_loops(*program, vector_machine(), grid.shape, counts, tiles));
}

TEST(SymbolicBlocks, ProgramsThatDifferInMasksOnly) {
  const Grid& grid = grid_of(symbolic_product).program->grids[0];
  const auto at = [&](std::int64_t columns) {
    return *lower(grid.schedule, block_kernel(grid.shape, {2, columns, 40}, false), vector_machine());
  };
  EXPECT_EQ(masked_extents(at(3), at(5), 2), (std::set<std::int64_t>{3}));
  EXPECT_EQ(masked_extents(at(3), at(5), 1), std::nullopt);
  EXPECT_EQ(masked_extents(at(3), at(8), 5), std::nullopt);  // a whole register is no masked one
}

TEST(SymbolicBlocks, AMaskServesAllItsLanesAndNoMore) {
  const Grid& grid = grid_of(symbolic_product).program->grids[0];
  const auto at = [&](std::int64_t columns) {
    return *lower(grid.schedule, block_kernel(grid.shape, {2, columns, 40}, false), vector_machine());
  };
  EXPECT_EQ(masked_room(at(3), at(5), 2, vector_machine()), 5);  // of 8 lanes
  EXPECT_EQ(masked_room(at(3), at(3), 0, vector_machine()), 0);
  EXPECT_EQ(masked_room(at(3), at(8), 5, vector_machine()), 0);
  bool all_lanes = false;  // one block serves 1 .. 8 columns, also those that need no mask
  for (const GridAxis& axis : grid.shape.axes)
    for (const DimRun& run : axis.runs) all_lanes = all_lanes || (run.low == 1 && run.high == 8);
  EXPECT_TRUE(all_lanes);
}

const char* const panels_of_columns = R"(schedule: gemm
kernel: gemm
target: x86_avx512
nest:
  - stage B in ram as [j/32, k, j%32]
  - for i by 6
  - for j by 32
  - stage C in vec
  - for k by 1
  - stage B in vec
  - for i by 1 unroll
  - for j by 16 unroll
  - do s0 with fma_f32_bcast(j=j)
)";

/// Remainders of rows have one block for whole and short tiles of columns, which reads the tensor or the copy of the
/// tiles.
void short_tiles(const std::string& schedule_text) {
  const HardwareModel model = machine_of_file("x86_avx512");
  const SymbolicKernel kernel = symbolic_kernel(symbolic_product);
  const auto bound = isamap::bind(kernel, {{"M", 60}, {"N", 60}, {"K", 60}});
  const auto schedule = parse_schedule(schedule_text, "s.yaml", *bound, model);
  ASSERT_TRUE(schedule) << render(schedule.diagnostics());
  CompileOptions options;
  options.hand_written = *schedule;
  const SymbolicCompilation compiled = compile_symbolic(kernel, model, options);
  ASSERT_TRUE(compiled.program) << render(compiled.problems);
  const Grid& grid = compiled.program->grids[0];
  const auto is_short = [](const Block& block) { return !block.short_axes.empty() && !block.panels.empty(); };
  EXPECT_GE(std::count_if(grid.blocks.begin(), grid.blocks.end(), is_short), 6);
  const auto unit = print_symbolic_cpp(*compiled.program, model);
  ASSERT_TRUE(unit);
  EXPECT_NE(unit->text.find("(j_n + 31) / 32"), std::string::npos);
  const bool packs = schedule_text.find("stage B in ram") != std::string::npos;  // strides of the copy or the tensor
  EXPECT_EQ(unit->text.find("B_copy_read ? 32 : B_s0") != std::string::npos, packs);
  EXPECT_EQ(unit->text.find("!B_copy_borrowed[block]") != std::string::npos, packs);  // remainders alone pack nothing
  if (availability(model).how != ExecutionMode::native) GTEST_SKIP() << availability(model).why;
  const auto runner = make_symbolic_runner(*compiled.program, model);
  for (const std::int64_t m : {1, 5, 6, 9})
    for (const std::int64_t n : {0, 1, 15, 16, 17, 31, 32, 33, 48, 63, 64, 79})
      for (const std::int64_t k : {0, 3}) {
        const auto checked = run_at(*runner, kernel, {{"M", m}, {"N", n}, {"K", k}}, ExecutionMode::native);
        ASSERT_TRUE(checked) << render(checked.diagnostics());
        EXPECT_TRUE(checked->correct) << m << " " << n << " " << k << ": " << checked->first_difference;
      }
  EXPECT_EQ(runner->compilations(), 1);
}

TEST(ShortTiles, ReadTheTensor) {
  std::string plain = panels_of_columns;
  plain.erase(plain.find("  - stage B in ram"), plain.find("  - for i by 6") - plain.find("  - stage B in ram"));
  short_tiles(plain);
}
TEST(ShortTiles, ReadThePanelsOfTheTiles) { short_tiles(panels_of_columns); }

TEST(ShortTiles, AreNoneWhereMasksTakeTheRegistersOfValues) {
  for (const Block& block : grid_of(symbolic_product).program->grids[0].blocks) EXPECT_TRUE(block.short_axes.empty());
}

// Copies that cells share --------------------------------------------------------------------------------------------

const char* const packed_product = R"(schedule: gemm
kernel: gemm
target: x86_avx2
nest:
  - stage B in ram as [j/16, k, j%16]
  - for i by 4
  - for j by 16
  - stage C in vec
  - for k by 1
  - stage B in vec
  - for i by 1 unroll
  - for j by 8 unroll
  - do s0 with fma_f32_bcast(j=j)
)";

const SymbolicCompilation& packed_grid() {
  static const SymbolicCompilation compiled = [] {
    CompileOptions options;
    const auto kernel = bind(symbolic_kernel(symbolic_product), {{"M", 60}, {"N", 60}, {"K", 60}});
    auto schedule = parse_schedule(packed_product, "s.yaml", *kernel, vector_machine());
    EXPECT_TRUE(schedule) << render(schedule.diagnostics());
    if (schedule) options.hand_written = *schedule;
    SymbolicCompilation result = compile_symbolic(symbolic_kernel(symbolic_product), vector_machine(), options);
    EXPECT_TRUE(result.program) << render(result.problems);
    return result;
  }();
  return compiled;
}

TEST(SharedCopies, RowsThatTilesLeaveUseThePanelsOfTheTiles) {
  ASSERT_TRUE(packed_grid().program);
  const Grid& grid = packed_grid().program->grids[0];
  const std::vector<SharedCopy> copies = shared_copies(grid.blocks[0], grid.shape);
  ASSERT_EQ(copies.size(), 1U);
  EXPECT_EQ(grid.shape.kernel.tensors[copies[0].tensor.index()].name, "B");
  EXPECT_EQ(axes_of(grid.shape, copies[0].tensor).size(), 2U);  // j and k
  Block written = grid.blocks[0];                               // mutant: a later node writes the panel
  written.program.body.push_back(written.program.body[copies[0].nodes[0]]);
  const std::size_t last = written.program.body.size() - 1;
  for (const SharedCopy& copy : shared_copies(written, grid.shape))
    EXPECT_EQ(std::count(copy.nodes.begin(), copy.nodes.end(), last), 0);
  Block other = grid.blocks[0];  // mutant: the copy depends on the rows
  for (auto& [variable, loop] : other.loops) loop.axis = 0;
  EXPECT_TRUE(shared_copies(other, grid.shape).empty());
}

TEST(SharedCopies, ArePackedOnceForEachPanel) {
  if (!native()) GTEST_SKIP() << availability(vector_machine()).why;
  const SymbolicKernel kernel = symbolic_kernel(symbolic_product);
  ASSERT_TRUE(packed_grid().program);
  const auto runner = make_symbolic_runner(*packed_grid().program, vector_machine());
  for (const auto& [m, n, k] : {std::tuple(0, 5, 3), std::tuple(5, 0, 3), std::tuple(7, 50, 0), std::tuple(1, 1, 1),
                                std::tuple(9, 67, 33), std::tuple(61, 15, 5), std::tuple(4, 16, 7)}) {
    const auto checked = run_at(*runner, kernel, {{"M", m}, {"N", n}, {"K", k}}, availability(vector_machine()).how);
    ASSERT_TRUE(checked) << render(checked.diagnostics());
    EXPECT_TRUE(checked->correct) << m << " " << n << " " << k << ": " << checked->first_difference;
  }
  const auto unit = print_symbolic_cpp(*packed_grid().program, vector_machine());
  ASSERT_TRUE(unit);
  EXPECT_NE(unit->text.find("GrowingArray& B_copy"), std::string::npos);
}

const std::string transposed_product = R"(kernel: gemm
dims: {M: {max: 300, likely: 60}, N: {max: 300, likely: 60}, K: {max: 300, likely: 60}}
tensors: {A: {shape: [M, K]}, B: {shape: [N, K]}, C: {shape: [M, N]}}
compute:
  - C[i,j] += A[i,k] * B[j,k]
)";

/// A move that transposes takes several terms at once: the last one takes those that are left.
TEST(PartialMoves, TransposeAnyNumberOfTerms) {
  const HardwareModel& model = vector_machine();
  const SymbolicKernel kernel = symbolic_kernel(transposed_product);
  CompileOptions options;
  auto schedule = parse_schedule(packed_product, "s.yaml", *bind(kernel, {{"M", 60}, {"N", 60}, {"K", 60}}), model);
  ASSERT_TRUE(schedule) << render(schedule.diagnostics());
  options.hand_written = *schedule;
  const SymbolicCompilation compiled = compile_symbolic(kernel, model, options);
  ASSERT_TRUE(compiled.program) << render(compiled.problems);
  SymbolicProgram less = *compiled.program;
  const int ended = leave_last_out(less);
  ASSERT_GT(ended, 0);
  if (availability(model).how != ExecutionMode::native) GTEST_SKIP() << availability(model).why;
  const auto runner = make_symbolic_runner(*compiled.program, model);
  for (std::int64_t k = 0; k <= 40; ++k) {
    const auto checked =
        run_at(*runner, kernel, {{"M", 1 + k % 9}, {"N", 7 + 5 * k % 61}, {"K", k}}, ExecutionMode::native);
    ASSERT_TRUE(checked) << render(checked.diagnostics());
    EXPECT_TRUE(checked->correct) << k << ": " << checked->first_difference;
  }
  EXPECT_EQ(runner->compilations(), 1);
  const auto checked =
      run_at(*make_symbolic_runner(less, model), kernel, {{"M", 9}, {"N", 40}, {"K", 21}}, ExecutionMode::native);
  ASSERT_TRUE(checked) << render(checked.diagnostics());
  EXPECT_FALSE(checked->correct);
}

const std::string narrow_windows = R"(kernel: windows
dims: {P: {max: 60, likely: 28}, Q: {max: 60, likely: 28}, H: P + 2, W: Q + 2}
tensors: {I: {shape: [H, W, 24]}, F: {shape: [3, 3, 24], constant: true}, O: {shape: [P, Q, 24]}}
compute:
  - O[p,q,c] += I[p+r,q+s,c] * F[r,s,c]
)";

/// Lanes over q and c together leave no tail of 24 channels at one size, but no loop walks q then.
TEST(SymbolicBlocks, LanesCrossNoSymbolicDim) {
  CompileOptions options;
  options.schedule.objective = Objective::cycles;
  options.schedule.max_evaluations = 200;
  options.most_versions = 1;
  const SymbolicCompilation made =
      compile_symbolic(symbolic_kernel(narrow_windows), machine_of_file("x86_avx512"), options);
  ASSERT_TRUE(made.program) << render(made.problems);
  EXPECT_NE(print(made.schedules[0]).find("(j=c)"), std::string::npos) << print(made.schedules[0]);
}

/// The sum over two terms of a product with a constant of any size, by its own entries.
struct ConstantProduct {
  using Pack = void (*)(const float*);
  using Entry = int (*)(const float*, const float*, float*, long, long, long);
  TemporaryDirectory folder;
  Pack pack = nullptr;
  Entry entry = nullptr;

  explicit ConstantProduct(const std::string& text) {
    const auto file = folder.path() / "gemm.so";
    const auto made = compile_library(vector_machine(), text, "", file);
    EXPECT_TRUE(made) << render(made.diagnostics());
    void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    pack = reinterpret_cast<Pack>(dlsym(library, "gemm_pack"));
    entry = reinterpret_cast<Entry>(dlsym(library, "gemm"));
  }
  float first(const std::vector<float>& b, long n) const {
    const std::vector<float> a(9 * 2, 1);
    std::vector<float> c(static_cast<std::size_t>(9 * n));
    EXPECT_EQ(entry(a.data(), b.data(), c.data(), 9, n, 2), 0);
    return c.front();
  }
};

/// A constant whose shape is known at the call: its copies are kept for its sizes, once NAME_pack was called.
TEST(SharedCopies, OfConstantsAreKeptFromCallToCall) {
  if (!native()) GTEST_SKIP() << availability(vector_machine()).why;
  std::string text = symbolic_product;
  text.replace(text.find("[K, N]"), 6, "[K, N], constant: true");
  const auto bound = bind(symbolic_kernel(text), {{"M", 60}, {"N", 60}, {"K", 60}});
  CompileOptions options;
  const auto schedule = parse_schedule(packed_product, "s.yaml", *bound, vector_machine());
  ASSERT_TRUE(schedule) << render(schedule.diagnostics());
  options.hand_written = *schedule;
  const SymbolicCompilation compiled = compile_symbolic(symbolic_kernel(text), vector_machine(), options);
  ASSERT_TRUE(compiled.program) << render(compiled.problems);
  const auto unit = print_symbolic_cpp(*compiled.program, vector_machine());
  ASSERT_TRUE(unit) << render(unit.diagnostics());
  ASSERT_EQ(unit->pack.size(), 1U);
  const ConstantProduct product(unit->text);
  ASSERT_TRUE(product.pack != nullptr && product.entry != nullptr);
  std::vector<float> b(2 * 40, 1), other(2 * 40, 5);
  EXPECT_EQ(product.first(b, 40), 2);
  std::fill(b.begin(), b.end(), 2.0F);
  EXPECT_EQ(product.first(b, 40), 4);  // NAME_pack was never called: nothing is kept
  product.pack(b.data());
  EXPECT_EQ(product.first(b, 40), 4);
  std::fill(b.begin(), b.end(), 3.0F);
  EXPECT_EQ(product.first(b, 40), 4);       // kept
  EXPECT_EQ(product.first(b, 37), 6);       // another size
  EXPECT_EQ(product.first(b, 40), 6);       // again
  EXPECT_EQ(product.first(other, 40), 10);  // another array
  product.pack(b.data());
  std::fill(b.begin(), b.end(), 7.0F);
  EXPECT_EQ(product.first(b, 40), 14);
  const auto runner = make_symbolic_runner(*compiled.program, vector_machine());
  for (const auto& [m, n, k] : {std::tuple(0, 5, 3), std::tuple(5, 0, 3), std::tuple(7, 50, 0), std::tuple(1, 1, 1),
                                std::tuple(9, 67, 33), std::tuple(4, 16, 7), std::tuple(61, 15, 5)}) {
    const auto checked =
        run_at(*runner, symbolic_kernel(text), {{"M", m}, {"N", n}, {"K", k}}, availability(vector_machine()).how);
    ASSERT_TRUE(checked) << render(checked.diagnostics());
    EXPECT_TRUE(checked->correct) << m << " " << n << " " << k << ": " << checked->first_difference;
  }
}

/// A product with a constant, its copies packed before all loops.
SymbolicCompilation constant_product(const std::string& text, const std::string& written = packed_product) {
  Bindings sizes;
  for (const SymbolicSize& size : symbolic_kernel(text).facts.sizes) sizes[size.name] = 60;
  const auto bound = isamap::bind(symbolic_kernel(text), sizes);
  CompileOptions options;
  const auto schedule = parse_schedule(written, "s.yaml", *bound, vector_machine());
  EXPECT_TRUE(schedule) << render(schedule.diagnostics());
  if (schedule) options.hand_written = *schedule;
  SymbolicCompilation compiled = compile_symbolic(symbolic_kernel(text), vector_machine(), options);
  EXPECT_TRUE(compiled.program) << render(compiled.problems);
  return compiled;
}

/// Copies are those of other elements where only a stride differs.
TEST(SharedCopies, HeavyOfConstantsAreKeptForTheirStrides) {
  if (!native()) GTEST_SKIP() << availability(vector_machine()).why;
  std::string text = symbolic_product;
  text.replace(text.find("[K, N]"), 6, "[K, N], strides: [L, 1], constant: true");
  text.replace(text.find("dims: {"), 7, "dims: {L: {min: 60, max: 600, likely: 60}, ");
  text.replace(text.find("N: {max: 300"), 12, "N: {max: 60");
  const SymbolicCompilation compiled = constant_product(text);
  ASSERT_TRUE(compiled.program);
  const auto unit = print_symbolic_cpp(*compiled.program, vector_machine());
  ASSERT_TRUE(unit) << render(unit.diagnostics());
  const ConstantProduct product(unit->text);
  using StridedEntry = int (*)(const float*, const float*, float*, long, long, long, long);
  const auto entry = reinterpret_cast<StridedEntry>(reinterpret_cast<void*>(product.entry));
  ASSERT_TRUE(product.pack != nullptr && entry != nullptr);
  std::vector<float> a(9 * 2, 1), b(200, 0), c(9 * 40);
  b[0] = 1, b[60] = 2, b[70] = 4;
  product.pack(b.data());
  std::vector<std::string> sizes;
  for (const SymbolicSize& size : symbolic_kernel(text).facts.sizes) sizes.push_back(size.name);
  ASSERT_EQ(sizes, (std::vector<std::string>{"L", "M", "N", "K"}));
  EXPECT_EQ(entry(a.data(), b.data(), c.data(), 60, 9, 40, 2), 0);
  EXPECT_EQ(c.front(), 3);
  EXPECT_EQ(entry(a.data(), b.data(), c.data(), 70, 9, 40, 2), 0);
  EXPECT_EQ(c.front(), 5);
}

/// Tensors and sizes may have the names that the entry uses for constants.
TEST(SharedCopies, OfConstantsTakeNamesThatAreFree) {
  if (!native()) GTEST_SKIP() << availability(vector_machine()).why;
  std::string text = symbolic_product;
  text.replace(text.find("[K, N]"), 6, "[K, N], constant: true");
  text.replace(text.find("C: {"), 4, "B_kept: {");
  text.replace(text.find("C[i,j]"), 6, "B_kept[i,j]");
  text.replace(text.find("A: {"), 4, "B_last: {");
  text.replace(text.find("A[i,k]"), 6, "B_last[i,k]");
  std::string schedule = packed_product;
  schedule.replace(schedule.find("stage C"), 7, "stage B_kept");
  const SymbolicCompilation compiled = constant_product(text, schedule);
  ASSERT_TRUE(compiled.program);
  const auto checked = run_at(*make_symbolic_runner(*compiled.program, vector_machine()), symbolic_kernel(text),
                              {{"M", 9}, {"N", 67}, {"K", 33}}, availability(vector_machine()).how);
  ASSERT_TRUE(checked) << render(checked.diagnostics());
  EXPECT_TRUE(checked->correct) << checked->first_difference;
}

/// A loaded kernel says once that the constants have their values.
TEST(SharedCopies, OfConstantsAreKeptByALoadedKernel) {
  if (!native()) GTEST_SKIP() << availability(vector_machine()).why;
  std::string text = symbolic_product;
  text.replace(text.find("[K, N]"), 6, "[K, N], constant: true");
  const SymbolicCompilation compiled = constant_product(text);
  ASSERT_TRUE(compiled.program);
  auto loaded = load_program(*compiled.program, vector_machine());
  ASSERT_TRUE(loaded) << render(loaded.diagnostics());
  const auto array = [](std::int64_t elements) { return allocate_array(elements * 4); };
  const auto a = array(9 * 2), b = array(2 * 40), c = array(9 * 40);
  const auto first = [&](std::int64_t columns, float value) {
    std::fill_n(reinterpret_cast<float*>(a.get()), 9 * 2, 1.0F);
    std::fill_n(reinterpret_cast<float*>(b.get()), 2 * 40, value);
    const auto problem = loaded->call({{a.get(), DType::f32, {9, 2}, {}},
                                       {b.get(), DType::f32, {2, columns}, {}},
                                       {c.get(), DType::f32, {9, columns}, {}}});
    EXPECT_FALSE(problem) << problem->message;
    return *reinterpret_cast<const float*>(c.get());
  };
  EXPECT_EQ(first(40, 1), 2);
  EXPECT_EQ(first(40, 2), 2);  // kept
  EXPECT_EQ(first(37, 3), 6);  // another size
  loaded->forget_packed();
  EXPECT_EQ(first(37, 4), 8);
}

/// Rows of 24*D elements begin at multiples of 24 at every size: so they do in what is searched, priced and lowered.
TEST(SymbolicBlocks, StridesKeepTheNumberThatDividesThem) {
  ASSERT_TRUE(grid_of(values).program);
  const Grid& grid = grid_of(values).program->grids[0];
  const Kernel kernel = block_kernel(grid.shape, {7, 9}, false);  // S, T
  for (const Tensor& tensor : kernel.tensors) {
    if (tensor.name == "P") continue;
    EXPECT_EQ(tensor.strides[0] % 24, 0) << tensor.name;
    EXPECT_EQ(tensor.strides[0] / 24 % 2, 1) << tensor.name;
  }
}

// Constants that are packed ahead of time ----------------------------------------------------------------------------

/// Weights of images of any size.
const std::string weights = R"(kernel: weights
dims: {N: {max: 3, likely: 2}, H: {max: 60, likely: 24}, W: {max: 60, likely: 24}}
tensors: {I: {shape: [N, 8, H, W], outside: 0}, F: {shape: [40, 8, 3, 3], constant: true}, O: {shape: [N, 40, H, W]}}
compute:
  - O[n,k,p,q] += I[n,c,p+r-1,q+s-1] * F[k,c,r,s]
)";

const char* const packed_weights = R"(schedule: weights
kernel: weights
target: x86_avx2
nest:
  - stage F in ram as [k/16, c, r, s, k%16] aot
  - for n by 1
  - for k by 16
  - for p by 1
  - for q by 4
  - stage O in ram as [n, k/16, p, q, k%16]
  - stage O in vec
  - for c by 1
  - for r by 1
  - for s by 1
  - stage F in vec
  - for q by 1 unroll
  - stage I in vec
  - for k by 8 unroll
  - do s0 with fma_f32(j=k)
)";

const SymbolicCompilation& weights_grid() {
  static const SymbolicCompilation compiled = [] {
    CompileOptions options;
    const auto kernel = bind(symbolic_kernel(weights), {{"N", 2}, {"H", 24}, {"W", 24}});
    auto schedule = parse_schedule(packed_weights, "s.yaml", *kernel, vector_machine());
    EXPECT_TRUE(schedule) << render(schedule.diagnostics());
    if (schedule) options.hand_written = *schedule;
    SymbolicCompilation result = compile_symbolic(symbolic_kernel(weights), vector_machine(), options);
    EXPECT_TRUE(result.program) << render(result.problems);
    return result;
  }();
  return compiled;
}

TEST(PackedConstants, AllBlocksReadOneCopy) {
  ASSERT_TRUE(weights_grid().program);
  const SymbolicProgram& program = *weights_grid().program;
  const auto packed = std::count_if(program.arguments.buffers.begin(), program.arguments.buffers.end(),
                                    [](const Buffer& buffer) { return buffer.ahead_of_time; });
  EXPECT_EQ(packed, 1);
  EXPECT_FALSE(program.arguments.prepack.empty());
  for (const Block& block : program.grids[0].blocks)
    for (const auto& [own, shared] : block.constants) {
      EXPECT_TRUE(block.program.buffers[own.index()].ahead_of_time);
      EXPECT_EQ(program.arguments.buffers[shared.index()].extents, block.program.buffers[own.index()].extents);
    }
  const auto unit = print_symbolic_cpp(program, vector_machine());
  ASSERT_TRUE(unit) << render(unit.diagnostics());
  EXPECT_EQ(unit->pack.size(), 2U);  // F and its copy
  EXPECT_NE(unit->text.find("void weights_pack(const float* __restrict F, float* __restrict F_ram)"),
            std::string::npos);
  EXPECT_EQ(unit->text.find("GrowingArray& F_copy"), std::string::npos);
}

TEST(PackedConstants, HeavyServeImagesOfAnySize) {
  if (!native()) GTEST_SKIP() << availability(vector_machine()).why;
  const SymbolicKernel kernel = symbolic_kernel(weights);
  ASSERT_TRUE(weights_grid().program);
  const auto right_at = [&](const SymbolicProgram& program, std::int64_t n, std::int64_t h, std::int64_t w) {
    const auto checked = run_at(*make_symbolic_runner(program, vector_machine()), kernel,
                                {{"N", n}, {"H", h}, {"W", w}}, availability(vector_machine()).how);
    EXPECT_TRUE(checked) << render(checked.diagnostics());
    return checked && checked->correct;
  };
  for (const auto& [n, h, w] : {std::tuple(0, 5, 3), std::tuple(1, 0, 3), std::tuple(1, 1, 1), std::tuple(2, 3, 4),
                                std::tuple(3, 5, 7), std::tuple(1, 24, 17), std::tuple(2, 9, 33)})
    EXPECT_TRUE(right_at(*weights_grid().program, n, h, w)) << n << " " << h << " " << w;
  SymbolicProgram unpacked = *weights_grid().program;  // mutant: a part of the copy is not filled
  ASSERT_GT(unpacked.arguments.prepack.size(), 1U);
  unpacked.arguments.prepack.resize(1);
  EXPECT_FALSE(right_at(unpacked, 2, 9, 9));
}

/// The runs of a grid, which say about how much text there is, with schedules by which blocks are priced before they
/// are lowered: so do the blocks of the same runs.
TEST(BlockGrids, RunsComeBeforeTheirBlocks) {
  const SymbolicKernel kernel = symbolic_kernel(weights);
  const auto sample = bind(kernel, {{"N", 2}, {"H", 24}, {"W", 24}});
  const auto schedule = parse_schedule(packed_weights, "s.yaml", *sample, vector_machine());
  ASSERT_TRUE(schedule) << render(schedule.diagnostics());
  const auto shape = grid_shape(kernel, 0);
  ASSERT_TRUE(shape) << render(shape.diagnostics());
  const HardwareModel machine = vector_machine();
  const CompileOptions options;
  LoweredBlocks lowered(machine, options);
  const GridSchedules schedules{*schedule, {*schedule}, {}, *schedule};
  const auto whole = build_grid(*shape, lowered, schedules);
  ASSERT_TRUE(whole) << render(whole.diagnostics());
  std::vector<Bindings> sizes;
  for (const std::int64_t height : {1, 9, 24}) sizes.push_back({{"N", 2}, {"H", height}, {"W", 25}});
  const auto runs = expected_grid(*shape, lowered, schedules, sizes);
  ASSERT_TRUE(runs) << render(runs.diagnostics());
  EXPECT_EQ(block_count(*runs), block_count(*whole));
  EXPECT_EQ(body_count(*runs), 0U);
  const auto is_asked = [](const Block& block) { return !block.schedule.nests.empty(); };
  std::set<std::size_t> reached;
  for (const Bindings& at : sizes) reached.merge(blocks_at(*runs, at));
  EXPECT_EQ(std::count_if(runs->blocks.begin(), runs->blocks.end(), is_asked), std::ssize(reached));
  EXPECT_LT(reached.size(), runs->blocks.size());
  EXPECT_NEAR(text_of(*runs, lowered) / text_of(*whole, lowered), 1, 0.25);
  for (const Bindings& at : sizes) {
    const auto expected = cost_of(*runs, lowered.costs(), at);
    const auto cost = cost_of(*whole, lowered.costs(), at);
    ASSERT_TRUE(expected && cost);
    EXPECT_EQ(expected->cycles, cost->cycles);
  }
}

/// Blocks of remainders by a schedule of their own, whose panels are half as wide: each block reads the copy of its
/// schedule.
TEST(PackedConstants, EachBlockReadsTheCopyOfItsSchedule) {
  const SymbolicKernel kernel = symbolic_kernel(weights);
  const auto sample = bind(kernel, {{"N", 2}, {"H", 24}, {"W", 24}});
  const auto schedule_of = [&](const std::string& text) {
    auto schedule = parse_schedule(text, "s.yaml", *sample, vector_machine());
    EXPECT_TRUE(schedule) << render(schedule.diagnostics());
    return *schedule;
  };
  std::string half = packed_weights;
  for (std::size_t at; (at = half.find("16")) != std::string::npos;) half.replace(at, 2, "8");
  const auto shape = grid_shape(kernel, 0);
  ASSERT_TRUE(shape) << render(shape.diagnostics());
  const Schedule narrow = schedule_of(half);
  const HardwareModel machine = vector_machine();
  const CompileOptions options;
  LoweredBlocks lowered(machine, options);
  auto grid = build_grid(*shape, lowered, {schedule_of(packed_weights), {narrow}, {}, narrow});
  ASSERT_TRUE(grid) << render(grid.diagnostics());
  SymbolicProgram program = *weights_grid().program;
  program.grids = {std::move(*grid)};
  program.arguments.prepack.clear();
  std::vector<Buffer>& buffers = program.arguments.buffers;
  const auto is_packed = [](const Buffer& buffer) { return buffer.ahead_of_time; };
  buffers.erase(std::find_if(buffers.begin(), buffers.end(), is_packed), buffers.end());
  share_packed_constants(program);
  EXPECT_EQ(std::count_if(buffers.begin(), buffers.end(), is_packed), 2);
  const auto unit = print_symbolic_cpp(program, vector_machine());
  ASSERT_TRUE(unit) << render(unit.diagnostics());
  EXPECT_NE(unit->text.find("F_packed_copies[F_packed_of[block]]"), std::string::npos) << unit->text;
  if (!native()) GTEST_SKIP() << availability(vector_machine()).why;
  const auto right_at = [&](const SymbolicProgram& tried, std::int64_t n, std::int64_t h, std::int64_t w) {
    const auto checked = run_at(*make_symbolic_runner(tried, vector_machine()), kernel, {{"N", n}, {"H", h}, {"W", w}},
                                availability(vector_machine()).how);
    EXPECT_TRUE(checked) << render(checked.diagnostics());
    return checked && checked->correct;
  };
  for (const auto& [n, h, w] : {std::tuple(1, 1, 1), std::tuple(2, 3, 4), std::tuple(3, 5, 7), std::tuple(2, 9, 33)})
    EXPECT_TRUE(right_at(program, n, h, w)) << n << " " << h << " " << w;
  for (Block& block : program.grids[0].blocks)  // mutant: all blocks read the first copy
    for (auto& [own, shared] : block.constants) shared = program.grids[0].blocks[0].constants.begin()->second;
  EXPECT_FALSE(right_at(program, 2, 9, 33));
}

/// A kernel that is loaded packs once, and again where the constants are others.
TEST(PackedConstants, ALoadedKernelPacksAtItsFirstCall) {
  if (!native()) GTEST_SKIP() << availability(vector_machine()).why;
  ASSERT_TRUE(weights_grid().program);
  auto loaded = load_program(*weights_grid().program, vector_machine());
  ASSERT_TRUE(loaded) << render(loaded.diagnostics());
  std::vector<float> image(8 * 5 * 6, 1), filter(40 * 8 * 9, 1), output(40 * 5 * 6);
  const auto call = [&] {
    return loaded->call({{image.data(), DType::f32, {1, 8, 5, 6}, {}},
                         {filter.data(), DType::f32, {40, 8, 3, 3}, {}},
                         {output.data(), DType::f32, {1, 40, 5, 6}, {}}});
  };
  const auto inner = [&] { return output[(39 * 5 + 2) * 6 + 2]; };
  EXPECT_FALSE(call());
  EXPECT_EQ(inner(), 72);
  std::fill(filter.begin(), filter.end(), 2.0F);
  EXPECT_FALSE(call());
  EXPECT_EQ(inner(), 72);
  loaded->forget_packed();
  EXPECT_FALSE(call());
  EXPECT_EQ(inner(), 144);
}

/// Arguments may have the names of what the entry defines.
TEST(SymbolicBlocks, TensorsMayHaveNamesOfLocals) {
  run_sizes(R"(kernel: conv
dims: {N: {max: 2, likely: 1}, H: {max: 30, likely: 14}, end: {max: 30, likely: 14}}
tensors: {source: {shape: [N, 3, H, end], outside: 0}, F: {shape: [5, 3, 3, 3]}, source_padded: {shape: [N, 5, H, end]}}
compute:
  - source_padded[n,k,p,q] += source[n,c,p+r-1,q+s-1] * F[k,c,r,s]
)",
            12);
  run_sizes(R"(kernel: gemm
dims: {M: {max: 60, likely: 30}, N: {max: 60, likely: 30}, K: {max: 60, likely: 30}}
tensors: {runs0: {shape: [M, K]}, B: {shape: [K, N], constant: true}, B_copy: {shape: [M, N]}}
compute:
  - B_copy[i,j] += runs0[i,k] * B[k,j]
)",
            12);
}

/// One constant is packed ahead of time, the other one has a shape that is known at the call: NAME_pack serves both.
TEST(PackedConstants, OfFixedAndOfSymbolicShapes) {
  if (!native()) GTEST_SKIP() << availability(vector_machine()).why;
  const std::string mixed = R"(kernel: mixed
dims: {M: {max: 120, likely: 30}, K: {max: 150, likely: 40}, N: 32}
tensors: {A: {shape: [M, K]}, B: {shape: [K, 24], constant: true}, D: {shape: [24, N], constant: true},
  T: {shape: [M, 24]}, C: {shape: [M, N]}}
compute:
  - T[i,j] += A[i,k] * B[k,j]
  - C[i,n] += T[i,j] * D[j,n]
)";
  const SymbolicCompilation compiled = constant_product(mixed, R"(schedule: mixed
kernel: mixed
target: x86_avx2
nests:
  -
    - stage B in ram as [j/8, k, j%8]
    - for i by 4
    - for j by 8
    - stage T in vec
    - for k by 1
    - stage B in vec
    - for i by 1 unroll
    - do s0 with fma_f32_bcast(j=j)
  -
    - stage D in ram as [n/8, j, n%8] aot
    - for i by 4
    - for n by 8
    - stage C in vec
    - for j by 1
    - stage D in vec
    - for i by 1 unroll
    - do s1 with fma_f32_bcast(j=n)
)");
  ASSERT_TRUE(compiled.program);
  const auto unit = print_symbolic_cpp(*compiled.program, vector_machine());
  ASSERT_TRUE(unit) << render(unit.diagnostics());
  EXPECT_NE(unit->text.find("mixed_fixed_pack(D, D_ram);\n  ++mixed_packings;"), std::string::npos) << unit->text;
  const auto runner = make_symbolic_runner(*compiled.program, vector_machine());
  for (const auto& [m, k] : {std::pair(0, 3), std::pair(5, 0), std::pair(1, 1), std::pair(61, 37), std::pair(4, 40)}) {
    const auto checked = run_at(*runner, symbolic_kernel(mixed), {{"M", m}, {"K", k}}, ExecutionMode::native);
    ASSERT_TRUE(checked) << render(checked.diagnostics());
    EXPECT_TRUE(checked->correct) << m << " " << k << ": " << checked->first_difference;
  }
  auto loaded = load_program(*compiled.program, vector_machine());
  ASSERT_TRUE(loaded) << render(loaded.diagnostics());
  std::vector<float> a(48 * 40, 1), b(40 * 24, 1), d(24 * 32, 1), c(48 * 32);
  const auto first = [&] {
    const auto problem = loaded->call({{a.data(), DType::f32, {48, 40}, {}},
                                       {b.data(), DType::f32, {40, 24}, {}},
                                       {d.data(), DType::f32, {24, 32}, {}},
                                       {c.data(), DType::f32, {48, 32}, {}}});
    EXPECT_FALSE(problem) << problem->message;
    return c.front();
  };
  EXPECT_EQ(first(), 40 * 24);
  std::fill(b.begin(), b.end(), 2.0F);
  std::fill(d.begin(), d.end(), 3.0F);
  EXPECT_EQ(first(), 40 * 24);  // both are kept
  loaded->forget_packed();
  EXPECT_EQ(first(), 6 * 40 * 24);  // neither is
}

// Versions -----------------------------------------------------------------------------------------------------------

/// Two schedules, one of which is better up to 20 columns.
VersionQuestion two_schedules() {
  VersionQuestion question;
  for (const std::int64_t columns : {64, 1, 8, 40, 300}) question.samples.push_back({{"M", 60}, {"N", columns}});
  question.measures = {AffineExpr::dim("N"), AffineExpr::dim("M")};
  question.price = [](std::size_t schedule, const Bindings& sizes) {
    const auto columns = static_cast<double>(sizes.at("N"));
    return schedule == 0 ? 100 + columns : 2 * columns + 79.5;
  };
  question.costs.resize(2);
  for (std::size_t c = 0; c < 2; ++c)
    for (const Bindings& sizes : question.samples) question.costs[c].push_back(question.price(c, sizes));
  return question;
}

TEST(GridVersions, GuardsAreCrossoversOfTheModel) {
  const auto sampled = choose_versions(two_schedules(), {.most = 4});
  ASSERT_EQ(sampled.size(), 2U);
  EXPECT_EQ(sampled[0].when[0].text, "N <= 8");  // the last sample that it serves
  const auto versions = at_crossovers(sampled, two_schedules());
  ASSERT_EQ(versions.size(), 2U);
  EXPECT_EQ(versions[0].schedule, 1U);
  ASSERT_EQ(versions[0].when.size(), 1U);
  EXPECT_EQ(versions[0].when[0].text, "N <= 20");
  EXPECT_EQ(versions[1].schedule, 0U);
  EXPECT_TRUE(versions[1].when.empty());
  EXPECT_EQ(serving(versions, {{"M", 60}, {"N", 20}}), 0U);
  EXPECT_EQ(serving(versions, {{"M", 60}, {"N", 21}}), 1U);
  EXPECT_EQ(choose_versions(two_schedules(), {.most = 1}).size(), 1U);
  VersionQuestion alike = two_schedules();
  alike.costs[1] = alike.costs[0];
  EXPECT_EQ(choose_versions(alike, {.most = 4}).size(), 1U);
}

/// The first schedule is never far from the best, and best nowhere: beside a version for many columns it is not needed.
TEST(GridVersions, TheLastOneIsChosenAgainBesideGuardedOnes) {
  VersionQuestion question = two_schedules();
  question.price = [](std::size_t schedule, const Bindings& sizes) {
    const bool few = sizes.at("N") <= 20;
    return schedule == 0 ? 105.0 : few == (schedule == 1) ? 100.0 : 300.0;
  };
  question.costs.assign(3, {});
  for (std::size_t c = 0; c < 3; ++c)
    for (const Bindings& sizes : question.samples) question.costs[c].push_back(question.price(c, sizes));
  EXPECT_EQ(choose_versions(question, {.most = 1})[0].schedule, 0U);
  const auto versions = at_crossovers(choose_versions(question, {.most = 2}), question);
  ASSERT_EQ(versions.size(), 2U);
  EXPECT_EQ(versions[0].schedule, 2U);
  EXPECT_EQ(versions[0].when[0].text, "N > 20");
  EXPECT_EQ(versions[1].schedule, 1U);
}

/// Few columns have a schedule of their own, which is poor where the sum is short as well.
VersionQuestion few_columns_of_long_sums() {
  VersionQuestion question;
  question.measures = {AffineExpr::dim("N"), AffineExpr::dim("K")};
  question.samples = {{{"N", 256}, {"K", 256}}, {{"N", 1}, {"K", 1}},   {{"N", 8}, {"K", 8}},   {{"N", 3}, {"K", 256}},
                      {{"N", 256}, {"K", 3}},   {{"N", 1}, {"K", 256}}, {{"N", 256}, {"K", 1}}, {{"N", 8}, {"K", 256}}};
  question.price = [](std::size_t schedule, const Bindings& sizes) {
    const auto columns = static_cast<double>(sizes.at("N")), terms = static_cast<double>(sizes.at("K"));
    return schedule == 0 ? terms * std::max(columns, 40.0) : columns * (terms * 8 + 1500);
  };
  question.costs.resize(2);
  for (std::size_t c = 0; c < 2; ++c)
    for (const Bindings& sizes : question.samples) question.costs[c].push_back(question.price(c, sizes));
  return question;
}

TEST(GridVersions, AGuardMayHaveTwoConditions) {
  VersionQuestion question = few_columns_of_long_sums();
  question.remainders = {{"N", 97}, {"K", 97}};
  const auto sampled = choose_versions(question, {.most = 2});
  ASSERT_EQ(sampled.size(), 2U);
  ASSERT_EQ(sampled[0].when.size(), 2U);
  EXPECT_EQ(sampled[0].schedule, 1U);
  EXPECT_EQ(serving(sampled, {{"N", 1}, {"K", 256}}), 0U);
  EXPECT_EQ(serving(sampled, {{"N", 1}, {"K", 1}}), 1U);
  EXPECT_EQ(serving(sampled, {{"N", 256}, {"K", 256}}), 1U);
  const auto versions = at_crossovers(sampled, question);
  ASSERT_EQ(versions[0].when.size(), 2U);
  for (const std::int64_t columns : {1, 2, 9, 60})
    for (const std::int64_t terms : {1, 20, 90, 256, 900}) {
      const Bindings sizes{{"N", columns}, {"K", terms}};
      const double served = question.price(versions[serving(versions, sizes)].schedule, sizes);
      EXPECT_LE(served, 1.4 * std::min(question.price(0, sizes), question.price(1, sizes))) << columns << " " << terms;
    }
}

/// Up to 40 columns the second schedule is better at the likely sums, up to ten at others.
TEST(GridVersions, CrossoversHoldForOtherSizesThanTheLikelyOnes) {
  VersionQuestion question = two_schedules();
  for (Bindings& sizes : question.samples) sizes["K"] = 256;
  question.remainders = {{"M", 21}, {"N", 21}, {"K", 97}};
  question.price = [](std::size_t schedule, const Bindings& sizes) {
    const auto columns = static_cast<double>(sizes.at("N"));
    const double most = sizes.at("K") % 32 == 0 ? 40 : 10;
    return schedule == 0 ? std::max(columns, most) : columns * columns / most;
  };
  for (std::size_t c = 0; c < 2; ++c)
    for (std::size_t s = 0; s < question.samples.size(); ++s)
      question.costs[c][s] = question.price(c, question.samples[s]);
  const auto versions = at_crossovers(choose_versions(question, {.most = 2}), question);
  ASSERT_EQ(versions.size(), 2U);
  EXPECT_EQ(versions[0].when[0].text, "N > 25");
}

/// What tiles leave makes the second schedule poor at every eighth number of columns, of those up to 36 that it is
/// better at.
TEST(GridVersions, CrossoversAreThoseOfMostSizes) {
  VersionQuestion question = two_schedules();
  question.price = [](std::size_t schedule, const Bindings& sizes) {
    const std::int64_t columns = sizes.at("N");
    return schedule == 0 ? 100.0 : columns > 36 ? 150.0 : columns > 8 && columns % 8 == 0 ? 130.0 : 50.0;
  };
  for (std::size_t c = 0; c < 2; ++c)
    for (std::size_t s = 0; s < question.samples.size(); ++s)
      question.costs[c][s] = question.price(c, question.samples[s]);
  const auto versions = at_crossovers(choose_versions(question, {.most = 2}), question);
  ASSERT_EQ(versions.size(), 2U);
  EXPECT_EQ(versions[serving(versions, {{"M", 60}, {"N", 35}})].schedule, 1U);
  EXPECT_EQ(versions[serving(versions, {{"M", 60}, {"N", 40}})].schedule, 0U);
}

/// A schedule that is best for one product alone must not be chosen for a long sum of products.
TEST(GridVersions, SamplesHaveEachSizeBesideOnes) {
  const auto samples = sample_sizes(symbolic_kernel(symbolic_product), {});
  for (const char* size : {"M", "N", "K"}) {
    Bindings alone{{"M", 1}, {"N", 1}, {"K", 1}};
    alone[size] = 60;
    EXPECT_NE(std::find(samples.begin(), samples.end(), alone), samples.end()) << size;
  }
}

TEST(GridVersions, SamplesSatisfyTheFacts) {
  const SymbolicKernel kernel = symbolic_kernel(
      "kernel: k\ndims: {S: {min: 2, max: 90, multiple_of: 2, likely: [30, 8]}, T: {max: 400}}\nfacts: [\"S <= T\"]\n"
      "tensors: {A: {shape: [S, T]}, C: {shape: [S, T]}}\ncompute: ['C[i,j] = A[i,j]']\n");
  const auto samples = sample_sizes(kernel, {});
  EXPECT_GE(samples.size(), 6U);
  for (const Bindings& sizes : samples) EXPECT_FALSE(broken_fact(kernel.facts, sizes)) << sizes.at("S");
}

TEST(GridVersions, AVersionTakenAwayLeavesSizes) {
  SymbolicProgram program;
  program.kernel = symbolic_kernel(symbolic_product);
  program.grids.resize(1);
  const AffineExpr n = AffineExpr::dim("N");
  program.versions = {{{{"N <= 8", 8 - n, {}}}, {}}, {{{"N > 8", n - 9, {}}}, {}}};
  EXPECT_EQ(uncovered_sizes(program), std::nullopt);
  SymbolicProgram weaker = program;  // N <= 7
  weaker.versions[0].when[0].nonnegative = 7 - n;
  ASSERT_TRUE(uncovered_sizes(weaker));
  EXPECT_EQ(uncovered_sizes(weaker)->at("N"), 8);
  for (const std::size_t v : {0U, 1U}) {
    SymbolicProgram less = program;
    less.versions.erase(less.versions.begin() + static_cast<std::ptrdiff_t>(v));
    const auto sizes = uncovered_sizes(less);
    ASSERT_TRUE(sizes);
    EXPECT_EQ(sizes->at("N") <= 8, v == 0);
    EXPECT_FALSE(broken_fact(program.kernel.facts, *sizes));
  }
}

// Operands in pairs and quads
// ------------------------------------------------------------------------------------------

std::string narrow_product(const char* a, const char* b, const char* c) {
  return std::string(
             "kernel: narrow\ndims: {M: {max: 20, likely: 12}, N: {max: 40, likely: 32}, K: {max: 70, likely: "
             "32}}\ntensors: {A: {shape: [M, K], dtype: ") +
         a + "}, B: {shape: [K, N], dtype: " + b + "}, C: {shape: [M, N], dtype: " + c +
         "}}\ncompute:\n  - C[i,j] += A[i,k] * B[k,j]\n";
}

/// Sizes 0, 1, odd ones and whole pairs.
void run_narrow(const char* machine, const std::string& text) {
  const HardwareModel model = load_hardware(machine, {ISAMAP_SOURCE_DIR "/hardware_models"})->model;
  const SymbolicKernel kernel = symbolic_kernel(text);
  CompileOptions options;
  options.schedule.objective = Objective::cycles;
  options.schedule.max_evaluations = 100;
  options.most_versions = 1;
  const SymbolicCompilation compiled = compile_symbolic(kernel, model, options);
  ASSERT_TRUE(compiled.program) << render(compiled.problems);
  const Grid& grid = compiled.program->grids[0];
  EXPECT_NE(print(grid.schedule).find("with dp"), std::string::npos) << print(grid.schedule);
  EXPECT_FALSE(grid.has_adding_blocks());
  EXPECT_FALSE(grid.shape.padded.empty());
  if (availability(model).how != ExecutionMode::native) GTEST_SKIP() << availability(model).why;
  const auto runner = make_symbolic_runner(*compiled.program, model);
  const auto check = [&](SymbolicRunner& with, const Bindings& sizes) {
    Program program;
    program.kernel = *isamap::bind(kernel, sizes);
    program.name = program.kernel.name;
    with.set_sizes(sizes);
    const auto checked = run_and_compare(program, with, ExecutionMode::native, 1, 0, {});
    return checked && checked->correct;
  };
  for (const auto& [m, n, k] :
       {std::tuple(0, 5, 3), std::tuple(5, 0, 3), std::tuple(5, 7, 0), std::tuple(1, 1, 1), std::tuple(1, 40, 2),
        std::tuple(13, 33, 7), std::tuple(20, 31, 64), std::tuple(7, 16, 69)})
    EXPECT_TRUE(check(*runner, {{"M", m}, {"N", n}, {"K", k}})) << m << " " << n << " " << k;
  EXPECT_EQ(runner->compilations(), 1);
}

TEST(SymbolicBlocks, HeavyPairsOfBf16) { run_narrow("x86_avx512_bf16", narrow_product("bf16", "bf16", "f32")); }
TEST(SymbolicBlocks, QuadsOfBytes) { run_narrow("x86_avx512_vnni", narrow_product("u8", "s8", "s32")); }

SymbolicKernel transposed_pairs() {
  std::string text = narrow_product("bf16", "bf16", "f32");
  text.replace(text.find("[K, N]"), 6, "[N, K]");
  text.replace(text.find("B[k,j]"), 6, "B[j,k]");
  return symbolic_kernel(text);
}

/// By a schedule that makes words of pairs in a copy, columns of rows.
SymbolicCompilation compiled_pairs(const SymbolicKernel& kernel, const HardwareModel& model) {
  CompileOptions options;
  auto schedule = parse_schedule(R"(schedule: narrow
kernel: narrow
target: x86_avx512_bf16
nest:
  - stage B in ram as [j/16, k/2, j%16, k%2]
  - for i by 4
  - for j by 16
  - stage C in vec
  - for k by 2
  - stage B in vec
  - for i by 1 unroll
  - stage A in vec
  - do s0 with dpbf16(j=j, k=k)
)",
                                 "s.yaml", *bind(kernel, {{"M", 20}, {"N", 40}, {"K", 64}}), model);
  EXPECT_TRUE(schedule) << render(schedule.diagnostics());
  options.hand_written = *schedule;
  return compile_symbolic(kernel, model, options);
}

/// Words of two neighbours become columns of a copy whose last move writes zeros behind the sum.
TEST(PartialMoves, TransposeAnyNumberOfPairs) {
  const HardwareModel model = machine_of_file("x86_avx512_bf16");
  const SymbolicKernel kernel = transposed_pairs();
  const SymbolicCompilation compiled = compiled_pairs(kernel, model);
  ASSERT_TRUE(compiled.program) << render(compiled.problems);
  int ended = 0;
  for (const Block& block : compiled.program->grids[0].blocks) ended += static_cast<int>(block.ended.size());
  ASSERT_GT(ended, 0);
  if (availability(model).how != ExecutionMode::native) GTEST_SKIP() << availability(model).why;
  const auto runner = make_symbolic_runner(*compiled.program, model);
  for (std::int64_t k = 0; k <= 70; k += k < 4 ? 1 : 3) {
    const auto checked =
        run_at(*runner, kernel, {{"M", 1 + k % 9}, {"N", 7 + k % 34}, {"K", k}}, ExecutionMode::native);
    ASSERT_TRUE(checked) << render(checked.diagnostics());
    EXPECT_TRUE(checked->correct) << k << ": " << checked->first_difference;
  }
}

/// Copies of one to four rows are made by other moves, where each number of columns had a block of its own.
TEST(SymbolicBlocks, AMaskServesFewColumnsThatOtherMovesWouldCopy) {
  const HardwareModel model = machine_of_file("x86_avx512_bf16");
  const SymbolicKernel kernel = transposed_pairs();
  const SymbolicCompilation compiled = compiled_pairs(kernel, model);
  ASSERT_TRUE(compiled.program) << render(compiled.problems);
  const Grid& grid = compiled.program->grids[0];
  const std::vector<DimRun>& columns = grid.shape.axes[1].runs;
  ASSERT_EQ(columns.size(), 2U);
  EXPECT_EQ(columns[1].low, 1);
  EXPECT_EQ(columns[1].high, 15);
  if (availability(model).how != ExecutionMode::native) GTEST_SKIP() << availability(model).why;
  const auto runner = make_symbolic_runner(*compiled.program, model);
  for (std::int64_t n = 1; n <= 31; ++n) {
    const auto checked = run_at(*runner, kernel, {{"M", 1 + n % 9}, {"N", n}, {"K", 1 + 2 * n}}, ExecutionMode::native);
    ASSERT_TRUE(checked) << render(checked.diagnostics());
    EXPECT_TRUE(checked->correct) << n << ": " << checked->first_difference;
  }
}

/// The words of a copy that rows become end with the sum: no copy with zeros is made of the rows first.
TEST(PartialMoves, WordsOfRowsEndWithTheSum) {
  const HardwareModel model = machine_of_file("x86_avx512_vnni");
  const SymbolicKernel kernel = symbolic_kernel(narrow_product("u8", "s8", "s32"));
  const std::string lines[] = {"stage B in ram as [j/32, k/4, j%32, k%4]", "for j by 32"};
  for (const bool shared : {true, false}) {
    auto schedule = parse_schedule(fmt::format(R"(schedule: narrow
kernel: narrow
target: x86_avx512_vnni
nest:
  - {}
  - {}
  - for i by 4
  - stage C in vec
  - for k by 4
  - stage B in vec
  - for i by 1 unroll
  - stage A in vec
  - for j by 16 unroll
  - do s0 with dpbusd(j=j, k=k)
)",
                                               lines[shared ? 0 : 1], lines[shared ? 1 : 0]),
                                   "s.yaml", *bind(kernel, {{"M", 20}, {"N", 40}, {"K", 64}}), model);
    ASSERT_TRUE(schedule) << render(schedule.diagnostics());
    CompileOptions options;
    options.hand_written = *schedule;
    const SymbolicCompilation compiled = compile_symbolic(kernel, model, options);
    ASSERT_TRUE(compiled.program) << render(compiled.problems);
    const GridShape& shape = compiled.program->grids[0].shape;
    EXPECT_TRUE(shape.padded.contains(make_id<TensorId>(0)));
    EXPECT_FALSE(shape.padded.contains(make_id<TensorId>(1)));
    SymbolicProgram less = *compiled.program;
    ASSERT_GT(leave_last_out(less), 0);
    if (availability(model).how != ExecutionMode::native) GTEST_SKIP() << availability(model).why;
    const auto runner = make_symbolic_runner(*compiled.program, model);
    for (std::int64_t k = 0; k <= 70; k += k < 6 ? 1 : 3) {
      const auto checked =
          run_at(*runner, kernel, {{"M", 1 + k % 9}, {"N", 7 + k % 34}, {"K", k}}, ExecutionMode::native);
      ASSERT_TRUE(checked) << render(checked.diagnostics());
      EXPECT_TRUE(checked->correct) << k << ": " << checked->first_difference;
    }
    const auto mutant =
        run_at(*make_symbolic_runner(less, model), kernel, {{"M", 9}, {"N", 33}, {"K", 63}}, ExecutionMode::native);
    ASSERT_TRUE(mutant) << render(mutant.diagnostics());
    EXPECT_FALSE(mutant->correct);
  }
}

TEST(SymbolicBlocks, SumsAreRoundedUpOnlyWhereZerosVanish) {
  const auto rounded = [](const std::string& tensors, const std::string& statement) {
    const auto shape =
        grid_shape(symbolic_kernel("kernel: k\ndims: {M: {max: 64, likely: 8}, K: {max: 64, likely: 8}}\n"
                                   "tensors: " +
                                   tensors + "\ncompute: ['" + statement + "']\n"),
                   0);
    EXPECT_TRUE(shape);
    for (std::size_t a = 0; shape && a < shape->axes.size(); ++a)
      if (shape->axes[a].reduced) return rounded_up(*shape, a, 4).has_value();
    return false;
  };
  EXPECT_TRUE(rounded("{A: {shape: [M, K]}, B: {shape: [K]}, C: {shape: [M]}}", "C[i] += A[i,k] * B[k]"));
  EXPECT_FALSE(rounded("{A: {shape: [M, K]}, B: {shape: [M]}, C: {shape: [M]}}", "C[i] += A[i,k] * B[i]"));
  EXPECT_FALSE(rounded("{A: {shape: [M, K]}, C: {shape: [M]}}", "C[i] max= A[i,k]"));
  EXPECT_FALSE(rounded("{A: {shape: [M, K]}, C: {shape: [M]}}", "C[i] += exp(A[i,k])"));
  EXPECT_FALSE(rounded("{A: {shape: [M, K]}, B: {shape: [K]}, C: {shape: [M]}}", "C[i] += A[i,k] * (B[k] + 1)"));
}

/// A stride of no elements is a number, whatever the sizes: blocks have an extent for it.
TEST(SymbolicBlocks, StridesOfAxesWithoutPositionsAreNumbers) {
  const SymbolicKernel kernel = symbolic_kernel(R"(kernel: nothing
dims: {M: {max: 20, likely: 5}, N: {max: 20, likely: 5}}
tensors: {A: {shape: [M, N, 0, 3]}, C: {shape: [M, N, 0, 3]}}
compute:
  - C[i,j,k,l] = 2*A[i,j,k,l]
)");
  const auto shape = grid_shape(kernel, 0);
  ASSERT_TRUE(shape) << render(shape.diagnostics());
  for (const SizeProduct& stride : shape->strides[0]) EXPECT_TRUE(stride.is_number());
  EXPECT_EQ(block_kernel(*shape, {3, 4}, false).statements[0].domain.dims[1].extent, 4);
}

TEST(SymbolicBlocks, RefusalsNameTheSizeToBind) {
  const auto why = [](const std::string& tensors, const std::string& statement) {
    const auto shape = grid_shape(symbolic_kernel("kernel: k\ndims: {M: {max: 64, likely: 8}}\ntensors: " + tensors +
                                                  "\ncompute: ['" + statement + "']\n"),
                                  0);
    return shape ? "" : shape.diagnostics().front().message + "; " + shape.diagnostics().front().hint;
  };
  EXPECT_EQ(why("{A: {shape: [M]}, C: {shape: [M]}}", "C[i] = A[i] * f32(value(i))"),
            "no program for all sizes: statement s0 uses value(i); bind sizes: --sizes M=8");
  EXPECT_EQ(why("{A: {shape: [M, M]}, C: {shape: [M]}}", "C[i] = A[i,i]"), "");
}

}  // namespace
}  // namespace isamap
