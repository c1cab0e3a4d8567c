// SPDX-License-Identifier: Apache-2.0
#pragma once
// Mappings for thread blocks (points.cpp): the fused statement, operand feeds, ranking.

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "isamap/search.h"
#include "scheduler/space/gpu/operand_feeds.h"

namespace isamap {

constexpr std::int64_t most_calls = 8;  ///< of a warp along a dim, or eighths of an instruction of selectable width

struct BlockMapping {
  Computation statement;  ///< fused; `pairing.statement` must point to it
  Pairing pairing;
  BlockMachine machine;
  std::vector<OperandFeed> feeds;  ///< by access; 0 is not used
  InstructionId combine;           ///< combines partial sums; invalid: reductions are not split
  bool uses_counted_copies() const {
    return std::all_of(feeds.begin() + 1, feeds.end(), [](const OperandFeed& f) { return !f.counted_copy.empty(); });
  }
};

/// Nothing: the mapping has no such form.
std::optional<BlockMapping> block_mapping(const Kernel& kernel, StatementId id, const Mapping& mapping,
                                          const HardwareModel& model, const SpaceOptions& options);

/// Padding after each row of `row` elements against bank conflicts: the least with the fewest conflicts, first of the
/// elements that instances load concurrently, if the feed says so, then of the segments that moves read from
/// neighbouring rows.
std::int64_t pad_of_rows(const Memory& memory, std::int64_t row, std::int64_t element, const OperandFeed& feed);

/// The dim of the fused statement that begins with this one; empty: it is a later digit of one.
std::string fused_dim(const BlockMapping& m, const std::string& dim);
/// Points of the dim covered by one call; 0: none.
std::int64_t call_step(const BlockMapping& m, const std::string& dim);
/// For instructions of selectable width: one call of so many eighths of the largest extent, at most `extent`. 0: the
/// extent is fixed.
std::int64_t chosen_step(const BlockMapping& m, const std::string& dim, std::int64_t eighths, std::int64_t extent);

/// Positions of mappings for starts: those of ranked_mappings alternating with the fastest, fewest dims outside of the
/// calls first. A window whose reductions are one dim (r.s.c) has one circular buffer, where others restart it for each
/// r and s.
std::vector<std::size_t> ranked_block_mappings(const Kernel& kernel, const Computation& unfused,
                                               const std::vector<Mapping>& mappings,
                                               const std::vector<BlockMapping>& prepared, const HardwareModel& model);

}  // namespace isamap
