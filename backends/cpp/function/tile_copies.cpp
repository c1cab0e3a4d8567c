// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/function/tile_copies.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <variant>

namespace isamap {
namespace {

constexpr std::int64_t tile_side = 16;  ///< of a tile: floats of a line of 64 bytes

using Nodes = std::vector<Node>;

/// Does the last subscript, and no other, step by one with the variable?
bool follows(const Ref& ref, const std::string& variable) {
  if (!ref.buffer.valid() || ref.index.empty()) return false;
  for (std::size_t axis = 0; axis + 1 < ref.index.size(); ++axis)
    if (ref.index[axis].names().contains(variable)) return false;
  const AffineExpr& last = ref.index.back();
  return last.coefficient(variable) == 1 && !(last - AffineExpr::dim(variable)).names().contains(variable);
}

bool uses(const Ref& ref, const std::string& variable) {
  return std::any_of(ref.index.begin(), ref.index.end(),
                     [&](const AffineExpr& e) { return e.names().contains(variable); });
}

/// Loops from the outermost one, and the statement in them.
struct CopyNest {
  std::vector<const Loop*> loops;
  const Element* element = nullptr;
};

std::optional<CopyNest> copy_nest_of(const Node& node) {
  CopyNest nest;
  for (const Node* at = &node;;) {
    if (const auto* element = std::get_if<Element>(&at->is)) {
      nest.element = element;
      return nest;
    }
    const auto* loop = std::get_if<Loop>(&at->is);
    if (loop == nullptr || !loop->unit.empty() || loop->unroll || loop->body.size() != 1) return std::nullopt;
    nest.loops.push_back(loop);
    at = &loop->body.front();
  }
}

bool is_computed(const Ref& ref) {
  return std::any_of(ref.index.begin(), ref.index.end(), [](const AffineExpr& e) {
    const auto name = e.as_dim();
    return name && computed_read(*name).has_value();
  });
}

/// The loops along which the statement writes and reads memory, where these are two; each element is written once.
std::optional<std::pair<std::size_t, std::size_t>> across(const CopyNest& nest) {
  const Element& element = *nest.element;
  if (element.reduction != Reduction::assign) return std::nullopt;
  std::optional<std::size_t> to, from;
  for (std::size_t l = 0; l < nest.loops.size(); ++l) {
    const std::string& variable = nest.loops[l]->variable;
    if (!uses(element.write, variable)) return std::nullopt;
    if (nest.loops[l]->trip < tile_side) continue;
    if (follows(element.write, variable)) to = l;
    for (const Ref& read : element.reads)
      if (follows(read, variable) && !follows(element.write, variable)) from = l;
  }
  if (!to || !from) return std::nullopt;
  for (const Ref& read : element.reads)
    if (read.buffer == element.write.buffer || is_computed(read)) return std::nullopt;
  return std::pair(*to, *from);
}

void substitute_all(Nodes& nodes, const std::map<std::string, AffineExpr>& by) {
  for (Node& node : nodes) {
    if (auto* loop = std::get_if<Loop>(&node.is)) substitute_all(loop->body, by);
    if (auto* element = std::get_if<Element>(&node.is)) {
      for (AffineExpr& e : element->write.index) e = substitute(e, by);
      for (Ref& read : element->reads)
        for (AffineExpr& e : read.index) e = substitute(e, by);
    }
  }
}

/// Of all iterations of the loop: those of whole tiles around `whole`, then the rest around `rest`.
Nodes in_tiles(const Loop& loop, const std::string& step, const Nodes& whole, const Nodes& rest) {
  const std::int64_t tiles = loop.trip / tile_side;
  Nodes made;
  Loop outer = loop;
  outer.trip = tiles;
  outer.body = whole;
  substitute_all(outer.body, {{step, tile_side * AffineExpr::dim(loop.variable) + AffineExpr::dim(step)}});
  made.push_back(Node{std::move(outer)});
  if (loop.trip == tiles * tile_side) return made;
  Nodes left = rest;
  substitute_all(left, {{step, AffineExpr(tiles * tile_side) + AffineExpr::dim(step)}});
  std::move(left.begin(), left.end(), std::back_inserter(made));
  return made;
}

Nodes tiled(const CopyNest& nest, std::size_t to, std::size_t from) {
  const Loop &written = *nest.loops[to], &read = *nest.loops[from];
  const std::string row = read.variable + "_in", column = written.variable + "_in";
  Element element = *nest.element;
  Nodes statement{Node{element}};
  substitute_all(statement, {{read.variable, AffineExpr::dim(row)}, {written.variable, AffineExpr::dim(column)}});
  const auto loops = [&](std::int64_t rows, std::int64_t columns) {
    Loop inner{column, columns, false, "", statement, 0};
    return Nodes{Node{Loop{row, rows, false, "", {Node{std::move(inner)}}, 0}}};
  };
  const std::int64_t rows_left = read.trip % tile_side, columns_left = written.trip % tile_side;
  Nodes made =
      in_tiles(read, row, in_tiles(written, column, loops(tile_side, tile_side), loops(tile_side, columns_left)),
               in_tiles(written, column, loops(rows_left, tile_side), loops(rows_left, columns_left)));
  for (std::size_t l = nest.loops.size(); l-- > 0;) {
    if (l == to || l == from) continue;
    Loop outer = *nest.loops[l];
    outer.body = std::move(made);
    made = {Node{std::move(outer)}};
  }
  return made;
}

}  // namespace

std::vector<Node> tile_copies(std::vector<Node> nodes) {
  Nodes made;
  for (Node& node : nodes) {
    if (auto* guard = std::get_if<Guard>(&node.is)) {
      guard->then = tile_copies(std::move(guard->then));
      guard->otherwise = tile_copies(std::move(guard->otherwise));
    } else if (auto* loop = std::get_if<Loop>(&node.is)) {
      const auto nest = copy_nest_of(node);
      if (const auto loops = nest ? across(*nest) : std::nullopt) {
        Nodes tiles = tiled(*nest, loops->first, loops->second);
        std::move(tiles.begin(), tiles.end(), std::back_inserter(made));
        continue;
      }
      loop->body = tile_copies(std::move(loop->body));
    }
    made.push_back(std::move(node));
  }
  return made;
}

}  // namespace isamap
