// SPDX-License-Identifier: Apache-2.0
// Every assignment of the dims of a move or fill to the coordinates of a tile, fewest calls first.
#include <algorithm>

#include "ir/legal.h"
#include "scheduler/lowering/tile_copy_internal.h"
#include "scheduler/nest/move_points.h"
#include "scheduler/nest/operand_compatibility.h"
#include "support/arithmetic.h"

namespace isamap {
namespace {

void assign(const Lowering& lowering, const TileLayout& tile, MoveShape& shape, std::vector<MoveShape>& out) {
  const Instruction& instruction = lowering.model.instruction(shape.instruction);
  const std::size_t d = shape.coordinate.size();
  if (d == instruction.ranges.size()) {
    if (!instruction.legal.empty()) {
      std::vector<std::int64_t> extents;
      for (const int i : shape.coordinate) extents.push_back(i < 0 ? 1 : shape.blocks[static_cast<std::size_t>(i)]);
      if (!extents_fit(instruction, extents)) return;
    }
    shape.calls = 1;
    // Coordinates without a dim are visited element by element.
    for (std::size_t i = 0; i < tile.coordinates.size(); ++i) {
      shape.calls *=
          ceil_div(std::max<std::int64_t>(tile.coordinates[i].extent, 1), shape.loops(i) ? shape.blocks[i] : 1);
    }
    out.push_back(shape);
    return;
  }
  for (int i = -1; i < static_cast<int>(tile.coordinates.size()); ++i) {
    const bool taken = i >= 0 && shape.loops(static_cast<std::size_t>(i));
    if (taken || (i < 0 && !allows(instruction.ranges[d], 1))) continue;
    shape.coordinate.push_back(i);
    if (i < 0) {
      assign(lowering, tile, shape, out);
    } else {
      const Coordinate& c = tile.coordinates[static_cast<std::size_t>(i)];
      std::int64_t& blocks = shape.blocks[static_cast<std::size_t>(i)];
      const std::int64_t before = blocks;
      for (const std::int64_t block : points_of_move({c.padded, c.block, tile.slots < 0}, instruction.ranges[d],
                                                     has_more_conditions(instruction))) {
        blocks = block;
        assign(lowering, tile, shape, out);
      }
      blocks = before;
    }
    shape.coordinate.pop_back();
  }
}

}  // namespace

bool MoveShape::loops(std::size_t coordinate_number) const {
  return std::find(coordinate.begin(), coordinate.end(), static_cast<int>(coordinate_number)) != coordinate.end();
}

std::vector<bool> MoveShape::covered() const {
  std::vector<bool> result;
  for (std::size_t i = 0; i < blocks.size(); ++i) result.push_back(loops(i));
  return result;
}

std::vector<MoveShape> move_shapes(const Lowering& lowering, const TileLayout& tile,
                                   const std::function<bool(const Instruction&)>& fits) {
  std::vector<MoveShape> all;
  const auto& instructions = lowering.model.instructions();
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    if (!fits(instructions[i]) || instructions[i].ranges.size() > 3) continue;
    MoveShape shape{make_id<InstructionId>(i), {}, std::vector<std::int64_t>(tile.coordinates.size(), 1), 0};
    for (std::size_t c = 0; c < tile.coordinates.size(); ++c) shape.blocks[c] = tile.coordinates[c].block;
    assign(lowering, tile, shape, all);
  }
  std::stable_sort(all.begin(), all.end(), [&](const MoveShape& a, const MoveShape& b) {
    const auto key = [&](const MoveShape& c) {
      return std::make_pair(c.calls, lowering.model.instruction(c.instruction).masks.size());
    };
    return key(a) < key(b);
  });
  return all;
}

Known known_at(const TileLayout& tile, const std::vector<AffineExpr>& begin, const MoveShape& shape,
               const Instruction& instruction) {
  Known known;
  for (std::size_t i = 0; i < begin.size(); ++i) {
    AffineExpr value = begin[i];
    for (std::size_t d = 0; d < shape.coordinate.size(); ++d)
      if (shape.coordinate[d] == static_cast<int>(i))
        value += AffineExpr::dim("$" + instruction.statement().domain.dims[d].name);
    known.emplace_back(tile.coordinates[i].form, value);
  }
  return known;
}

// A quick rejection of move shapes, before symbolic index maps: comparison of strides.

namespace {

using Distance = std::optional<std::int64_t>;  // stride in elements; nothing: not known

/// Stride along one of the tile's coordinates, within its first block.
Distance own_distance(const TileLayout& tile, const Buffer& buffer, std::size_t coordinate) {
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

/// Stride along a form in a tensor's own layout: known if the form is one of its subscripts and its dims are in no
/// other.
Distance tensor_distance(const TileLayout& tensor, const Buffer& buffer, const AffineExpr& form) {
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

Distance distance_along(const TileLayout& tile, const Buffer& buffer, const AffineExpr& form) {
  if (tile.whole_tensor) return tensor_distance(tile, buffer, form);
  for (std::size_t i = 0; i < tile.coordinates.size(); ++i)
    if (tile.coordinates[i].form == form) return own_distance(tile, buffer, i);
  return std::nullopt;
}

/// The stride prescribed by the operand's layout along a plain dim.
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
    const Coordinate& looped = copy.inner->coordinates[i];
    if (std::min(looped.extent, shape.blocks[i]) <= 1) continue;
    for (const int access : {0, 1}) {
      const TileLayout& tile = (access == 0) == copy.into_inner ? *copy.inner : *copy.outer;
      if (tile.slots >= 0) continue;
      const Operand& operand = move.operands[operand_of_access(move, access).index()];
      const Distance needed = demanded_along(operand, dims[d].name);
      const Distance found = needed ? distance_along(tile, lowering.buffer(tile.buffer), looped.form) : std::nullopt;
      if (found && *found != *needed) return false;
    }
  }
  return true;
}

}  // namespace isamap
