// SPDX-License-Identifier: Apache-2.0
#pragma once
// Order and reach of chains of tile fusions: A then B, B then C computes tiles of all three where A stands.

#include <optional>
#include <vector>

#include "scheduler/nest/fused_tiles.h"

namespace isamap {

/// Why a chain cannot continue with this fusion; nothing: it can. `found`: the fusions of all statements before its
/// producer, and those of the producer itself that were found before this one.
///
/// The consumer runs where its chain begins, once for each tile. So it must not depend on a statement between the two
/// places that runs later, nor on elements that another statement of the chain writes for other tiles or later within
/// the tile, and it must not overwrite what another statement of the chain reads or writes.
std::optional<Diagnostic> chain_problem(const Schedule& schedule, const Kernel& kernel,
                                        const std::vector<TileFusion>& found, const TileFusion& next);

}  // namespace isamap
