// SPDX-License-Identifier: Apache-2.0
// A copy between two tiles: by moves if registers are involved, `via` names some, or a packing move fits; else element
// by element.
#include "scheduler/lowering/tile_copy.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/legal.h"
#include "scheduler/lowering/divided_loops.h"
#include "scheduler/lowering/tile_copy_internal.h"
#include "scheduler/nest/operand_compatibility.h"
#include "support/arithmetic.h"

namespace isamap {
namespace {

std::optional<UnitId> scalar_unit(const Lowering& lowering, const Copy& copy) {
  const MemoryId a = lowering.buffer(copy.inner->buffer).memory, b = lowering.buffer(copy.outer->buffer).memory;
  if (lowering.model.memory(a).is_register() || lowering.model.memory(b).is_register()) return std::nullopt;
  const auto unit = lowering.model.scalar_unit_for(a);
  if (!unit || !lowering.model.scalar_unit_for(b)) return std::nullopt;
  return unit;
}

// Where a coordinate is one axis of the outer tensor and starts at a constant, the loop is clipped to the tensor and
// needs no guard: [first, first + extent) of the coordinate.
void clip(const Lowering& lowering, const Copy& copy, TileLayout& tile) {
  if (!copy.outer->whole_tensor || !copy.ends.empty()) return;
  const Buffer& outer = lowering.buffer(copy.outer->buffer);
  for (std::size_t a = 0; a < copy.outer->axes.size(); ++a)
    for (Coordinate& c : tile.coordinates) {
      const AffineExpr& axis = copy.outer->axes[a];
      if (!axis.is_linear() || axis - axis.constant() != c.form || !c.start.is_constant() || c.block != 1) continue;
      const std::int64_t first = c.start.constant() + axis.constant();  // index of the coordinate's local 0
      const std::int64_t skip = std::max<std::int64_t>(0, -first);
      const std::int64_t end = std::min(c.extent, outer.extents[a] - first);
      c.start += skip;
      c.extent = std::max<std::int64_t>(0, end - skip);
    }
}

/// Does the tile need two kinds of padding, the tensor's `outside` value out of bounds and 0 past the end of the
/// domain? Then one value set beforehand is not enough, and each point is guarded.
bool has_two_borders(const Copy& copy) {
  if (!copy.into_inner || copy.outside.value_or(0) == 0) return false;
  for (std::size_t i = 0; i < copy.inner->coordinates.size(); ++i) {
    const Coordinate& c = copy.inner->coordinates[i];
    if ((i < copy.ends.size() && copy.ends[i]) || (c.padded != c.extent && copy.zero[i])) return true;
  }
  return false;
}

/// Sets the padding before the copy: the last blocks, or the whole tile if out-of-bounds points may be anywhere.
std::vector<Node> padding_set(Lowering& lowering, const Copy& copy, UnitId unit) {
  const bool outside = copy.outside.has_value() && !has_two_borders(copy);
  bool padded = outside;
  for (const Coordinate& c : copy.inner->coordinates) padded |= c.padded != c.extent;
  if (!copy.into_inner || !padded) return {};
  const DType type = lowering.buffer(copy.inner->buffer).dtype;
  const Scalar value = convert({outside ? *copy.outside : 0, 0}, DType::f64, type, true);
  const bool only_last =
      !outside && std::none_of(copy.ends.begin(), copy.ends.end(), [](const auto& end) { return end.has_value(); });
  return only_last ? set_padding(lowering, *copy.inner, unit, value) : set_all(lowering, *copy.inner, unit, value);
}

/// Along sums, are all positions past the end in the last block, which a move that writes zeros fills?
bool sums_end_in_blocks(const Copy& copy) {
  for (std::size_t i = 0; i < copy.summed.size(); ++i)
    if (const Coordinate& c = copy.inner->coordinates[i]; copy.summed[i] && c.padded != round_up(c.extent, c.block))
      return false;
  return true;
}

/// Conditions for a point to be before the end of the domain, which `tail pad` tiles may exceed.
std::vector<AffineExpr> before_ends(const Lowering& lowering, const Copy& copy, const std::vector<AffineExpr>& begin) {
  std::vector<AffineExpr> conditions;
  for (std::size_t i = 0; i < copy.ends.size(); ++i) {
    if (!copy.ends[i]) continue;
    const auto range = bounds(begin[i], lowering.ranges);
    if (!range || range->high >= *copy.ends[i]) conditions.push_back(AffineExpr(*copy.ends[i] - 1) - begin[i]);
  }
  return conditions;
}

/// `then` if the conditions hold, else the value.
Node or_value(std::vector<AffineExpr> conditions, Node then, const Element& element, double value, DType type) {
  if (conditions.empty()) return then;
  Element otherwise = element;
  otherwise.reads.clear();
  const Scalar stored = convert({value, 0}, DType::f64, type, true);
  otherwise.body = constant(as_double(type, stored), type);
  Guard guard;
  guard.conditions = std::move(conditions);
  guard.then = {std::move(then)};
  guard.otherwise = {Node{std::move(otherwise)}};
  return Node{std::move(guard)};
}

/// Copies run along whole rows of the tensor, which hardware prefetchers follow, rather than block by block of the
/// tile, which starts a new stream for each piece of a row (64 of 2048 columns at a time, rows 2072 apart: 8.8 GB/s;
/// whole rows: 20).
std::optional<std::size_t> along_rows(const Copy& copy) {
  if (!copy.outer->whole_tensor || copy.outer->axes.empty()) return std::nullopt;
  const AffineExpr& last = copy.outer->axes.back();
  const auto& coordinates = copy.copied_tile().coordinates;
  for (std::size_t i = 0; i < coordinates.size(); ++i)
    if (last - last.constant() == coordinates[i].form) return i;
  return std::nullopt;
}

Result<std::vector<Node>> by_elements(Lowering& lowering, const Copy& copy, UnitId unit) {
  const Buffer& inner_buffer = lowering.buffer(copy.inner->buffer);
  std::vector<Node> nodes = padding_set(lowering, copy, unit);

  TileLayout clipped = copy.copied_tile();
  const bool each_its_own = has_two_borders(copy);
  if (!each_its_own) clip(lowering, copy, clipped);
  std::vector<std::int64_t> blocks;
  for (const Coordinate& c : clipped.coordinates) blocks.push_back(c.block);
  const auto body = [&](const std::vector<AffineExpr>& begin,
                        const std::vector<std::int64_t>&) -> Result<std::vector<Node>> {
    Known known;
    for (std::size_t i = 0; i < begin.size(); ++i) known.emplace_back(copy.inner->coordinates[i].form, begin[i]);
    const auto inner = index_at(*copy.inner, known, lowering.ranges);
    const auto outer = index_at(*copy.outer, known, lowering.ranges);
    if (!inner || !outer)
      return error(fmt::format("the layout of {} cannot be expressed in the coordinates of {}", inner_buffer.name,
                               lowering.buffer(copy.outer->buffer).name));
    Element element;
    element.unit = unit;
    const Ref a{copy.inner->buffer, *inner}, b{copy.outer->buffer, *outer};
    element.write = copy.into_inner ? a : b;
    element.reads = {copy.into_inner ? b : a};
    element.body = read(0, inner_buffer.dtype);
    Guard guard;
    const Buffer& outer_buffer = lowering.buffer(copy.outer->buffer);
    for (std::size_t i = 0; i < outer->size(); ++i) {
      const auto range = bounds((*outer)[i], lowering.ranges);
      if (!range || range->low < 0) guard.conditions.push_back((*outer)[i]);
      if (!range || range->high >= outer_buffer.extents[i])
        guard.conditions.push_back(AffineExpr(outer_buffer.extents[i] - 1) - (*outer)[i]);
    }
    if (each_its_own) {
      Node in_tensor = or_value(guard.conditions, Node{element}, element, *copy.outside, inner_buffer.dtype);
      return std::vector<Node>{
          or_value(before_ends(lowering, copy, begin), std::move(in_tensor), element, 0, inner_buffer.dtype)};
    }
    if (guard.conditions.empty()) return std::vector<Node>{Node{std::move(element)}};
    if (copy.into_inner &&
        std::any_of(copy.ends.begin(), copy.ends.end(), [](const auto& end) { return end.has_value(); })) {
      Element zero = element;
      zero.reads.clear();
      zero.body = constant(0, inner_buffer.dtype);
      guard.otherwise = {Node{std::move(zero)}};
    }
    guard.then = {Node{std::move(element)}};
    return std::vector<Node>{Node{std::move(guard)}};
  };
  auto copied = for_each_block(lowering, clipped,
                               {blocks, std::vector<bool>(blocks.size(), false), false, along_rows(copy)}, body);
  if (!copied) return copied;
  for (Node& node : without_divisions(lowering, std::move(*copied))) nodes.push_back(std::move(node));
  return nodes;
}

}  // namespace

Result<std::vector<Node>> transfer(Lowering& lowering, const Copy& copy) {
  const auto unit = scalar_unit(lowering, copy);
  if (!copy.via.empty() || !unit) return by_moves(lowering, copy);
  if (!copy.packing_move.empty() && !copy.outside) {
    Copy named = copy;
    named.via = {copy.packing_move};
    named.along_rows = along_rows(copy);
    if (sums_end_in_blocks(copy)) {
      Copy alone = named;  // the moves write the zeros that are read, and other padding is not
      for (std::size_t i = 0; i < alone.summed.size(); ++i) alone.zero[i] = alone.zero[i] || alone.summed[i];
      const int variables = lowering.variables;
      if (auto moved = moves_by_name(lowering, alone)) return moved;
      lowering.variables = variables;
    }
    std::vector<Node> nodes = padding_set(lowering, copy, *unit);
    named.cleared = !nodes.empty();
    if (auto moved = moves_by_name(lowering, named)) {  // else a tail that the move cannot mask
      nodes.insert(nodes.end(), moved->begin(), moved->end());
      return nodes;
    }
  }
  return by_elements(lowering, copy, *unit);
}

// Calls with masks for their extents: mask registers are filled once, at the start of the program.

Result<Ref> Lowering::mask(MemoryId memory, std::int64_t full, std::int64_t extent) {
  const std::string name = fmt::format("mask{}of{}", extent, full);
  for (std::size_t i = 0; i < program.buffers.size(); ++i)
    if (program.buffers[i].name == name && program.buffers[i].memory == memory)
      return Ref{make_id<BufferId>(i), {AffineExpr(0)}};
  for (std::size_t i = 0; i < model.instructions().size(); ++i) {
    const Instruction& fill = model.instructions()[i];
    if (fill_value(fill) != 1.0 || fill.operands[0].memory != memory || fill.ranges.size() != 1) continue;
    if (fill.ranges[0].max != full || !allows(fill.ranges[0], extent) || !extents_fit(fill, {extent})) continue;
    Buffer buffer;
    buffer.name = name;
    buffer.memory = memory;
    buffer.dtype = DType::b1;
    buffer.extents = {full};
    buffer.slots = 0;
    program.buffers.push_back(buffer);
    const BufferId id = make_id<BufferId>(program.buffers.size() - 1);
    Call call;
    call.instruction = make_id<InstructionId>(i);
    call.operands = {{id, {AffineExpr::dim("$" + fill.statement().domain.dims[0].name)}}};
    call.extents = {extent};
    mask_fills.push_back(Node{std::move(call)});
    return Ref{id, {AffineExpr(0)}};
  }
  return error(fmt::format("no fill of {} with 1 over {} of {} positions", model.memory(memory).name, extent, full),
               "describe one: compute \"D[j] = 1\", dims {j: {max: ...}}, inactive zero");
}

Result<Call> make_call(Lowering& lowering, InstructionId id, std::vector<Ref> operands,
                       std::vector<std::int64_t> extents) {
  const Instruction& instruction = lowering.model.instruction(id);
  Call call;
  call.instruction = id;
  call.operands = std::move(operands);
  for (const auto& [dim, memory] : instruction.masks) {
    const auto d = static_cast<std::size_t>(instruction.statement().domain.find(dim));
    auto mask = lowering.mask(memory, instruction.ranges[d].max, extents[d]);
    if (!mask) return mask.diagnostics();
    call.masks.push_back(*mask);
  }
  call.extents = std::move(extents);
  if (const std::string no = broken_condition(instruction, call, lowering.program.buffers, lowering.ranges);
      !no.empty())
    return error(no);
  return call;
}

}  // namespace isamap
