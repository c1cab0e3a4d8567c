// SPDX-License-Identifier: Apache-2.0
// Conditions that a loop's steps do not change are asked in front of it; the work is the same.

#include "backends/cpp/function/hoist_guards.h"

#include <gtest/gtest.h>

#include <map>

#include "ir/text/affine_parser.h"

namespace isamap {
namespace {

AffineExpr e(const std::string& text) { return *parse_affine(text); }

Node comment(const std::string& text) { return Node{Comment{text}}; }
Node guard(std::vector<AffineExpr> conditions, std::vector<Node> then, std::vector<Node> otherwise = {}) {
  return Node{Guard{std::move(conditions), std::move(then), std::move(otherwise), {}}};
}
Node loop(const std::string& variable, std::int64_t trip, std::vector<Node> body) {
  return Node{Loop{variable, trip, false, "", std::move(body), 0}};
}

/// What is said, step by step.
void run(const std::vector<Node>& nodes, std::map<std::string, std::int64_t>& at, std::string& said) {
  for (const Node& node : nodes) {
    if (const auto* l = std::get_if<Loop>(&node.is)) {
      for (std::int64_t i = 0; i < l->trip; ++i) {
        at[l->variable] = i;
        run(l->body, at, said);
      }
    } else if (const auto* g = std::get_if<Guard>(&node.is)) {
      bool all = true;
      for (const AffineExpr& condition : g->conditions) all = all && evaluate(condition, at) >= 0;
      run(all ? g->then : g->otherwise, at, said);
    } else {
      said += std::get<Comment>(node.is).text + " ";
    }
  }
}
std::string said(const std::vector<Node>& nodes) {
  std::string all;
  std::map<std::string, std::int64_t> at;
  run(nodes, at, all);
  return all;
}

/// Guards inside innermost loops, and copies of these.
std::pair<int, int> inside(const std::vector<Node>& nodes, bool in_loop = false) {
  int guards = 0, copies = 0;
  for (const Node& node : nodes) {
    std::pair<int, int> more{0, 0};
    if (const auto* l = std::get_if<Loop>(&node.is)) {
      more = inside(l->body, true);
      copies += l->variable == "c" ? 1 : 0;
    } else if (const auto* g = std::get_if<Guard>(&node.is)) {
      const auto other = inside(g->otherwise, in_loop);
      more = inside(g->then, in_loop);
      more.first += other.first + (in_loop ? 1 : 0), more.second += other.second;
    }
    guards += more.first, copies += more.second;
  }
  return {guards, copies};
}

/// At the outer level nothing counts as inside the loop over tiles.
std::pair<int, int> in_tiles(const std::vector<Node>& nodes) { return inside(std::get<Loop>(nodes[0].is).body); }

TEST(HoistGuards, ABorderIsAskedForInFront) {
  const std::vector<Node> nodes{
      loop("q", 3, {loop("c", 2, {guard({e("7*q - 1")}, {comment("left")}), comment("middle")})})};
  const auto hoisted = hoist_guards(nodes);
  EXPECT_EQ(said(hoisted), said(nodes));
  EXPECT_EQ(in_tiles(nodes), std::pair(1, 1));
  EXPECT_EQ(in_tiles(hoisted), std::pair(0, 2));
}

/// The steps at the border of a padded row are loops of their own; a border that an outer loop moves stays.
TEST(HoistGuards, ALoopOverABorderIsSplit) {
  const Node inside_row = guard({e("c - 1"), e("-c + 16")}, {comment("inside")}, {comment("outside")});
  const std::vector<Node> nodes{loop("q", 3, {loop("c", 18, {inside_row})})};
  const auto split = hoist_guards(nodes);
  EXPECT_EQ(said(split), said(nodes));
  EXPECT_EQ(in_tiles(nodes), std::pair(1, 1));
  EXPECT_EQ(in_tiles(split), std::pair(0, 3));
  const std::vector<Node> moved{loop("q", 3, {loop("c", 18, {guard({e("c + q - 1")}, {comment("inside")})})})};
  EXPECT_EQ(said(hoist_guards(moved)), said(moved));
  EXPECT_EQ(in_tiles(hoist_guards(moved)), std::pair(1, 1));
}

/// Of 7*q - 1 and 7*q - 2 the second decides the first where it holds: three copies, not four.
TEST(HoistGuards, OneConditionDecidesOthers) {
  const std::vector<Node> nodes{loop("q", 3,
                                     {loop("c", 2,
                                           {guard({e("7*q - 2")}, {comment("two")}, {comment("no")}),
                                            guard({e("7*q - 1")}, {comment("one")}), comment("on")})})};
  const auto hoisted = hoist_guards(nodes);
  EXPECT_EQ(said(hoisted), said(nodes));
  EXPECT_EQ(in_tiles(hoisted), std::pair(0, 3));
}

/// Conditions that are asked together, and one of them elsewhere by itself.
TEST(HoistGuards, ConjunctionsAreTakenApart) {
  const std::vector<Node> nodes{loop("q", 4,
                                     {loop("c", 2,
                                           {guard({e("q - 1"), e("2 - q")}, {comment("in")}, {comment("out")}),
                                            guard({e("q - 1")}, {comment("more")}), comment("on")})})};
  const auto hoisted = hoist_guards(nodes);
  EXPECT_EQ(said(hoisted), said(nodes));
  EXPECT_EQ(in_tiles(hoisted).first, 0);
}

TEST(HoistGuards, WhatTheStepsChangeAndWhatTakesManyCopiesStays) {
  const std::vector<Node> changed{loop("q", 3, {loop("c", 5, {guard({e("c - 2*q")}, {comment("late")})})})};
  EXPECT_EQ(in_tiles(hoist_guards(changed)), std::pair(1, 1));
  std::vector<Node> body{comment("on")};
  for (const char* condition : {"q - 1", "1 - 2*q", "3*q - 2"})
    body.push_back(guard({e(condition)}, {comment(condition)}));
  const std::vector<Node> many{loop("q", 3, {loop("c", 2, body)})};
  EXPECT_EQ(in_tiles(hoist_guards(many)), std::pair(3, 1));
}

/// A loop that does nothing unless a condition holds leaves no empty copy.
TEST(HoistGuards, NoEmptyLoops) {
  const std::vector<Node> nodes{loop("q", 3, {loop("c", 2, {guard({e("q - 1")}, {comment("late")})})})};
  const auto hoisted = hoist_guards(nodes);
  EXPECT_EQ(said(hoisted), said(nodes));
  EXPECT_EQ(in_tiles(hoisted), std::pair(0, 1));
}

}  // namespace
}  // namespace isamap
