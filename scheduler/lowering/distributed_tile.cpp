// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lowering/distributed_tile.h"

#include <fmt/format.h>

#include "hwdesc/model/parallel_units.h"

namespace isamap {

Result<std::vector<InstanceLoop>> instance_loops(const Nest& nest, std::size_t line, MemoryId memory,
                                                 const Tiles& tiles, const HardwareModel& model) {
  std::vector<InstanceLoop> found;
  std::map<std::string, std::int64_t> left;
  for (const auto& [dim, tile] : tiles) left[dim] = tile.size;
  std::map<std::string, std::int64_t> steps;  // of loops in time
  for (std::size_t l = line + 1; l < nest.lines.size(); ++l) {
    const auto* f = std::get_if<For>(&nest.lines[l].is);
    if (f == nullptr) continue;
    const auto unit = model.find_unit(f->unit);
    const bool spread = unit && model.inside(model.memory(memory).per, *unit) && side_by_side(model, *unit);
    for (const TiledLoop& loop : f->loops) {
      const auto at = left.find(loop.dim);
      if (at == left.end()) continue;
      const std::int64_t tile = std::min(loop.tile, at->second), count = (at->second + tile - 1) / tile;
      if (spread && count > 1) {
        if (at->second % tile != 0)
          return error(fmt::format("for {} by {} on {}: its tiles do not divide {} points, and a stage above is "
                                   "distributed over its instances",
                                   loop.dim, loop.tile, f->unit, at->second),
                       "use `tail pad` on the loop above the stage: then all tiles are whole");
        if (steps[loop.dim] > 1)
          return error(fmt::format("for {} by {} on {}: a sequential loop over {} is between it and the stage "
                                   "distributed over its instances",
                                   loop.dim, loop.tile, f->unit, loop.dim),
                       "move it above the stage or below the loop on the unit");
        found.push_back({loop.dim, f->unit, tile, count});
      }
      if (!spread && count > 1) steps[loop.dim] = count;
      at->second = tile;
    }
  }
  return found;
}

Result<std::vector<Node>> in_every_instance(
    Lowering& lowering, const TileLayout& tile, const std::vector<InstanceLoop>& loops,
    const std::function<Result<std::vector<Node>>(const TileLayout* part)>& make) {
  if (loops.empty()) return make(nullptr);
  TileLayout part = tile;
  std::vector<std::string> variables;
  for (const InstanceLoop& loop : loops) {
    variables.push_back(lowering.variable(loop.dim, loop.count));
    for (Coordinate& c : part.coordinates)
      if (c.form == AffineExpr::dim(loop.dim)) {
        c.start += AffineExpr::dim(variables.back()) * loop.tile;
        c.extent = c.padded = loop.tile;
      }
  }
  auto nodes = make(&part);
  if (!nodes) return nodes;
  for (std::size_t w = loops.size(); w-- > 0;) {
    *nodes = loop_around(variables[w], loops[w].count, false, std::move(*nodes));
    if (!nodes->empty()) std::get<Loop>(nodes->front().is).unit = loops[w].unit;
  }
  return nodes;
}

}  // namespace isamap
