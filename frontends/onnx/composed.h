// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operators of other domains that are compositions of the standard's.

#include <functional>
#include <optional>
#include <string>

#include "frontends/onnx/maker.h"

namespace isamap::importing {

/// The rank of a value of the graph.
using RankOf = std::function<std::size_t(const std::string&)>;

/// The function that the node calls; nothing: it is no such operator. `com.microsoft.SkipLayerNormalization` of x0, x1
/// and x2 is LayerNormalization(Add(x0, x1), x2).
std::optional<Function> composed_operator(const Node& node, const RankOf& rank_of);

}  // namespace isamap::importing
