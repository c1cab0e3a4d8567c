// SPDX-License-Identifier: Apache-2.0
// The oracle: a block of a grid with numbers for its counts is, node by node, the program that lowering makes for these
// numbers by the same schedule. Each kernel is searched once, with few evaluations; blocks are lowered at other counts
// than those they were found at, so that whatever depends on a count and is no trip or mask shows.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "isamap/compile.h"
#include "isamap/program_on_machine.h"
#include "isamap/scheduler.h"
#include "program/masked_ends.h"
#include "program/partial_moves.h"
#include "program/short_tiles.h"
#include "tests/symbolic/kernels.h"

namespace isamap {
namespace {

using Counts = std::vector<std::int64_t>;

/// `bind` of a block: trips of loops over tiles and extents under masks become numbers. Lanes up to the end of a sum,
/// whose numbers in a block are any that it has not, are negative.
void bind_nodes(std::vector<Node>& nodes, const Block& block, const Counts& counts) {
  std::erase_if(nodes, [](const Node& node) { return std::holds_alternative<Comment>(node.is); });
  for (Node& node : nodes)
    if (auto* loop = std::get_if<Loop>(&node.is)) {
      if (const auto found = block.loops.find(loop->variable); found != block.loops.end())
        loop->trip = counts[static_cast<std::size_t>(found->second.axis)] / found->second.step;
      bind_nodes(loop->body, block, counts);
    } else if (auto* guard = std::get_if<Guard>(&node.is)) {
      bind_nodes(guard->then, block, counts);
      bind_nodes(guard->otherwise, block, counts);
    } else if (auto* call = std::get_if<Call>(&node.is)) {
      for (std::int64_t& extent : call->extents)
        if (const auto found = block.masked.find(extent); found != block.masked.end())
          extent = counts[static_cast<std::size_t>(found->second.first)] - found->second.second;
        else if (const auto ended = block.ended.find(extent); ended != block.ended.end())
          extent = -ended->second.lanes;
    }
}

/// Positions of a cell along an axis with about so many steps of its tile; under a mask, some of its lanes: where one
/// lane is served, too, half of them or more, as lowering may find few lanes along another axis and copy few rows by
/// other moves; and not all, which it writes without a mask.
std::int64_t count_of(const GridAxis& axis, std::size_t run, std::int64_t steps) {
  const DimRun& one = axis.runs[run];
  const std::int64_t low = one.low == 1 ? std::min(one.high, one.high / 2 + 1) : one.low;
  if (one.tile == 0) return one.low == one.high ? one.low : low + (one.high - low) * (steps % 3) / 3;
  const std::int64_t larger = run > 0 ? axis.runs[run - 1].tile : 0;
  return larger > one.tile ? std::min(steps, (larger - 1) / one.tile) * one.tile : steps * one.tile;
}

Counts counts_of(const Grid& grid, std::size_t number, std::int64_t steps) {
  Counts counts(grid.shape.axes.size());
  std::size_t cell = number % block_count(grid);
  for (std::size_t a = counts.size(); a-- > 0;) {
    const GridAxis& axis = grid.shape.axes[a];
    counts[a] = count_of(axis, cell % axis.runs.size(), steps + static_cast<std::int64_t>(a));
    cell /= axis.runs.size();
  }
  return counts;
}

/// Lanes, and from where, in any order.
std::multiset<std::string> lanes_to_end(const Block& block) {
  std::multiset<std::string> found;
  for (const auto& [extent, ended] : block.ended)
    found.insert(print(ended.first) + " of axis " + std::to_string(ended.axis) + ", " + std::to_string(ended.lanes));
  return found;
}

/// Loops over moves of several positions walk an axis whose other loops have smaller steps.
bool has_smaller_steps(const Block& block, const TileLoop& loop) {
  return std::any_of(block.loops.begin(), block.loops.end(), [&](const auto& other) {
    return other.second.axis == loop.axis && other.second.step < loop.step;
  });
}

/// Has it a loop that takes one step of these positions? Lowering for the number has none then.
bool takes_one_step(const Block& block, const Counts& counts) {
  return std::any_of(block.loops.begin(), block.loops.end(), [&](const auto& loop) {
    return counts[static_cast<std::size_t>(loop.second.axis)] == loop.second.step;
  });
}

/// Blocks that were compared with the lowering of their numbers.
int compare_blocks(const Grid& grid, const HardwareModel& model, std::int64_t steps) {
  int compared = 0;
  for (std::size_t b = 0; b < grid.blocks.size(); ++b) {
    const Block& block = grid.blocks[b];
    if (block.program.buffers.empty()) continue;
    Counts counts = counts_of(grid, b, steps);
    for (const auto& [variable, loop] : block.loops)  // compared at whole tiles, which have masks, too
      if (block.short_axes.contains(loop.axis)) {
        std::int64_t& count = counts[static_cast<std::size_t>(loop.axis)];
        count = std::max(count, steps * loop.step) / loop.step * loop.step;
      }
    if (takes_one_step(block, counts)) continue;
    const bool adds = b >= block_count(grid);
    const auto lowered = lower(block.schedule, block_kernel(grid.shape, counts, adds), model);
    EXPECT_TRUE(lowered) << render(lowered.diagnostics());
    if (!lowered) continue;
    Block number;
    number.program = *lowered;
    EXPECT_TRUE(mask_ends(number, grid.shape, model));
    number.loops = block.loops;
    for (const auto& [variable, loop] : block.loops) {
      if (!block.short_axes.contains(loop.axis)) continue;
      if (has_smaller_steps(block, loop)) {
        EXPECT_TRUE(end_moves(number, grid.shape, {variable}, model)) << variable;
        continue;
      }
      auto shorter = with_short_tiles(number, grid.shape, static_cast<std::size_t>(loop.axis), loop.step, model);
      EXPECT_TRUE(shorter || loop.step == 1) << variable;
      if (shorter) number = std::move(*shorter);
    }
    Program bound = block.program, own = number.program;
    bind_nodes(bound.body, block, counts);
    number.loops.clear();
    bind_nodes(own.body, number, counts);
    EXPECT_EQ(lanes_to_end(number), lanes_to_end(block));
    for (Program* program : {&bound, &own}) bind_nodes(program->prepack, {}, counts);
    EXPECT_TRUE(bound.prepack == own.prepack) << grid.shape.kernel.name << " block " << b;
    EXPECT_TRUE(bound.body == own.body) << grid.shape.kernel.name << " block " << b << " at "
                                        << testing::PrintToString(counts) << "\n"
                                        << print(bound, model) << "\nand\n"
                                        << print(own, model);
    ++compared;
  }
  for (const Grid& edge : grid.edges) compared += compare_blocks(edge, model, steps);
  return compared;
}

SymbolicCompilation compiled_with_few_evaluations(const SymbolicKernel& kernel,
                                                  const HardwareModel& model = vector_machine()) {
  CompileOptions options;
  options.schedule.objective = Objective::cycles;
  options.schedule.max_evaluations = 30;
  options.most_versions = 1;
  return compile_symbolic(kernel, model, options);
}

int compare_blocks(const std::string& text) {
  const SymbolicCompilation compiled = compiled_with_few_evaluations(symbolic_kernel(text));
  EXPECT_TRUE(compiled.program) << render(compiled.problems);
  int compared = 0;
  for (const Grid& grid : compiled.program ? compiled.program->grids : std::vector<Grid>{})
    for (const std::int64_t steps : {2, 5}) compared += compare_blocks(grid, vector_machine(), steps);
  return compared;
}

const std::string pairs = R"(kernel: pairs
dims: {M: {max: 300, likely: 60}, N: {max: 300, likely: 60}, K: {max: 300, likely: 60}}
tensors: {A: {shape: [M, K], dtype: s16}, B: {shape: [K, N], dtype: s16}, C: {shape: [M, N], dtype: s32}}
compute:
  - C[i,j] += A[i,k] * B[k,j]
)";

/// Weights that are packed ahead of time.
const std::string constant_weights = R"(kernel: weights
dims: {H: {max: 60, likely: 24}, W: {max: 60, likely: 24}}
tensors: {I: {shape: [8, H, W], outside: 0}, F: {shape: [40, 8, 3, 3], constant: true}, O: {shape: [40, H, W]}}
compute:
  - O[k,p,q] += I[c,p+r-1,q+s-1] * F[k,c,r,s]
)";

TEST(SymbolicOracle, BoundBlocksAreTheProgramsOfTheirNumbers) {
  for (const std::string& text : {symbolic_product, symbolic_image, symbolic_depthwise, symbolic_edges,
                                  symbolic_softmax, symbolic_scores, pairs, constant_weights})
    EXPECT_GE(compare_blocks(text), 8) << text;
}

/// Remainders of rows have one block for all columns where masks have registers of their own.
TEST(SymbolicOracle, BlocksOfShortTilesAreThoseOfWholeTilesWithMasks) {
  const HardwareModel model = machine_of_file("x86_avx512");
  const SymbolicCompilation compiled = compiled_with_few_evaluations(symbolic_kernel(symbolic_product), model);
  ASSERT_TRUE(compiled.program) << render(compiled.problems);
  const Grid& grid = compiled.program->grids[0];
  int shorter = 0, repeated = 0;
  for (const Block& block : grid.blocks)
    shorter += block.short_axes.empty() ? 0 : 1, repeated += block.repeated ? 1 : 0;
  EXPECT_GE(shorter, 4);
  EXPECT_GE(repeated, shorter / 2);
  EXPECT_EQ(body_count(grid), grid.blocks.size() - static_cast<std::size_t>(repeated));
  for (const std::int64_t steps : {2, 5}) EXPECT_GE(compare_blocks(grid, model, steps), 8);
}

/// Each size of each example alone, every 24th of these. Some are no kernel at some sizes, or have rows.
class SymbolicOracleHeavy : public testing::TestWithParam<std::size_t> {
 public:
  static constexpr std::size_t shards = 24;
};

TEST_P(SymbolicOracleHeavy, BlocksOfExamplesAreTheProgramsOfTheirNumbers) {
  const std::vector<SymbolicExample> examples = symbolic_examples();
  int grids = 0, compared = 0;
  for (std::size_t e = GetParam(); e < examples.size(); e += shards) {
    const auto kernel = parse_symbolic_kernel(examples[e].text, examples[e].name + ".yaml", {});
    if (!kernel || rows_of(*kernel)) continue;  // a program for any number of rows has no grid
    const SymbolicCompilation compiled = compiled_with_few_evaluations(*kernel);
    if (!compiled.program) continue;
    SCOPED_TRACE(examples[e].name);
    for (const Grid& grid : compiled.program->grids) {
      ++grids;
      for (const std::int64_t steps : {2, 5}) compared += compare_blocks(grid, vector_machine(), steps);
    }
  }
  EXPECT_GE(grids, 2);
  EXPECT_GE(compared, 2 * grids);
}
INSTANTIATE_TEST_SUITE_P(Shards, SymbolicOracleHeavy, testing::Range(std::size_t{0}, SymbolicOracleHeavy::shards));

TEST(SymbolicOracle, MutantsAreCaught) {
  CompileOptions options;
  options.schedule.max_evaluations = 30;
  options.most_versions = 1;
  const SymbolicCompilation compiled = compile_symbolic(symbolic_kernel(symbolic_product), vector_machine(), options);
  ASSERT_TRUE(compiled.program) << render(compiled.problems);
  const Grid& grid = compiled.program->grids[0];
  const Block& block = grid.blocks[0];
  const Counts counts = counts_of(grid, 0, 5);
  const auto lowered = lower(block.schedule, block_kernel(grid.shape, counts, false), vector_machine());
  ASSERT_TRUE(lowered);
  Program own = *lowered;
  bind_nodes(own.body, {}, counts);
  ASSERT_FALSE(block.loops.empty());
  for (const auto& [variable, loop] : block.loops) {
    Block mutant = block;
    mutant.loops.at(variable).step *= 2;
    bind_nodes(mutant.program.body, mutant, counts);
    EXPECT_FALSE(mutant.program.body == own.body) << variable;
  }
}

}  // namespace
}  // namespace isamap
