// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lowering/spread_prefetch.h"

#include <fmt/format.h>

#include <algorithm>

#include "hwdesc/model/prefetch.h"
#include "scheduler/nest/operand_compatibility.h"
#include "scheduler/nest/tile_layout.h"
#include "support/arithmetic.h"

namespace isamap {
namespace {

const For* loop_at(const NestParts& parts, std::size_t line) {
  const auto* loop = std::get_if<For>(&parts.input_.nest->lines[line].is);
  return loop != nullptr && loop->loops.size() == 1 ? loop : nullptr;
}

/// Steps of the loop at a line, below whole tiles.
std::int64_t steps_at(const NestParts& parts, std::size_t line) {
  std::map<std::string, std::int64_t> tiles;
  for (const Dim& dim : parts.statement_.domain.dims) tiles[dim.name] = dim.extent;
  std::int64_t steps = 1;
  for (std::size_t l = 0; l <= line; ++l)
    if (const auto* loop = std::get_if<For>(&parts.input_.nest->lines[l].is))
      for (const TiledLoop& w : loop->loops) {
        steps = ceil_div(tiles[w.dim], w.tile);
        tiles[w.dim] = std::min(tiles[w.dim], w.tile);
      }
  return steps;
}

/// The loops above a stage: the nearest that uses the tensor, and those inside it that pass over its tile again.
struct Passes {
  const TiledLoop* counted = nullptr;
  AffineExpr number;
  std::int64_t count = 1;
};

Passes passes_above(const NestParts& parts, std::size_t at, const Access& access, const Scope& scope) {
  Passes passes;
  std::size_t step = scope.steps.size();
  for (std::size_t l = at; l-- > 0;) {
    if (!std::holds_alternative<For>(parts.input_.nest->lines[l].is)) continue;
    const For* loop = loop_at(parts, l);
    if (loop == nullptr || !loop->unit.empty()) return {};
    const TiledLoop& w = loop->loops.front();
    if (uses(access, w.dim)) {
      passes.counted = &w;
      return passes;
    }
    if (step > 0 && scope.steps[step - 1].dim == w.dim) passes.number += scope.steps[--step].number * passes.count;
    passes.count *= steps_at(parts, l);
  }
  return {};
}

/// A prefetch of lines of this buffer.
std::optional<InstructionId> move_into(const HardwareModel& model, MemoryId cache, const Buffer& buffer) {
  for (std::size_t i = 0; i < model.instructions().size(); ++i) {
    const Instruction& move = model.instructions()[i];
    if (is_prefetch(move, model) && move.operands[operand_of_access(move, 0).index()].memory == cache &&
        move.operands[operand_of_access(move, 1).index()].memory == buffer.memory &&
        type_refusal(move, 1, buffer.dtype).empty() && move.semantics.front().domain.dims.size() == 1)
      return make_id<InstructionId>(i);
  }
  return std::nullopt;
}

/// Elements between two places; nothing: not the same for all iterations.
std::optional<std::int64_t> distance(const Buffer& buffer, const std::vector<AffineExpr>& from,
                                     const std::vector<AffineExpr>& to) {
  const std::vector<std::int64_t> strides = dense_strides(buffer.extents);
  AffineExpr all;
  for (std::size_t axis = 0; axis < strides.size(); ++axis) all += (to[axis] - from[axis]) * strides[axis];
  return all.names().empty() ? std::optional(all.constant()) : std::nullopt;
}

}  // namespace

Result<std::optional<SpreadPrefetch>> spread_prefetch(const NestParts& parts, std::size_t at, int access,
                                                      const Scope& scope) {
  const Stage& s = std::get<Stage>(parts.input_.nest->lines[at].is);
  const HardwareModel& model = parts.lowering_.model;
  const Access& read = access_of(parts.statement_, access);
  const Passes passes = passes_above(parts, at, read, scope);
  if (passes.counted == nullptr)
    return error(fmt::format("ahead {} counts the steps of the nearest loop of {} above, and there is none in time",
                             s.ahead, s.tensor),
                 "write it below a `for` of a dim that " + s.tensor + " has");
  const auto& lines = parts.input_.nest->lines;
  std::size_t inside = at + 1;
  while (inside < lines.size() && !(loop_at(parts, inside) && uses(read, loop_at(parts, inside)->loops.front().dim)))
    ++inside;
  if (inside == lines.size())
    return error(fmt::format("ahead {}: no loop of {} below, whose steps would prefetch", s.ahead, s.tensor));
  if (scope.tiles.at(passes.counted->dim).size < passes.counted->tile) return std::optional<SpreadPrefetch>();

  const TileLayout& from = scope.holders[static_cast<std::size_t>(access)];
  const Buffer& buffer = parts.lowering_.buffer(from.buffer);
  Known known, next;
  std::int64_t elements = 1;
  for (const auto& [dim, tile] : scope.tiles) {
    const std::int64_t further = dim == passes.counted->dim ? s.ahead * passes.counted->tile : 0;
    known.emplace_back(AffineExpr::dim(dim), tile.origin);
    next.emplace_back(AffineExpr::dim(dim), tile.origin + further);
    if (uses(read, dim)) elements *= tile.size;
  }
  const auto here = index_at(from, known, parts.lowering_.ranges), there = index_at(from, next, parts.lowering_.ranges);
  const auto apart = here && there ? distance(buffer, *here, *there) : std::nullopt;
  if (apart != s.ahead * elements)
    return error(
        fmt::format("ahead {}: tiles of {} are not contiguous in {}", s.ahead, s.tensor, buffer.name),
        fmt::format("stage a packed copy above, with the tiles of {} as its outermost digit", passes.counted->dim));
  const auto cache = model.find_memory(s.memory);
  const auto move = cache ? move_into(model, *cache, buffer) : std::nullopt;
  if (!move)
    return error(fmt::format("ahead: no move into {} prefetches lines of {} from {}", s.memory, buffer.name,
                             model.memory(buffer.memory).name),
                 "describe a move whose destination is the cache, or leave `ahead` out");
  SpreadPrefetch made{*move, from.buffer, *there, passes.number, inside};
  const TiledLoop& loop = loop_at(parts, inside)->loops.front();
  made.steps = ceil_div(scope.tiles.at(loop.dim).size, loop.tile);
  made.elements = model.instruction(*move).semantics.front().domain.dims.front().extent;
  made.moves = ceil_div(elements, made.elements * made.steps * passes.count);
  return std::optional(made);
}

Nodes spread_prefetches_at(std::size_t line, const NestParts& parts, const Scope& scope) {
  Nodes nodes;
  for (const SpreadPrefetch& one : scope.spread_prefetches) {
    if (one.line != line) continue;
    const std::string& dim = loop_at(parts, line)->loops.front().dim;
    const bool counted = !scope.steps.empty() && scope.steps.back().dim == dim && one.steps > 1;
    const AffineExpr step = counted ? scope.steps.back().number : AffineExpr(0);
    for (std::int64_t m = 0; m < one.moves; ++m) {
      std::vector<AffineExpr> index = one.next;
      index.back() += (((one.pass * one.steps) + step) * one.moves + AffineExpr(m)) * one.elements;
      nodes.push_back(Node{Call{one.move, {Ref{}, Ref{one.from, index}}, {one.elements}, {}, Start::keep, {}}});
    }
  }
  return nodes;
}

}  // namespace isamap
