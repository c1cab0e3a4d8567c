// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lowering/lower_prefetch.h"

#include <fmt/format.h>

#include "hwdesc/model/prefetch.h"
#include "scheduler/lowering/tile_copy_internal.h"
#include "scheduler/nest/operand_compatibility.h"

namespace isamap {
namespace {

/// The tile's elements, without their register layout.
TileLayout elements_of(const TileLayout& tile) {
  TileLayout plain = tile;
  plain.slots = -1;
  for (Coordinate& c : plain.coordinates) {
    if (c.pseudo()) c.extent = 1;
    c.padded = c.extent;
    c.block = 1;
  }
  return plain;
}

}  // namespace

Result<Nodes> lower_prefetch(Lowering& lowering, const PrefetchRequest& request, const TileLayout& tile,
                             const TileLayout& from) {
  const Buffer& buffer = lowering.buffer(request.from);
  std::vector<std::string> reasons;
  const auto fits = [&](const Instruction& i) {
    return is_prefetch(i, lowering.model) && i.operands[operand_of_access(i, 0).index()].memory == request.cache &&
           i.operands[operand_of_access(i, 1).index()].memory == buffer.memory &&
           type_refusal(i, 1, buffer.dtype).empty();
  };
  const TileLayout elements = elements_of(tile);
  for (const MoveShape& shape : move_shapes(lowering, elements, fits)) {
    const Instruction& move = lowering.model.instruction(shape.instruction);
    const auto one = [&](const std::vector<AffineExpr>& begin,
                         const std::vector<std::int64_t>& valid) -> Result<Nodes> {
      std::vector<AffineExpr> further = begin;
      for (std::size_t i = 0; i < further.size(); ++i)
        further[i] += elements.coordinates[i].form.coefficient(request.dim) * request.distance;
      std::vector<std::int64_t> extents;
      for (const int i : shape.coordinate) extents.push_back(i < 0 ? 1 : valid[static_cast<std::size_t>(i)]);
      Ranges ranges = lowering.ranges;
      for (const auto& [name, range] : dim_ranges(move, extents)) ranges[name] = range;
      // Layout is checked at the tile itself; the prefetched place differs by an offset only, and may be past the end.
      const auto here = index_at(from, known_at(elements, begin, shape, move), ranges);
      const auto there = index_at(from, known_at(elements, further, shape, move), ranges);
      const std::string no = here && there ? refusal({move, 1, extents}, buffer, from, *here, lowering.known())
                                           : "its coordinates cannot be expressed in those of " + buffer.name;
      if (!no.empty()) {
        if (reasons.size() < max_reasons) reasons.push_back(no);
        return error(no);
      }
      return Nodes{Node{Call{shape.instruction, {Ref{}, Ref{request.from, *there}}, extents, {}, Start::keep, {}}}};
    };
    if (auto nodes = for_each_block(lowering, elements, {shape.blocks, shape.covered(), true}, one)) return nodes;
  }
  Diagnostic failed = error(
      fmt::format("ahead: no move into {} prefetches lines of {} from {}", lowering.model.memory(request.cache).name,
                  buffer.name, lowering.model.memory(buffer.memory).name),
      "describe a move whose destination is the cache, or leave `ahead` out");
  failed.notes = reasons;
  return failed;
}

}  // namespace isamap
