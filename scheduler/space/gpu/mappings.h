// SPDX-License-Identifier: Apache-2.0
#pragma once
// Mappings as nests in blocks use them (gpu_points.cpp): what the statement becomes, how its inputs come to the
// calls, and which mappings promise most.

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "isamap/search.h"
#include "scheduler/space/gpu/operand_feeds.h"

namespace isamap {

constexpr std::int64_t most_calls = 8;  ///< of a warp along a dim, or eighths of a call whose width can be chosen

struct BlockMapping {
  Computation statement;  ///< fused; `pairing.statement` is to point to it where it stays
  Pairing pairing;
  BlockMachine machine;
  std::vector<OperandFeed> feeds;  ///< by access; 0 is not used
  InstructionId combine;           ///< adds up parts of sums; invalid: each sum is one block's work
  bool counted() const {
    return std::all_of(feeds.begin() + 1, feeds.end(), [](const OperandFeed& f) { return !f.counted.empty(); });
  }
};

/// Nothing: the mapping has no such form.
std::optional<BlockMapping> block_mapping(const Kernel& kernel, StatementId id, const Mapping& mapping,
                                          const HardwareModel& model, const SpaceOptions& options);

/// Elements behind each row of `row` elements, so that what is asked for at once lies in different banks: as few as
/// that takes, or those with which the fewest meet. That is what instances fetch by themselves, if the feed says so,
/// and then the pieces that moves take from neighbouring rows.
std::int64_t pad_of_rows(const Memory& memory, std::int64_t row, std::int64_t element, const OperandFeed& feed);

/// The dim of the fused statement that begins with this one; empty: it is a later digit of one.
std::string fused_dim(const BlockMapping& m, const std::string& dim);
/// Points of the dim that one call takes; 0: calls do not run over it.
std::int64_t call_step(const BlockMapping& m, const std::string& dim);
/// A dim that is part of the instruction's name: one call of an eighth, two eighths .. of its largest extent, no more
/// than there is. 0: its extent is fixed.
std::int64_t chosen_step(const BlockMapping& m, const std::string& dim, std::int64_t eighths, std::int64_t extent);

/// Positions of mappings to begin with: those of ranked_mappings and, in turn with them, the fastest, among which
/// those come first that leave the fewest dims outside of their calls. A window whose reductions are all one dim
/// (r.s.c) has one ring of tiles, where others begin a new one for each r and s.
std::vector<std::size_t> promising_in_blocks(const Kernel& kernel, const Computation& unfused,
                                             const std::vector<Mapping>& mappings,
                                             const std::vector<BlockMapping>& prepared, const HardwareModel& model);

}  // namespace isamap
