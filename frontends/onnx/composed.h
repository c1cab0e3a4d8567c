// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operators of other domains that are compositions of the standard's.

#include <functional>
#include <optional>
#include <string>

#include "frontends/onnx/maker.h"

namespace isamap::importing {

/// A value of the graph.
using ValueOf = std::function<const Value&(const std::string&)>;

/// The function that the node calls; nothing: it is no such operator. `com.microsoft.SkipLayerNormalization` of x0, x1
/// and x2 is LayerNormalization(Add(x0, x1), x2).
std::optional<Function> composed_operator(const Node& node, const ValueOf& value_of);

}  // namespace isamap::importing
