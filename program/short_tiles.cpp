// SPDX-License-Identifier: Apache-2.0
#include "program/short_tiles.h"

#include <algorithm>
#include <functional>

#include "program/masked_ends.h"
#include "program/shared_copies.h"

namespace isamap {
namespace {

/// The axes of tensors that move with the grid axis; nothing: one moves otherwise than by one position a position.
std::optional<std::map<TensorId, std::size_t>> moving_axes(const GridShape& shape, std::size_t axis) {
  std::map<TensorId, std::size_t> found;
  const Computation& statement = shape.kernel.statements[0];
  const AffineExpr position = AffineExpr::dim(shape.axes[axis].dim);
  for (int a = 0; a < access_count(statement); ++a) {
    const Access& access = access_of(statement, a);
    const std::size_t t = access.tensor.index();
    for (std::size_t d = 0; d < access.index.size(); ++d) {
      if (shape.moves[t][d].axis != static_cast<int>(axis)) continue;
      const auto [known, is_new] = found.emplace(access.tensor, d);
      if (access.computed || access.index[d] != position || shape.padded.contains(access.tensor) || known->second != d)
        return std::nullopt;
    }
  }
  return found;
}

bool is_in_memory(const Buffer& buffer) { return buffer.slots < 0 && buffer.role != BufferRole::argument; }

/// The variable of the only loop over the axis; empty: there is none, or another one.
std::string walking_variable(const Block& block, std::size_t axis, std::int64_t tile) {
  std::string found;
  for (const auto& [variable, loop] : block.loops)
    if (loop.axis == static_cast<int>(axis)) {
      if (!found.empty() || loop.step != tile) return "";
      found = variable;
    }
  return found;
}

/// All subscripts of the argument, if only calls use it.
bool all_subscripts(const std::vector<Node>& nodes, BufferId buffer,
                    const std::function<bool(const std::vector<AffineExpr>&)>& good) {
  return std::all_of(nodes.begin(), nodes.end(), [&](const Node& node) {
    if (const auto* loop = std::get_if<Loop>(&node.is)) return all_subscripts(loop->body, buffer, good);
    if (const auto* call = std::get_if<Call>(&node.is))
      return std::all_of(call->operands.begin(), call->operands.end(),
                         [&](const Ref& ref) { return ref.buffer != buffer || good(ref.index); });
    return std::holds_alternative<Comment>(node.is);
  });
}

/// Is the distance of panels the only thing that a copy in panels changes beside strides that are arguments?
bool reads_panels(const Block& block, const GridShape& shape, TensorId tensor, const Panels& panels) {
  const std::vector<SizeProduct>& strides = shape.strides[tensor.index()];
  for (std::size_t d = 0; d < strides.size(); ++d)
    if (d == panels.dim ? !strides[d].is_number() || strides[d].number != 1 : strides[d].is_number()) return false;
  if (role_of(shape.kernel, tensor) != Role::input) return false;
  for (std::size_t b = 0; b < block.program.buffers.size(); ++b) {
    const Buffer& buffer = block.program.buffers[b];
    if (buffer.tensor != tensor || buffer.role != BufferRole::argument) continue;
    const auto good = [&](const std::vector<AffineExpr>& index) {
      for (std::size_t d = 0; d < index.size(); ++d)
        if (index[d].coefficient(panels.variable) != (d == panels.dim ? panels.tile : 0) || !index[d].is_linear())
          return false;
      return true;
    };
    if (buffer.ahead_of_time || !all_subscripts(block.program.body, make_id<BufferId>(b), good)) return false;
  }
  return true;
}

/// Is an axis of the array rounded up to whole steps of a move?
bool has_padded_axis(const Block& block, BufferId buffer) {
  const auto grown = block.grown.find(buffer);
  return grown != block.grown.end() &&
         std::any_of(grown->second.begin(), grown->second.end(),
                     [&](const TileLoop& loop) { return block.short_axes.contains(loop.axis) && loop.step > 1; });
}

}  // namespace

std::optional<Block> with_short_tiles(Block block, const GridShape& shape, std::size_t axis, std::int64_t tile,
                                      const HardwareModel& model) {
  const auto moving = moving_axes(shape, axis);
  const std::string variable = walking_variable(block, axis, tile);
  const std::vector<Buffer>& buffers = block.program.buffers;
  if (!moving || variable.empty() || !block.skipped.empty() || !block.ended.empty() || !block.grown.empty() ||
      std::any_of(buffers.begin(), buffers.end(), [&](const Buffer& buffer) {
        return is_in_memory(buffer) || (buffer.ahead_of_time && moving->contains(buffer.tensor));
      }))
    return std::nullopt;
  if (!mask_short_tiles(block, *moving, static_cast<int>(axis), model)) return std::nullopt;
  block.short_axes.insert(static_cast<int>(axis));
  for (const auto& [tensor, dim] : *moving)
    if (const Panels panels{dim, tile, variable}; reads_panels(block, shape, tensor, panels))
      block.panels[tensor] = panels;
  return block;
}

bool copies_panels(const Block& block, const GridShape& shape, TensorId tensor, const Panels& panels) {
  const Kernel& kernel = shape.kernel;
  const Tensor& input = kernel.tensors[tensor.index()];
  const auto copies = shared_copies(block, shape);
  const auto copy = std::find_if(copies.begin(), copies.end(), [&](const SharedCopy& c) { return c.tensor == tensor; });
  if (copy == copies.end() || block.schedule.nests.size() != 1 || has_padded_axis(block, copy->buffer)) return false;
  std::vector<AffineExpr> layout;  // of the positions of the only read
  for (const Access& read : kernel.statements[0].reads)
    if (read.tensor == tensor) {
      if (!layout.empty()) return false;
      layout = read.index;
    }
  if (layout.size() != input.shape.size()) return false;
  const AffineExpr panel = floordiv(layout[panels.dim], panels.tile), within = layout[panels.dim] - panels.tile * panel;
  layout.erase(layout.begin() + static_cast<std::ptrdiff_t>(panels.dim));
  layout.insert(layout.begin(), panel);
  layout.push_back(within);
  std::vector<LayoutDigit> digits;
  for (const AffineExpr& index : layout) digits.push_back({index});
  const std::vector<std::int64_t>& extents = block.program.buffers[copy->buffer.index()].extents;
  for (const Line& line : block.schedule.nests[0].lines)
    if (const auto* stage = std::get_if<Stage>(&line.is); stage != nullptr && stage->tensor == input.name)
      return stage->layout == digits && extents.size() == digits.size() && extents.back() == panels.tile;
  return false;
}

}  // namespace isamap
