// Loops over the blocks of a tile, in the order of the buffer's axes: the last axis runs fastest.

#include "scheduler/transfer.h"
#include "support/arithmetic.h"

namespace isamap {

void Lowering::assume(const std::string& text) {
  auto& list = program.assumptions;
  if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
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

// One loop of the nest: the blocks of a coordinate, or the elements inside a block.
struct BlockLoop {
  std::size_t coordinate = 0;
  bool inside = false;
};

bool is_inner_digit(const AffineExpr& axis) {
  for (const AffineTerm& term : axis.terms())
    if (std::holds_alternative<std::string>(term.atom)) return axis.terms().size() > 1;
  return false;
}

// Coordinates in the order of the axes that show them. Coordinates without an axis of their own come first.
std::vector<BlockLoop> loop_order(const TileBuffer& tile, const std::vector<std::int64_t>& blocks,
                                  const std::vector<bool>& covered) {
  std::vector<BlockLoop> order;
  std::vector<bool> outer_seen(tile.coordinates.size()), inner_seen(tile.coordinates.size());
  for (const AffineExpr& axis : tile.axes)
    for (const std::string& name : axis.names()) {
      const std::size_t i = std::stoul(name.substr(1));
      if (is_inner_digit(axis) && blocks[i] > 1) {
        if (!inner_seen[i] && !covered[i]) order.push_back({i, true});
        inner_seen[i] = true;
      } else {
        if (!outer_seen[i]) order.push_back({i, false});
        outer_seen[i] = true;
      }
    }
  for (std::size_t i = 0; i < tile.coordinates.size(); ++i) {
    if (!outer_seen[i]) order.insert(order.begin(), {i, false});
    if (!inner_seen[i] && !covered[i] && blocks[i] > 1) order.push_back({i, true});
  }
  return order;
}

struct Visit {
  Lowering& lowering;
  const TileBuffer& tile;
  const std::vector<std::int64_t>& blocks;
  const std::vector<bool>& covered;
  bool unroll;
  const BlockBody& body;
  std::vector<BlockLoop> order;
  std::vector<bool> tail;  // which coordinates are at their short last block

  Result<std::vector<Node>> loops(std::size_t depth, std::vector<AffineExpr>& begin) {
    if (depth == order.size()) return body(begin, valid_counts());
    const auto [i, inside] = order[depth];
    const Coordinate& c = tile.coordinates[i];
    std::int64_t trip = inside ? valid(i) : (tail[i] ? 1 : c.extent / blocks[i]);
    const std::int64_t step = inside ? 1 : blocks[i];
    const AffineExpr before = begin[i];
    if (!inside && tail[i]) begin[i] += c.extent / blocks[i] * blocks[i];
    // Several pieces of a block of the layout: the blocks are a loop of their own, so that places are sums of steps.
    const std::int64_t pieces = inside || tail[i] ? 1 : c.block / blocks[i];
    std::string around;
    if (pieces > 1 && trip > pieces && trip % pieces == 0) {
      around = lowering.variable(hint(i), trip / pieces);
      begin[i] += AffineExpr::dim(around) * c.block;
      trip = pieces;
    }
    std::string variable;
    if (trip > 1) {
      variable = lowering.variable(hint(i), trip);
      begin[i] += AffineExpr::dim(variable) * step;
    }
    auto nodes = loops(depth + 1, begin);
    begin[i] = before;
    if (!nodes || trip == 1) return nodes;
    *nodes = loop_around(variable, trip, unroll, std::move(*nodes));
    return around.empty() ? std::move(*nodes)
                          : loop_around(around, lowering.ranges.at(around).high + 1, unroll, std::move(*nodes));
  }

  std::int64_t valid(std::size_t i) const {
    return tail[i] ? tile.coordinates[i].extent % blocks[i] : std::min(blocks[i], tile.coordinates[i].extent);
  }
  std::vector<std::int64_t> valid_counts() const {
    std::vector<std::int64_t> counts;
    for (std::size_t i = 0; i < blocks.size(); ++i) counts.push_back(valid(i));
    return counts;
  }
  std::string hint(std::size_t i) const {
    std::string text;
    for (const std::string& name : tile.coordinates[i].form.names()) text += name;
    return text;
  }
};

}  // namespace

Result<std::vector<Node>> for_each_block(Lowering& lowering, const TileBuffer& tile,
                                         const std::vector<std::int64_t>& blocks, const std::vector<bool>& covered,
                                         bool unroll, const BlockBody& body) {
  Visit visit{lowering, tile, blocks, covered, unroll, body, loop_order(tile, blocks, covered), {}};
  const std::size_t n = tile.coordinates.size();
  std::vector<std::size_t> ragged;  // coordinates with both whole blocks and a short one, or only a short one
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
    visit.tail = tail;
    for (std::size_t r = 0; r < ragged.size(); ++r) visit.tail[ragged[r]] = (choice >> r & 1) != 0;
    std::vector<AffineExpr> begin;
    for (const Coordinate& c : tile.coordinates) begin.push_back(c.start);
    auto part = visit.loops(0, begin);
    if (!part) return part;
    nodes.insert(nodes.end(), part->begin(), part->end());
  }
  return nodes;
}

}  // namespace isamap
