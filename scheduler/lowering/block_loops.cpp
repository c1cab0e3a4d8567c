// SPDX-License-Identifier: Apache-2.0
// Loops over the blocks of a tile, in the order of the buffer's axes, the last one innermost.

#include "scheduler/lowering/tile_copy.h"
#include "support/arithmetic.h"

namespace isamap {

void Lowering::assume(Assumption::Kind kind, const std::string& text) {
  auto& list = program.assumptions;
  const Assumption assumption{kind, text};
  if (std::find(list.begin(), list.end(), assumption) == list.end()) list.push_back(assumption);
}

std::string Lowering::variable(const std::string& hint, std::int64_t trip) {
  std::string name;
  for (char c : hint) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  name += std::to_string(variables++);
  ranges[name] = {0, trip - 1};
  return name;
}

std::vector<Node> loop_around(const std::string& variable, std::int64_t trip, bool unroll, std::vector<Node> body) {
  if (trip <= 0 || body.empty()) return {};
  Loop loop;
  loop.variable = variable;
  loop.trip = trip;
  loop.unroll = unroll;
  loop.body = std::move(body);
  return {Node{std::move(loop)}};
}

namespace {

// One loop of the nest: over the blocks of a coordinate, or over the elements of a block. If a block of the layout is
// several of the instruction's, there are two loops, over blocks of the layout and over the sub-blocks, each at its
// digit.
struct BlockLoop {
  enum class Over { blocks, blocks_of_layout, sub_blocks, elements };
  std::size_t coordinate = 0;
  Over over = Over::blocks;
};

bool in_sub_blocks(const Coordinate& c, std::int64_t block) {
  return c.block > block && c.extent > 0 && c.extent % c.block == 0;
}

bool is_inner_digit(const AffineExpr& axis) {
  for (const AffineTerm& term : axis.terms())
    if (std::holds_alternative<std::string>(term.atom)) return axis.terms().size() > 1;
  return false;
}

// Coordinates in the order of their axes, those without an axis first. The blocks of `last` move next to its elements,
// or sub-blocks, if these are innermost, or inside one instruction that takes part of a line.
std::vector<BlockLoop> loop_order(const TileLayout& tile, const BlockTiling& tiling) {
  const auto& [blocks, covered, unroll, last, parts_of_lines] = tiling;
  using Over = BlockLoop::Over;
  std::vector<BlockLoop> order;
  std::vector<bool> outer_seen(tile.coordinates.size()), inner_seen(tile.coordinates.size());
  const auto has_sub_blocks = [&](std::size_t i) {
    return covered[i] && in_sub_blocks(tile.coordinates[i], blocks[i]);
  };
  const auto has_inner = [&](std::size_t i) { return blocks[i] > 1 || has_sub_blocks(i); };
  const auto outer = [&](std::size_t i) {
    return BlockLoop{i, has_sub_blocks(i) ? Over::blocks_of_layout : Over::blocks};
  };
  const auto add_inner = [&](std::size_t i) {
    if (has_sub_blocks(i))
      order.push_back({i, Over::sub_blocks});
    else if (!covered[i])
      order.push_back({i, Over::elements});
  };
  for (const AffineExpr& axis : tile.axes)
    for (const std::string& name : axis.names()) {
      const std::size_t i = std::stoul(name.substr(1));
      if (is_inner_digit(axis) && has_inner(i)) {
        if (!inner_seen[i]) add_inner(i);
        inner_seen[i] = true;
      } else {
        if (!outer_seen[i]) order.push_back(outer(i));
        outer_seen[i] = true;
      }
    }
  for (std::size_t i = 0; i < tile.coordinates.size(); ++i) {
    if (!outer_seen[i]) order.insert(order.begin(), outer(i));
    if (!inner_seen[i] && has_inner(i)) add_inner(i);
  }
  if (!last || order.empty()) return order;
  const bool inside_instruction = parts_of_lines && covered[*last] && !has_sub_blocks(*last);
  if (!inside_instruction && order.back().coordinate != *last) return order;
  const auto end = order.end() - (inside_instruction ? 0 : 1);
  const auto blocks_of_last =
      std::find_if(order.begin(), end, [&](const BlockLoop& loop) { return loop.coordinate == *last; });
  if (blocks_of_last != end) std::rotate(blocks_of_last, blocks_of_last + 1, end);
  return order;
}

struct BlockLoopNest {
  Lowering& lowering;
  const TileLayout& tile;
  const BlockTiling& tiling;
  const BlockBody& body;
  std::vector<BlockLoop> order;
  std::vector<bool> tail;  // by coordinate: at its tail

  Result<std::vector<Node>> loops(std::size_t depth, std::vector<AffineExpr>& begin) {
    if (depth == order.size()) return body(begin, valid_counts());
    const auto [i, over] = order[depth];
    const AffineExpr before = begin[i];
    if (over == BlockLoop::Over::blocks && tail[i]) begin[i] += tile.coordinates[i].extent / block(i) * block(i);
    const auto [trip, step] = looped(i, over);
    std::string variable;
    if (trip > 1) {
      variable = lowering.variable(hint(i), trip);
      begin[i] += AffineExpr::dim(variable) * step;
    }
    auto nodes = loops(depth + 1, begin);
    begin[i] = before;
    if (!nodes || trip == 1) return nodes;
    return loop_around(variable, trip, tiling.unroll, std::move(*nodes));
  }

  /// Iterations of a loop, and elements between them.
  std::pair<std::int64_t, std::int64_t> looped(std::size_t i, BlockLoop::Over over) const {
    const Coordinate& c = tile.coordinates[i];
    switch (over) {
      case BlockLoop::Over::elements:
        return {valid(i), 1};
      case BlockLoop::Over::blocks_of_layout:
        return {c.extent / c.block, c.block};
      case BlockLoop::Over::sub_blocks:
        return {c.block / block(i), block(i)};
      case BlockLoop::Over::blocks:
        break;
    }
    return {tail[i] ? 1 : c.extent / block(i), block(i)};
  }

  std::int64_t block(std::size_t i) const { return tiling.blocks[i]; }

  std::int64_t valid(std::size_t i) const {
    return tail[i] ? tile.coordinates[i].extent % block(i) : std::min(block(i), tile.coordinates[i].extent);
  }
  std::vector<std::int64_t> valid_counts() const {
    std::vector<std::int64_t> counts;
    for (std::size_t i = 0; i < tiling.blocks.size(); ++i) counts.push_back(valid(i));
    return counts;
  }
  std::string hint(std::size_t i) const {
    std::string text;
    for (const std::string& name : tile.coordinates[i].form.names()) text += name;
    return text;
  }
};

}  // namespace

Result<std::vector<Node>> for_each_block(Lowering& lowering, const TileLayout& tile, const BlockTiling& tiling,
                                         const BlockBody& body) {
  const std::vector<std::int64_t>& blocks = tiling.blocks;
  // Peels a partial block of the layout, with fewer sub-blocks.
  for (std::size_t i = 0; i < tile.coordinates.size(); ++i) {
    const Coordinate& c = tile.coordinates[i];
    if (!tiling.covered[i] || c.block <= blocks[i] || c.extent <= c.block || c.extent % c.block == 0) continue;
    TileLayout whole = tile, tail = tile;
    const std::int64_t left = c.extent % c.block;
    whole.coordinates[i].extent -= left;
    tail.coordinates[i].start += whole.coordinates[i].extent;
    tail.coordinates[i].extent = left;
    auto nodes = for_each_block(lowering, whole, tiling, body);
    if (!nodes) return nodes;
    auto more = for_each_block(lowering, tail, tiling, body);
    if (!more) return more;
    nodes->insert(nodes->end(), more->begin(), more->end());
    return nodes;
  }
  BlockLoopNest nest{lowering, tile, tiling, body, loop_order(tile, tiling), {}};
  const std::size_t n = tile.coordinates.size();
  std::vector<std::size_t> ragged;  // coordinates with whole blocks and a tail
  std::vector<bool> tail(n, false);
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t extent = tile.coordinates[i].extent;
    if (extent == 0) return std::vector<Node>{};
    if (extent % blocks[i] == 0) continue;
    if (extent < blocks[i])
      tail[i] = true;
    else
      ragged.push_back(i);
  }
  std::vector<Node> nodes;
  for (std::size_t choice = 0; choice < (std::size_t{1} << ragged.size()); ++choice) {
    nest.tail = tail;
    for (std::size_t r = 0; r < ragged.size(); ++r) nest.tail[ragged[r]] = (choice >> r & 1) != 0;
    std::vector<AffineExpr> begin;
    for (const Coordinate& c : tile.coordinates) begin.push_back(c.start);
    auto part = nest.loops(0, begin);
    if (!part) return part;
    nodes.insert(nodes.end(), part->begin(), part->end());
  }
  return nodes;
}

}  // namespace isamap
