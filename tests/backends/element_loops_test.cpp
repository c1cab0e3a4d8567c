// SPDX-License-Identifier: Apache-2.0
// Loops of element statements as they are printed: in lanes, in tiles, between borders. What they compute is the same.

#include "backends/cpp/emit_functions.h"
#include "backends/cpp/function/tile_copies.h"
#include "isamap/scheduler.h"
#include "tests/backends/support.h"

namespace isamap {
namespace {

Program scalar_program(const std::string& text, const HardwareModel& model) {
  const auto kernel = parse_kernel(text);
  EXPECT_TRUE(kernel) << render(kernel.diagnostics());
  if (!kernel) return {};
  auto scheduled = schedule(*kernel, MapResult{}, model, ScheduleOptions{});
  EXPECT_TRUE(scheduled) << render(scheduled.diagnostics());
  auto program = lower(scheduled->schedule, *kernel, model);
  EXPECT_TRUE(program) << render(program.diagnostics());
  return program ? *program : Program{};
}

// Rows of 70 and 64 elements, with and without a remainder; a copy of 37x50, with remainders of both; a padded row.
const std::string loops = R"(kernel loops
tensor X: f32[5,70]
tensor W: f32[4,64]
tensor Q: f32[37,50]
tensor V: f32[5] output
tensor P: s32[5]
tensor L: f32[4]
tensor T: f32[2,50,37]
tensor B: f32[5,73]
s0: V[i] max= select(X[i,j] < 2, X[i,j], -inf) over i: 5, j: 70
s1: P[i] min= select(X[i,j] == V[i], value(j), 100) over i: 5, j: 70
s2: L[i] min= W[i,j] * W[i,j] over i: 4, j: 64
s3: T[b,i,j] = Q[j,i] + 1 over b: 2, i: 50, j: 37
s4: B[i,j] = X[i,j - 1] outside 0 over i: 5, j: 73
)";

TEST(ElementLoops, ComputeWhatTheStatementsSay) {
  const HardwareModel model = machine("scalar_c");
  const Program program = scalar_program(loops, model);
  const std::string text = emit(program, model)->front().text;
  std::size_t lanes = 0;
  for (std::size_t at = text.find(" lane["); at != std::string::npos; at = text.find(" lane[", at + 1)) ++lanes;
  EXPECT_GE(lanes, 3U) << text;
  EXPECT_NE(text.find("_in < 16"), std::string::npos) << "a tile";
  expect_same(program, model);
}

std::size_t occurrences(const std::string& text, const std::string& word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

// Rows of more than half a register and less than one; of a half, of a whole and longer ones; of other steps and types.
const std::string short_rows = R"(kernel rows
tensor X: f32[5,40]
tensor D: f64[5,9]
tensor A: f32[5,9]
tensor B: f32[5,15]
tensor C: f64[5,7]
tensor E: f32[5,8]
tensor F: f32[5,16]
tensor G: f32[5,17]
tensor H: f32[5,11]
tensor J: f64[5,7]
tensor K: f32[5,11]
s0: A[i,j] = X[i,j + 1] over i: 5, j: 9
s1: B[i,j] = X[i,j + 2] over i: 5, j: 15
s2: C[i,j] = D[i,j + 2] over i: 5, j: 7
s3: E[i,j] = X[i,j] over i: 5, j: 8
s4: F[i,j] = X[i,j] over i: 5, j: 16
s5: G[i,j] = X[i,j] over i: 5, j: 17
s6: H[i,j] = X[i,2*j] over i: 5, j: 11
s7: J[i,j] = X[i,j] over i: 5, j: 7
s8: K[i,j] = -X[i,j] over i: 5, j: 11
)";

TEST(ElementLoops, CopyShortRowsAsBlocks) {
  const HardwareModel model = machine("x86_avx512");
  const Program program = scalar_program(short_rows, model);
  const std::string text = emit(program, model)->front().text;
  EXPECT_EQ(occurrences(text, "__builtin_memcpy("), 3U) << text;
  for (const char* row : {" 9 * sizeof(float)", " 15 * sizeof(float)", " 7 * sizeof(double)"})
    EXPECT_EQ(occurrences(text, row), 1U) << row << text;
  expect_same(program, model);
}

TEST(ElementLoops, CopyRowsElementByElementWhereRegistersAreShort) {
  const HardwareModel model = machine("x86_avx2");
  const std::string text = emit(scalar_program(short_rows, model), model)->front().text;
  EXPECT_EQ(occurrences(text, "__builtin_memcpy("), 0U) << text;
}

TEST(ElementLoops, CopyRowsElementByElementWhereArgumentsMayOverlap) {
  const HardwareModel model = machine("x86_avx512");
  const Program program = scalar_program(short_rows, model);
  const auto copies = [&](const std::set<BufferId>& overlapping) {
    Surroundings around;
    around.overlapping = overlapping;
    const auto unit = print_functions(program, model, "rows", "static", around);
    EXPECT_TRUE(unit) << render(unit.diagnostics());
    return occurrences(unit ? unit->text : "", "__builtin_memcpy(");
  };
  std::set<BufferId> all;
  for (std::size_t b = 0; b < program.buffers.size(); ++b) all.insert(make_id<BufferId>(b));
  EXPECT_EQ(copies({}), 3U);
  EXPECT_EQ(copies(all), 0U);
}

/// Elements that are read and written, of all iterations.
void run(const std::vector<Node>& nodes, std::map<std::string, std::int64_t>& at, std::set<std::string>& done) {
  for (const Node& node : nodes) {
    if (const auto* loop = std::get_if<Loop>(&node.is)) {
      for (std::int64_t i = 0; i < loop->trip; ++i) at[loop->variable] = i, run(loop->body, at, done);
    } else {
      const auto& element = std::get<Element>(node.is);
      std::string text;
      for (const Ref* ref : {&element.write, &element.reads[0]})
        for (const AffineExpr& e : ref->index) text += std::to_string(evaluate(e, at)) + ",";
      EXPECT_TRUE(done.insert(text).second) << text;
    }
  }
}

TEST(ElementLoops, TilesHaveTheSameIterations) {
  const auto dim = [](const char* name) { return AffineExpr::dim(name); };
  for (const std::int64_t rows : {16, 32, 37})
    for (const std::int64_t columns : {16, 50}) {
      Element copy;
      copy.write = {make_id<BufferId>(0), {dim("b"), dim("i"), dim("j")}};
      copy.reads = {{make_id<BufferId>(1), {dim("j"), dim("i")}}};
      copy.body = read(0, DType::f32);
      const Node inner{Loop{"j", columns, false, "", {Node{copy}}, 0}};
      const std::vector<Node> nodes{Node{Loop{"i", rows, false, "", {Node{Loop{"b", 2, false, "", {inner}, 0}}}, 0}}};
      std::set<std::string> before, after;
      std::map<std::string, std::int64_t> at;
      run(nodes, at, before);
      const auto tiled = tile_copies(nodes);
      EXPECT_NE(tiled, nodes);
      run(tiled, at, after);
      EXPECT_EQ(before, after);
    }
}

}  // namespace
}  // namespace isamap
