// SPDX-License-Identifier: Apache-2.0
// Loops over divided variables become loops over quotients and remainders: the same accesses in the same order.

#include "scheduler/lowering/divided_loops.h"

#include <random>

#include "tests/lowering/support.h"

namespace isamap {
namespace {

AffineExpr dim(const char* name) { return AffineExpr::dim(name); }

/// Two buffers of one axis, and the loops around a copy.
struct CopyLoops {
  explicit CopyLoops(const HardwareModel& model) : lowering(model) {
    for (int b = 0; b < 2; ++b) {
      Buffer buffer;
      buffer.extents = {1 << 20};
      buffer.strides = {1};
      lowering.program.buffers.push_back(buffer);
    }
  }

  Node around(const std::vector<std::pair<std::string, std::int64_t>>& loops, const AffineExpr& to,
              const AffineExpr& from, std::vector<AffineExpr> conditions = {}) {
    for (const auto& [variable, trip] : loops) lowering.ranges[variable] = {0, trip - 1};
    Element copy;
    copy.write = {make_id<BufferId>(0), {simplify(to, lowering.ranges)}};
    copy.reads = {{make_id<BufferId>(1), {simplify(from, lowering.ranges)}}};
    copy.body = read(0, DType::f32);
    std::vector<Node> nodes{Node{copy}};
    if (!conditions.empty()) {
      Element zero = copy;
      zero.reads.clear();
      zero.body = constant(0, DType::f32);
      for (AffineExpr& e : conditions) e = simplify(e, lowering.ranges);
      nodes = {Node{Guard{conditions, {Node{copy}}, {Node{zero}}, ""}}};
    }
    for (std::size_t l = loops.size(); l-- > 0;)
      nodes = loop_around(loops[l].first, loops[l].second, false, std::move(nodes));
    return nodes.front();
  }

  Lowering lowering;
};

/// Subscripts of all iterations, in order.
void accesses(const std::vector<Node>& nodes, Bindings& at, std::vector<std::int64_t>& found) {
  for (const Node& node : nodes)
    if (const auto* loop = std::get_if<Loop>(&node.is)) {
      for (std::int64_t i = 0; i < loop->trip; ++i) at[loop->variable] = i, accesses(loop->body, at, found);
    } else if (const auto* guard = std::get_if<Guard>(&node.is)) {
      const bool holds = std::all_of(guard->conditions.begin(), guard->conditions.end(),
                                     [&](const AffineExpr& e) { return evaluate(e, at) >= 0; });
      accesses(holds ? guard->then : guard->otherwise, at, found);
    } else {
      const auto& element = std::get<Element>(node.is);
      found.push_back(evaluate(element.write.index[0], at));
      for (const Ref& read : element.reads) found.push_back(evaluate(read.index[0], at));
    }
}
std::vector<std::int64_t> accesses(const std::vector<Node>& nodes) {
  std::vector<std::int64_t> found;
  Bindings at;
  accesses(nodes, at, found);
  return found;
}

bool divides(const std::vector<Node>& nodes) {
  return std::any_of(nodes.begin(), nodes.end(), [](const Node& node) {
    if (const auto* loop = std::get_if<Loop>(&node.is)) return divides(loop->body);
    if (const auto* guard = std::get_if<Guard>(&node.is))
      return divides(guard->then) || divides(guard->otherwise) ||
             !std::all_of(guard->conditions.begin(), guard->conditions.end(),
                          [](const AffineExpr& e) { return e.is_linear(); });
    const auto& element = std::get<Element>(node.is);
    return !element.write.index[0].is_linear() ||
           std::any_of(element.reads.begin(), element.reads.end(),
                       [](const Ref& read) { return !read.index[0].is_linear(); });
  });
}

void expect_no_divisions(CopyLoops& copy, const Node& node) {
  const std::vector<Node> made = without_divisions(copy.lowering, {node});
  EXPECT_FALSE(divides(made));
  EXPECT_EQ(accesses(made), accesses({node}));
}

/// Twice as wide and high, in a tile whose rows of 48 begin anywhere in the image's rows of 40.
TEST(DividedLoops, FuseTheDigitsOfATileAndSplitAtItsRows) {
  const HardwareModel model = machine("scalar_c");
  for (const std::int64_t trip : {33, 20, 5, 2}) {
    CopyLoops copy(model);
    const AffineExpr t = 48 * dim("k") + dim("l"), row = floordiv(t, 40), column = mod(t, 40);
    expect_no_divisions(copy, copy.around({{"k", trip}, {"l", 48}}, t, 20 * floordiv(row, 2) + floordiv(column, 2)));
  }
}

TEST(DividedLoops, PeelStepsInFrontAndBehind) {
  const HardwareModel model = machine("scalar_c");
  for (const std::int64_t phase : {0, 1, 3, 6})
    for (const std::int64_t trip : {2, 7, 8, 9, 20, 50}) {
      CopyLoops copy(model);
      const AffineExpr t = dim("t"), from = 5 * floordiv(t + phase, 7) + mod(t + phase, 7);
      if (phase + trip <= 7) continue;
      expect_no_divisions(copy, copy.around({{"t", trip}}, t, from));
    }
}

/// (80*a + b)/17 is 4*a + (12*a + b)/17, a quotient of the fused variable all the same.
TEST(DividedLoops, FuseWhereCoefficientsAgreeModuloTheDivisor) {
  const HardwareModel model = machine("scalar_c");
  CopyLoops copy(model);
  const AffineExpr t = 80 * dim("a") + dim("b");
  expect_no_divisions(copy, copy.around({{"a", 7}, {"b", 80}}, t, 221 * floordiv(t, 17) + mod(t, 17)));
}

/// No fusion makes these quotients of the fused variable: none is tried.
TEST(DividedLoops, FuseNothingWhereADivisionWouldBeLeft) {
  const HardwareModel model = machine("scalar_c");
  const AffineExpr a = dim("a"), b = dim("b"), t = 80 * a + 20 * dim("c") + b;
  for (const AffineExpr& divided : {3 * a + b, 80 * a + b, 2 * t}) {
    CopyLoops copy(model);
    const Node node = copy.around({{"a", 7}, {"c", 4}, {"b", 20}}, t, floordiv(divided, 17));
    const std::size_t variables = copy.lowering.ranges.size();
    EXPECT_EQ(without_divisions(copy.lowering, {node}), std::vector<Node>{node});
    EXPECT_EQ(copy.lowering.ranges.size(), variables);
  }
}

/// A border of fused dims: its conditions divide, too.
TEST(DividedLoops, SplitTheConditionsOfBorders) {
  const HardwareModel model = machine("scalar_c");
  CopyLoops copy(model);
  const AffineExpr t = dim("t"), row = floordiv(t, 12) - 1, column = mod(t, 12) - 1;
  const std::vector<AffineExpr> inside{row, 9 - row, column, 9 - column};
  expect_no_divisions(copy, copy.around({{"t", 144}}, t, 10 * row + column, inside));
}

TEST(DividedLoops, StayWhereADivisionWouldBeLeft) {
  const HardwareModel model = machine("scalar_c");
  CopyLoops copy(model);
  const AffineExpr t = dim("t");
  for (const AffineExpr& from : {floordiv(t, 7) + floordiv(t, 5), floordiv(2 * t + 1, 3)}) {
    const Node node = copy.around({{"t", 100}}, t, from);
    EXPECT_EQ(without_divisions(copy.lowering, {node}), std::vector<Node>{node});
  }
}

TEST(DividedLoops, KeepTheAccessesOfRandomNests) {
  const HardwareModel model = machine("scalar_c");
  std::mt19937 random(36);
  const auto any = [&](std::int64_t most) { return std::uniform_int_distribution<std::int64_t>(1, most)(random); };
  int changed = 0;
  for (int round = 0; round < 300; ++round) {
    CopyLoops copy(model);
    const std::int64_t inner = any(30), small = any(4) + 1, large = small * any(9);
    const AffineExpr t = inner * dim("a") + dim("b") + any(9), q = dim("b") * (round % 3 == 0 ? 2 : 1) + any(5);
    const AffineExpr from = any(50) * floordiv(t, large) + mod(t, small) + any(3) * floordiv(q, small);
    const Node node = copy.around({{"a", any(12) + 1}, {"b", inner + 1}}, t, from);
    const std::vector<Node> made = without_divisions(copy.lowering, {node});
    EXPECT_EQ(accesses(made), accesses({node})) << "round " << round;
    changed += made != std::vector<Node>{node} ? 1 : 0;
  }
  EXPECT_GT(changed, 20);
}

}  // namespace
}  // namespace isamap
