// SPDX-License-Identifier: Apache-2.0
#pragma once
// On machines of command streams: an element-wise consumer takes each complete tile from where its producer holds it,
// such as a scaled store from the accumulator. Without it the tile is stored, and loaded again.

#include <vector>

#include "isamap/hardware.h"
#include "isamap/mapping.h"
#include "isamap/schedule.h"

namespace isamap {

/// The two nests with `then` and `from`.
struct ConsumedTile {
  Nest producer, consumer;
};

/// Candidates for the consumer with this mapping, not checked: tiles of the producer from the inside out, and results
/// of the whole tile or of one call in a scratchpad. `nest`: of `producer`, resolved without problems.
std::vector<ConsumedTile> consumed_tiles(const Kernel& kernel, const HardwareModel& model, StatementId producer,
                                         const Nest& nest, const Mapping& mapping);

/// A consumer that takes the whole tensor from the scratchpad where its producer leaves it, in tiles
/// (scheduler/nest/resident_intermediate.h), or all of it above its loops; the consumer has it above its loops.
/// Candidates, not checked; none: the two do not stage it in one memory, or the consumer's nest begins with tiles of
/// another.
std::vector<ConsumedTile> kept_tensor(const Kernel& kernel, const HardwareModel& model, StatementId producer,
                                      StatementId consumer, const Schedule& schedule);

/// The nest with sums that begin with this copy, at its outermost stage of the output; nothing: it has none.
std::optional<Nest> begun_with(const Nest& nest, const std::string& output, const std::string& copy,
                               const HardwareModel& model);

}  // namespace isamap
