// SPDX-License-Identifier: Apache-2.0
// What of a digit differs between points of one call, and what its tile decides.

#include <numeric>

#include "mapper/conditions.h"

namespace isamap {

std::uint32_t moves_in_call(const Alignment& alignment, const Walker& walker) {
  std::uint32_t set = 0;
  if (walker.extent <= 1) return 0;
  for (const Walker::Place& place : walker.places)
    if (place.weight % unit_extent(alignment, place.dim) != 0) set |= std::uint32_t{1} << place.dim;
  return set;
}

namespace {

/// A digit inside a call: its values are `block` * (what the tile decides) + 0..steps-1. Nothing where tiles cut it
/// unevenly.
struct InCall {
  std::int64_t steps = 1, block = 1;
  bool tiled = false;
};
std::optional<InCall> in_call(const Alignment& alignment, const Walker& walker) {
  const Walker::Place& place = walker.places.front();
  const std::int64_t extent = unit_extent(alignment, place.dim);
  if (place.weight % extent == 0) return InCall{1, 1, true};
  if (extent % place.weight != 0) return std::nullopt;
  const std::int64_t block = extent / place.weight;
  if (block % walker.extent == 0) return InCall{walker.extent, walker.extent, false};
  if (walker.extent % block == 0) return InCall{block, block, true};
  return std::nullopt;
}

}  // namespace

/// Do calls reach coordinate d in blocks, all of a block inside the domain or all outside? In a call it grows from a
/// multiple of g by less than g, where g divides the extent and whatever loops and tiles add.
bool aligned(const Alignment& alignment, const std::vector<Walker>& walkers, const Cover& cover, std::size_t d) {
  std::int64_t g = alignment.computation().domain.dims[d].extent, reach = 0;
  for (const Cover::Loop& loop : cover.loops) g = std::gcd(g, loop.step[d]);
  for (const Walker& walker : walkers) {
    if (walker.column[d] == 0 || walker.extent <= 1) continue;
    const auto part = in_call(alignment, walker);
    if (!part || (part->steps > 1 && walker.column[d] < 0)) return false;
    if (part->tiled) g = std::gcd(g, walker.column[d] * part->block);
    reach += walker.column[d] * (part->steps - 1);
  }
  return reach < g;
}

}  // namespace isamap
