// SPDX-License-Identifier: Apache-2.0
// Setting a tile to a value: by fill instructions, found by their semantics, else element by element.

#include <fmt/format.h>

#include "scheduler/lowering/tile_copy_internal.h"
#include "scheduler/nest/operand_compatibility.h"
#include "support/arithmetic.h"

namespace isamap {

std::vector<Node> set_all(Lowering& lowering, const TileLayout& tile, UnitId unit, Scalar value,
                          std::optional<LastOfAxis> last) {
  const Buffer& buffer = lowering.buffer(tile.buffer);
  Element element;
  element.unit = unit;
  element.write.buffer = tile.buffer;
  element.body = constant(is_float(buffer.dtype) ? value.real : static_cast<double>(value.integer), buffer.dtype);
  std::vector<std::pair<std::string, std::int64_t>> loops;
  for (std::size_t axis = 0; axis < buffer.extents.size(); ++axis) {
    const std::int64_t extent = buffer.extents[axis];
    if (tile.buffer_number && axis + 1 == buffer.extents.size()) {
      element.write.index.push_back(*tile.buffer_number);
      continue;
    }
    const std::int64_t first = last && last->axis == axis ? last->first : 0;
    if (extent - first == 1) {
      element.write.index.emplace_back(first);
      continue;
    }
    loops.emplace_back(lowering.variable("z", extent - first), extent - first);
    element.write.index.push_back(AffineExpr::dim(loops.back().first) + first);
  }
  std::vector<Node> nodes{Node{std::move(element)}};
  for (std::size_t i = loops.size(); i-- > 0;)
    nodes = loop_around(loops[i].first, loops[i].second, false, std::move(nodes));
  return nodes;
}

std::vector<Node> set_padding(Lowering& lowering, const TileLayout& tile, UnitId unit, Scalar value) {
  std::vector<Node> nodes;
  for (std::size_t i = 0; i < tile.coordinates.size(); ++i) {
    const Coordinate& c = tile.coordinates[i];
    if (c.padded == c.extent) continue;
    std::optional<LastOfAxis> last;
    for (std::size_t axis = 0; axis < tile.axes.size(); ++axis) {
      const auto digit = split_digit(tile.axes[axis]);
      const auto name = digit && digit->modulo == 0 ? digit->form.as_dim() : std::nullopt;
      if (name && *name == fmt::format("#{}", i)) last = LastOfAxis{axis, c.extent / digit->divide};
    }
    if (!last || last->first == 0) return set_all(lowering, tile, unit, value);  // all of it
    auto set = set_all(lowering, tile, unit, value, last);
    nodes.insert(nodes.end(), set.begin(), set.end());
  }
  return nodes;
}

/// Is all padding within the last blocks? An instruction that zeroes beyond its extents then sets it too, with the same
/// extents, so the same state, as the other instructions on the last blocks.
bool reaches_end(const TileLayout& tile, const MoveShape& shape) {
  for (std::size_t i = 0; i < tile.coordinates.size(); ++i)
    if (round_up(tile.coordinates[i].extent, shape.blocks[i]) != tile.coordinates[i].padded) return false;
  return true;
}

Result<std::vector<Node>> fill_tile(Lowering& lowering, const TileLayout& tile, Scalar value, bool unroll,
                                    const TileLayout* part) {
  const Buffer& buffer = lowering.buffer(tile.buffer);
  const double wanted = is_float(buffer.dtype) ? value.real : static_cast<double>(value.integer);
  const auto fits = [&](const Instruction& i) {
    const auto v = fill_value(i);
    return v && *v == wanted && i.operands[0].memory == buffer.memory;
  };
  const TileLayout elements = part != nullptr ? *part : tile;  // without padding
  TileLayout whole = tile, visited = elements;
  for (TileLayout* t : {&whole, &visited})
    for (Coordinate& c : t->coordinates) c.extent = c.padded;
  std::vector<std::string> reasons;
  for (const MoveShape& shape : move_shapes(lowering, visited, fits)) {
    const Instruction& fill = lowering.model.instruction(shape.instruction);
    const auto body = [&](const std::vector<AffineExpr>& begin,
                          const std::vector<std::int64_t>& valid) -> Result<std::vector<Node>> {
      std::vector<std::int64_t> extents;
      for (std::size_t d = 0; d < shape.coordinate.size(); ++d) {
        extents.push_back(shape.coordinate[d] < 0 ? 1 : valid[static_cast<std::size_t>(shape.coordinate[d])]);
        if (!allows(fill.ranges[d], extents.back())) return error("extent");
      }
      Ranges ranges = lowering.ranges;
      const std::vector<std::int64_t> all = touched_extents(fill, extents);  // it also sets padding
      for (const auto& [name, range] : dim_ranges(fill, all)) ranges[name] = range;
      const auto index = index_at(whole, known_at(whole, begin, shape, fill), ranges);
      const std::string no =
          index ? refusal({fill, 0, all}, buffer, whole, *index, lowering.known()) : "its coordinates are not known";
      if (!no.empty()) {
        if (reasons.size() < max_reasons) reasons.push_back(no);
        return error(no);
      }
      auto call = make_call(lowering, shape.instruction, {{tile.buffer, *index}}, extents);
      if (!call) return call.diagnostics();
      return std::vector<Node>{Node{std::move(*call)}};
    };
    for (const TileLayout* each : {&elements, static_cast<const TileLayout*>(&visited)}) {
      if (each == &elements && !(wanted == 0 && fill.inactive == Inactive::zero && reaches_end(elements, shape)))
        continue;
      auto nodes = for_each_block(lowering, *each, {shape.blocks, shape.covered(), unroll}, body);
      if (nodes) return nodes;
    }
  }
  const auto unit = lowering.model.scalar_unit_for(buffer.memory);
  if (unit && !lowering.model.memory(buffer.memory).is_register()) return set_all(lowering, tile, *unit, value);
  Diagnostic failed = error(fmt::format("no instruction fills {} in {} with {}", buffer.name,
                                        lowering.model.memory(buffer.memory).name, wanted),
                            "describe a fill (compute \"D[..] = 0\"), or `start: [zero, keep]` on the instruction");
  failed.notes = reasons;
  return failed;
}

}  // namespace isamap
