// SPDX-License-Identifier: Apache-2.0
// What rules a move shape out without the algebra of its uses: the distances of neighbours.

#include <algorithm>

#include "scheduler/operand_check.h"
#include "scheduler/transfer_internal.h"

namespace isamap {
namespace {

using Distance = std::optional<std::int64_t>;  // of neighbours, in elements; nothing: not known

/// Neighbours along one of the tile's own coordinates, where its first block begins.
Distance own_distance(const TileBuffer& tile, const Buffer& buffer, std::size_t coordinate) {
  std::int64_t distance = 0;
  for (std::size_t a = 0; a < tile.axes.size(); ++a) {
    Bindings at;
    for (const std::string& name : tile.axes[a].names()) at[name] = 0;
    const std::int64_t before = evaluate(tile.axes[a], at);
    const auto own = at.find("#" + std::to_string(coordinate));
    if (own == at.end()) continue;
    own->second = 1;
    distance += (evaluate(tile.axes[a], at) - before) * buffer.strides[a];
  }
  return distance;
}

/// Neighbours along a form in a tensor's own layout: known where the form is one of its subscripts and in no other.
Distance tensor_distance(const TileBuffer& tensor, const Buffer& buffer, const AffineExpr& form) {
  Distance distance;
  for (std::size_t a = 0; a < tensor.axes.size(); ++a) {
    if ((tensor.axes[a] - form).is_constant()) {
      distance = buffer.strides[a];
      continue;
    }
    for (const std::string& name : form.names())
      if (tensor.axes[a].names().contains(name)) return std::nullopt;
  }
  return distance;
}

Distance distance_along(const TileBuffer& tile, const Buffer& buffer, const AffineExpr& form) {
  if (tile.whole_tensor) return tensor_distance(tile, buffer, form);
  for (std::size_t i = 0; i < tile.coordinates.size(); ++i)
    if (tile.coordinates[i].form == form) return own_distance(tile, buffer, i);
  return std::nullopt;
}

/// A stride that the operand's layout demands along a plain dim.
Distance demanded_along(const Operand& operand, const std::string& dim) {
  const auto* strided = std::get_if<StridedLayout>(&operand.layout);
  if (!strided) return std::nullopt;
  for (const StrideTerm& term : strided->terms)
    if (term.term.as_dim() == dim && term.stride && term.each.empty())
      return evaluate(*term.stride, [](const Reference&) { return std::nullopt; });
  return std::nullopt;
}

}  // namespace

bool distances_fit(const Lowering& lowering, const Copy& copy, const MoveShape& shape) {
  const Instruction& move = lowering.model.instruction(shape.instruction);
  const auto& dims = move.statement().domain.dims;
  for (std::size_t d = 0; d < shape.coordinate.size(); ++d) {
    if (shape.coordinate[d] < 0) continue;
    const auto i = static_cast<std::size_t>(shape.coordinate[d]);
    const Coordinate& walked = copy.inner->coordinates[i];
    if (std::min(walked.extent, shape.blocks[i]) <= 1) continue;
    for (const int access : {0, 1}) {
      const TileBuffer& tile = (access == 0) == copy.into_inner ? *copy.inner : *copy.outer;
      if (tile.slots >= 0) continue;
      const Operand& operand = move.operands[operand_of_access(move, access).index()];
      const Distance needed = demanded_along(operand, dims[d].name);
      const Distance found = needed ? distance_along(tile, lowering.buffer(tile.buffer), walked.form) : std::nullopt;
      if (found && *found != *needed) return false;
    }
  }
  return true;
}

}  // namespace isamap
