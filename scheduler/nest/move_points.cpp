// SPDX-License-Identifier: Apache-2.0
#include "scheduler/nest/move_points.h"

#include <algorithm>
#include <optional>

#include "ir/legal.h"
#include "scheduler/nest/operand_compatibility.h"

namespace isamap {
namespace {

/// In memory a move may be smaller than a block, if it divides the block.
std::optional<std::int64_t> block_for(const CutCoordinate& c, const DimRange& range) {
  if (c.in_memory && c.block > range.max && range.max > 1 && c.block % range.max == 0) return range.max;
  const std::int64_t block = c.block > 1 ? c.block : std::max<std::int64_t>(1, std::min(range.max, c.padded));
  if (c.block > 1 && range.max < c.block) return std::nullopt;
  return block;
}

/// ... or several whole blocks, if the layouts agree.
std::optional<std::int64_t> blocks_for(const CutCoordinate& c, const DimRange& range) {
  if (!c.in_memory || c.block <= 1 || range.max <= c.block || range.max % c.block != 0 || c.padded % range.max != 0)
    return std::nullopt;
  return range.max;
}

}  // namespace

std::vector<std::int64_t> points_of_move(const CutCoordinate& c, const DimRange& range, bool smaller) {
  std::vector<std::int64_t> blocks;
  for (const auto& block : {block_for(c, range), blocks_for(c, range)})
    if (block) blocks.push_back(*block);
  if (!smaller || !c.in_memory || blocks.empty()) return blocks;
  const std::int64_t least = std::max<std::int64_t>(1, range.min);
  DimRange below = range;
  below.max = blocks.front() - 1;
  if (range.fixed() || below.max < least) return blocks;
  constexpr std::size_t few = 16;
  std::vector<std::int64_t> smaller_ones;  // halves first: they leave no tails, and ties in calls go to the first
  for (std::int64_t half = blocks.front() / 2; half >= least; half /= 2) smaller_ones.push_back(half);
  const auto all = some_extents(below, few);
  smaller_ones.insert(smaller_ones.end(), all.begin(), all.end());
  for (const std::int64_t block : smaller_ones)
    if (allows(range, block) && (c.block <= 1 || c.block % block == 0) &&
        std::find(blocks.begin(), blocks.end(), block) == blocks.end())
      blocks.push_back(block);
  return blocks;
}

}  // namespace isamap
