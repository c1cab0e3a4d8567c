// SPDX-License-Identifier: Apache-2.0
#pragma once
// The order in which the nodes of a graph can be executed. The format asks for that order; converters that insert or
// append nodes do not keep it. Include only where ISAMAP_WITH_ONNX is defined.

#include <onnx/onnx_pb.h>

#include <optional>
#include <string>
#include <vector>

namespace isamap::importing {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

/// A node that reads a value that another one writes, which depends on the first; the two may be one.
struct Cycle {
  int reader = 0;
  std::string value;
  int writer = 0;
};

struct NodeOrder {
  std::vector<int> nodes;      ///< all of them, by position in the file; those that depend on a cycle at the end
  std::optional<Cycle> cycle;  ///< the first one
};

/// Writers before readers, what graphs in attributes read from outside included; of nodes that are ready, the one that
/// stands first in the file. Nodes that are in order stay as they are.
NodeOrder execution_order(const Nodes& nodes);

}  // namespace isamap::importing
