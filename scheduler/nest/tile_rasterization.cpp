// SPDX-License-Identifier: Apache-2.0
#include "scheduler/nest/tile_rasterization.h"

#include <fmt/format.h>

#include <algorithm>

#include "hwdesc/model/parallel_units.h"
#include "support/arithmetic.h"

namespace isamap {
namespace {

/// Instances resident at once; of a queued unit one per parent.
std::int64_t at_once(const HardwareModel& model, UnitId unit) {
  std::int64_t count = 1;
  for (UnitId u = model.unit(unit).queued ? model.unit(unit).parent : unit; u.valid(); u = model.unit(u).parent)
    count *= std::max<std::int64_t>(1, model.unit(u).count);
  return count;
}

std::int64_t largest_divisor(std::int64_t of, std::int64_t at_most) {
  for (std::int64_t d = std::min(of, at_most); d > 1; --d)
    if (of % d == 0) return d;
  return 1;
}

/// Further loops, of a batch say, need a line of their own.
Diagnostic other_loops(const For& line, const std::string& text) {
  const std::string problem = fmt::format("{}raster orders two loops of one line, and here {} {}", text,
                                          line.loops.size(), line.loops.size() == 1 ? "is one" : "are");
  if (line.loops.size() < 2) return error(problem, "write both on it: for i by 128, j by 128");
  const std::size_t last = line.loops.size() - 2;
  std::string lines;
  for (std::size_t w = 0; w < last; ++w)
    lines += fmt::format("for {} by {} on {}, then ", line.loops[w].dim, line.loops[w].tile, line.unit);
  return error(problem,
               fmt::format("{}for {} by {}, {} by {} on {} raster grouped({}){}", lines, line.loops[last].dim,
                           line.loops[last].tile, line.loops[last + 1].dim, line.loops[last + 1].tile, line.unit,
                           line.raster, line.wrap ? "; without raster, wrap distributes all loops of its line" : ""));
}

}  // namespace

Result<TileOrder> tile_order(const For& line, const Tiles& tiles, const HardwareModel& model) {
  const std::string text = "'" + print(Line{line}) + "': ";
  const auto unit = model.find_unit(line.unit);
  const auto blocks = unit ? outermost_numbered(model, *unit) : std::nullopt;
  if (!blocks || *blocks != *unit)
    return error(text + "wrap and raster order the instances of the unit that forms the grid",
                 unit && blocks ? "loop on " + model.unit(*blocks).name : "");
  TileOrder order;
  std::vector<std::int64_t> trips;
  for (const TiledLoop& loop : line.loops) {
    const auto found = tiles.find(loop.dim);
    if (found == tiles.end()) return error(text + "'" + loop.dim + "' is no dim of the statement");
    if (line.tail != Tail::pad && found->second.size % loop.tile != 0)
      return error(fmt::format("{}{} has {} points, which tiles of {} do not divide", text, loop.dim,
                               found->second.size, loop.tile),
                   "tail pad");
    trips.push_back(ceil_div(found->second.size, loop.tile));
  }
  if (line.raster > 0) {
    if (trips.size() != 2) return other_loops(line, text);
    if (trips[0] % line.raster != 0)
      return error(fmt::format("{}{} has {} steps, which groups of {} do not divide", text, line.loops[0].dim, trips[0],
                               line.raster),
                   fmt::format("raster grouped({})", largest_divisor(trips[0], line.raster)));
    order.trips = {trips[0] / line.raster, trips[1], line.raster};
    order.step = {AffineExpr::dim("#0") * line.raster + AffineExpr::dim("#2"), AffineExpr::dim("#1")};
  } else {
    order.trips = trips;
    for (std::size_t w = 0; w < trips.size(); ++w) order.step.push_back(AffineExpr::dim("#" + std::to_string(w)));
  }
  std::int64_t count = 1;
  for (const std::int64_t trip : order.trips) count *= trip;
  order.instances = std::max<std::int64_t>(1, std::min(count, at_once(model, *unit)));
  return order;
}

}  // namespace isamap
