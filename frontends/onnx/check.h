// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks of a graph as the file has it. Include only where ISAMAP_WITH_ONNX is defined.

#include <onnx/onnx_pb.h>

#include <optional>
#include <string>

#include "frontends/onnx/graph.h"

namespace isamap::importing {

/// Every contradiction that makes later steps meaningless or unsafe: undefined names, names of two values or with a
/// zero byte, cycles, negative or huge shapes, strides of 0.
Diagnostics check_graph(const onnx::GraphProto& graph);

/// The first 80 characters, unprintable ones as '?'.
std::string printable(const std::string& text);
/// "node 3 '/features/conv' (Conv)"; never longer than a line.
std::string node_title(const onnx::NodeProto& node, int position);
/// Do elements and bytes fit 48 bits?
bool countable(const Sizes& sizes);

}  // namespace isamap::importing
