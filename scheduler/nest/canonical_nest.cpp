// SPDX-License-Identifier: Apache-2.0
#include "scheduler/nest/canonical_nest.h"

#include <algorithm>

#include "support/hash.h"

namespace isamap {

Nest canonical(const Nest& nest, const Computation& statement) {
  std::map<std::string, std::int64_t> tile;
  for (const Dim& dim : statement.domain.dims) tile[dim.name] = std::max<std::int64_t>(dim.extent, 1);
  Nest result;
  std::size_t stages = 0;  // where the current sequence of stages begins
  for (const Line& line : nest.lines) {
    if (const For* loops = std::get_if<For>(&line.is)) {
      For kept = *loops;
      if (loops->orders_all_loops()) {
        for (const TiledLoop& loop : loops->loops) tile[loop.dim] = std::min(loop.tile, tile[loop.dim]);
        result.lines.push_back(line);
        stages = result.lines.size();
        continue;
      }
      kept.loops.clear();
      for (TiledLoop loop : loops->loops) {
        std::int64_t& around = tile[loop.dim];
        loop.tile = std::min(loop.tile, around);
        if (loop.tile == around) continue;
        around = loop.tile;
        kept.loops.push_back(loop);
      }
      if (kept.loops.empty()) continue;
      result.lines.push_back({kept, line.where});
      stages = result.lines.size();
    } else if (const Stage* stage = std::get_if<Stage>(&line.is)) {
      const auto before = [](const Stage& s, const Line& l) {
        const Stage& other = std::get<Stage>(l.is);
        return std::tie(s.tensor, s.memory) < std::tie(other.tensor, other.memory);
      };
      // Stages of one tensor keep their order: each is filled from the one before.
      auto place = result.lines.end();
      while (place != result.lines.begin() + static_cast<std::ptrdiff_t>(stages) && before(*stage, *(place - 1)) &&
             std::get<Stage>((place - 1)->is).tensor != stage->tensor)
        --place;
      result.lines.insert(place, line);
    } else {
      result.lines.push_back(line);
    }
  }
  return result;
}

std::uint64_t hash(const Nest& nest) {
  std::uint64_t h = fnv1a_start;
  for (const Line& line : nest.lines) h = fnv1a(print(line) + "\n", h);
  return h;
}

}  // namespace isamap
