// SPDX-License-Identifier: Apache-2.0
#pragma once
// Dims of a producer and a consumer that traverse one tensor alike (scheduler/nest/fused_tiles.h).

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "isamap/kernel.h"

namespace isamap {

/// The producer's dims in a tensor, each with the consumer's index there: a dim, or a constant along a whole axis.
using MatchedDims = std::vector<std::pair<std::string, AffineExpr>>;
/// Nothing: an index on either side is not a plain dim, and not the same on the other, or a dim is in two indices.
std::optional<MatchedDims> matched_dims(const Access& write, const Access& read);

}  // namespace isamap
