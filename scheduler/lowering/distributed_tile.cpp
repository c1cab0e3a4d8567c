// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lowering/distributed_tile.h"

#include <fmt/format.h>

#include "hwdesc/model/parallel_units.h"

namespace isamap {

Result<std::vector<InstanceWalk>> instance_walks(const Nest& nest, std::size_t line, MemoryId memory,
                                                 const Tiles& tiles, const HardwareModel& model) {
  std::vector<InstanceWalk> found;
  std::map<std::string, std::int64_t> left;
  for (const auto& [dim, tile] : tiles) left[dim] = tile.size;
  std::map<std::string, std::int64_t> steps;  // of walks in time
  for (std::size_t l = line + 1; l < nest.lines.size(); ++l) {
    const auto* f = std::get_if<For>(&nest.lines[l].is);
    if (f == nullptr) continue;
    const auto unit = model.find_unit(f->unit);
    const bool spread = unit && model.inside(model.memory(memory).per, *unit) && side_by_side(model, *unit);
    for (const Walk& walk : f->walks) {
      const auto at = left.find(walk.dim);
      if (at == left.end()) continue;
      const std::int64_t tile = std::min(walk.tile, at->second), count = (at->second + tile - 1) / tile;
      if (spread && count > 1) {
        if (at->second % tile != 0)
          return error(
              fmt::format("for {} by {} on {}: {} points are no whole number of such tiles, and a stage above it "
                          "is shared out",
                          walk.dim, walk.tile, f->unit, at->second),
              "with `tail pad` on the walk above the stage all tiles are whole");
        if (steps[walk.dim] > 1)
          return error(
              fmt::format("for {} by {} on {}: a walk in time of {} stands between it and the stage that it shares out",
                          walk.dim, walk.tile, f->unit, walk.dim),
              "stand it above the stage or below the walk on the unit");
        found.push_back({walk.dim, f->unit, tile, count});
      }
      if (!spread && count > 1) steps[walk.dim] = count;
      at->second = tile;
    }
  }
  return found;
}

Result<std::vector<Node>> in_every_instance(
    Lowering& lowering, const TileLayout& tile, const std::vector<InstanceWalk>& walks,
    const std::function<Result<std::vector<Node>>(const TileLayout* part)>& make) {
  if (walks.empty()) return make(nullptr);
  TileLayout part = tile;
  std::vector<std::string> variables;
  for (const InstanceWalk& walk : walks) {
    variables.push_back(lowering.variable(walk.dim, walk.count));
    for (Coordinate& c : part.coordinates)
      if (c.form == AffineExpr::dim(walk.dim)) {
        c.start += AffineExpr::dim(variables.back()) * walk.tile;
        c.extent = c.padded = walk.tile;
      }
  }
  auto nodes = make(&part);
  if (!nodes) return nodes;
  for (std::size_t w = walks.size(); w-- > 0;) {
    *nodes = loop_around(variables[w], walks[w].count, false, std::move(*nodes));
    if (!nodes->empty()) std::get<Loop>(nodes->front().is).unit = walks[w].unit;
  }
  return nodes;
}

}  // namespace isamap
