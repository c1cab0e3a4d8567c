// SPDX-License-Identifier: Apache-2.0
// Setting a tile to a value: by fill instructions, found by their semantics, else element by element.

#include <fmt/format.h>

#include "ir/operand_use.h"
#include "ir/start.h"
#include "scheduler/lowering/lower_tree.h"
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
  element.body = constant(as_double(buffer.dtype, value), buffer.dtype);
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

namespace {

/// Fills of one tile, padding included, by one kind of instruction.
class TileFill {
 public:
  /// `value`: what a broadcast reads; nothing: a fill has it in its semantics.
  TileFill(Lowering& lowering, const TileLayout& tile, std::optional<Ref> value)
      : lowering_(lowering), whole_(tile), value_(std::move(value)) {
    for (Coordinate& c : whole_.coordinates) c.extent = c.padded;
  }

  /// The call for one block, or why there is none.
  Result<std::vector<Node>> block(const MoveShape& shape, const std::vector<AffineExpr>& begin,
                                  const std::vector<std::int64_t>& valid) {
    const Instruction& fill = lowering_.model.instruction(shape.instruction);
    std::vector<std::int64_t> extents;
    for (std::size_t d = 0; d < shape.coordinate.size(); ++d) {
      extents.push_back(shape.coordinate[d] < 0 ? 1 : valid[static_cast<std::size_t>(shape.coordinate[d])]);
      if (!allows(fill.ranges[d], extents.back())) return error("extent");
    }
    Ranges ranges = lowering_.ranges;
    const std::vector<std::int64_t> all = touched_extents(fill, extents);  // it also sets padding
    for (const auto& [name, range] : dim_ranges(fill, all)) ranges[name] = range;
    const auto index = index_at(whole_, known_at(whole_, begin, shape, fill), ranges);
    const std::string no =
        index ? refusal({fill, 0, all}, lowering_.buffer(whole_.buffer), whole_, *index, lowering_.known())
              : "its coordinates are not known";
    if (!no.empty()) {
      if (reasons.size() < max_reasons) reasons.push_back(no);
      return error(no);
    }
    std::vector<Ref> operands{{whole_.buffer, *index}};
    if (value_) operands.push_back(*value_);
    auto call = make_call(lowering_, shape.instruction, std::move(operands), extents);
    if (!call) return call.diagnostics();
    return std::vector<Node>{Node{std::move(*call)}};
  }

  std::vector<std::string> reasons;

 private:
  Lowering& lowering_;
  TileLayout whole_;
  std::optional<Ref> value_;
};

/// Hint where no fill sets an accumulator to its first value.
std::string how_to_begin(MemoryId memory, const HardwareModel& model) {
  for (const Instruction& instruction : model.instructions())
    if (is_compute(instruction) && instruction.semantics.size() == 1 && may_start(instruction, Start::zero) &&
        operand_of(instruction, 0).memory == memory)
      return fmt::format(
          "write `first flag` at the stage: the first call of {} then begins at the identity (its `start`)",
          instruction.name);
  return "describe a fill (compute \"D[..] = 0\"), a broadcast (\"D[j] = S[]\"), or `start: [zero, keep]` on the "
         "instruction";
}

}  // namespace

Result<std::vector<Node>> fill_tile(Lowering& lowering, const TileLayout& tile, Scalar value, bool unroll,
                                    const TileLayout* part) {
  const Buffer buffer = lowering.buffer(tile.buffer);
  const bool registers = lowering.model.memory(buffer.memory).is_register();
  const double wanted = as_double(buffer.dtype, value);
  const TileLayout elements = part != nullptr ? *part : tile;  // without padding
  TileLayout visited = elements;
  for (Coordinate& c : visited.coordinates) c.extent = c.padded;
  std::vector<std::string> reasons;
  for (const bool broadcast : {false, true}) {  // of a constant in memory, where no fill has the value
    if (broadcast && (!registers || !lowering.model.scalar_unit_for(lowering.model.home()))) break;
    const auto fits = [&](const Instruction& i) {
      if (broadcast)
        return is_broadcast(i, lowering.model) && i.operands[0].memory == buffer.memory &&
               i.operands[0].dtype == buffer.dtype;
      return fill_value(i) == wanted && i.operands[0].memory == buffer.memory;
    };
    const std::vector<MoveShape> shapes = move_shapes(lowering, visited, fits);
    if (shapes.empty()) continue;
    std::optional<Ref> read;
    if (broadcast) {
      auto constant = constant_in_memory(lowering, buffer.dtype, wanted);
      if (!constant) return constant.diagnostics();
      read = *constant;
    }
    TileFill filled(lowering, tile, read);
    for (const MoveShape& shape : shapes) {
      const Instruction& fill = lowering.model.instruction(shape.instruction);
      const auto body = [&](const auto& begin, const auto& valid) { return filled.block(shape, begin, valid); };
      for (const TileLayout* each : {&elements, static_cast<const TileLayout*>(&visited)}) {
        if (each == &elements && !(wanted == 0 && fill.inactive == Inactive::zero && reaches_end(elements, shape)))
          continue;
        auto nodes = for_each_block(lowering, *each, {shape.blocks, shape.covered(), unroll}, body);
        if (nodes) return nodes;
      }
    }
    reasons.insert(reasons.end(), filled.reasons.begin(), filled.reasons.end());
  }
  const auto unit = lowering.model.scalar_unit_for(buffer.memory);
  if (unit && !registers) return set_all(lowering, tile, *unit, value);
  Diagnostic failed = error(fmt::format("no instruction fills {} in {} with {}", buffer.name,
                                        lowering.model.memory(buffer.memory).name, wanted),
                            how_to_begin(buffer.memory, lowering.model));
  failed.notes = reasons;
  return failed;
}

}  // namespace isamap
