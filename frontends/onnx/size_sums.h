// SPDX-License-Identifier: Apache-2.0
#pragma once
// Open sizes of inputs whose names are sums of other open sizes, as exporters write them: the mask of a decoder with a
// cache has an axis `past_sequence_length + sequence_length`.

#include <map>
#include <set>
#include <string>

#include "frontends/onnx/graph.h"
#include "isamap/expression.h"

namespace isamap::importing {

/// The name of an open axis: the symbol in the file, or INPUT.AXIS.
std::string size_name(const Declared& input, std::size_t axis);

/// By name, the expression that it spells. All that one refers to are open sizes of their own.
std::map<std::string, IntExpr> size_sums(const Graph& graph);

/// The names that a sum refers to.
std::set<std::string> names_in(const IntExpr& sum);

}  // namespace isamap::importing
