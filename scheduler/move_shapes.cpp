// Every way in which the dims of a move or fill walk the coordinates of a tile, cheapest first.

#include <algorithm>

#include "scheduler/operand_check.h"
#include "scheduler/transfer_internal.h"
#include "support/arithmetic.h"

namespace isamap {

namespace {

/// In memory a move may take a part of a block: so many of them make it up.
std::optional<std::int64_t> block_for(const Coordinate& c, const DimRange& range, bool in_memory) {
  if (in_memory && c.block > range.max && range.max > 1 && c.block % range.max == 0) return range.max;
  const std::int64_t block = c.block > 1 ? c.block : std::max<std::int64_t>(1, std::min(range.max, c.padded));
  if (c.block > 1 && range.max < c.block) return std::nullopt;
  return block;
}

/// ... or several whole blocks, where a move puts them where the digits do.
std::optional<std::int64_t> blocks_for(const Coordinate& c, const DimRange& range, bool in_memory) {
  if (!in_memory || c.block <= 1 || range.max <= c.block || range.max % c.block != 0 || c.padded % range.max != 0)
    return std::nullopt;
  return range.max;
}

void assign(const Lowering& lowering, const TileBuffer& tile, MoveShape& shape, std::vector<MoveShape>& out) {
  const Instruction& instruction = lowering.model.instruction(shape.instruction);
  const std::size_t d = shape.coordinate.size();
  if (d == instruction.ranges.size()) {
    shape.calls = 1;
    for (std::size_t i = 0; i < tile.coordinates.size(); ++i) {  // what no dim walks is visited element by element
      shape.calls *=
          ceil_div(std::max<std::int64_t>(tile.coordinates[i].extent, 1), shape.walks(i) ? shape.blocks[i] : 1);
    }
    out.push_back(shape);
    return;
  }
  for (int i = -1; i < static_cast<int>(tile.coordinates.size()); ++i) {
    const bool taken = i >= 0 && shape.walks(static_cast<std::size_t>(i));
    if (taken || (i < 0 && !allows(instruction.ranges[d], 1))) continue;
    shape.coordinate.push_back(i);
    if (i < 0) {
      assign(lowering, tile, shape, out);
    } else {
      const Coordinate& c = tile.coordinates[static_cast<std::size_t>(i)];
      std::int64_t& blocks = shape.blocks[static_cast<std::size_t>(i)];
      const std::int64_t before = blocks;
      for (const auto& block : {block_for(c, instruction.ranges[d], tile.slots < 0),
                                blocks_for(c, instruction.ranges[d], tile.slots < 0)}) {
        if (!block) continue;
        blocks = *block;
        assign(lowering, tile, shape, out);
      }
      blocks = before;
    }
    shape.coordinate.pop_back();
  }
}

}  // namespace

bool MoveShape::walks(std::size_t coordinate_number) const {
  return std::find(coordinate.begin(), coordinate.end(), static_cast<int>(coordinate_number)) != coordinate.end();
}

std::vector<bool> MoveShape::covered() const {
  std::vector<bool> result;
  for (std::size_t i = 0; i < blocks.size(); ++i) result.push_back(walks(i));
  return result;
}

std::vector<MoveShape> move_shapes(const Lowering& lowering, const TileBuffer& tile,
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

Known known_at(const TileBuffer& tile, const std::vector<AffineExpr>& begin, const MoveShape& shape,
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

}  // namespace isamap
