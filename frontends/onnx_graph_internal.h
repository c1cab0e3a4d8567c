// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared by the two files that use the ONNX library: reading a model, and conversion to layers. Include only where
// ISAMAP_WITH_ONNX is defined.

#include <onnx/onnx_pb.h>

#include <set>

#include "frontends/onnx_internal.h"

namespace isamap {

/// Every contradiction that makes later steps meaningless or unsafe: undefined names, cycles, negative or huge shapes,
/// strides of 0.
Diagnostics check_graph(const onnx::GraphProto& graph);

/// Sets the batch (the first dimension of inputs, where it is no number) to 1, with a note.
void set_batch(onnx::GraphProto& graph, std::vector<std::string>& notes);

/// The shape and type of every value that has one after shape inference. Changes the model: parts that inference does
/// not need (weights, functions, bodies of control flow) are removed first, to save time.
std::map<std::string, OnnxValue> infer_values(onnx::ModelProto& model, std::vector<std::string>& notes);

/// Adds the shapes inferred by the ONNX library to model.graph().value_info(); false, and no change, when it fails.
bool infer_shapes(onnx::ModelProto& model);

/// The node with the names of its values only.
OnnxNode to_node(const onnx::NodeProto& node);
void fill_values(OnnxNode& node, const std::map<std::string, OnnxValue>& values);

/// The first 80 characters, unprintable ones as '?'.
std::string printable(const std::string& text);
/// "node 3 '/features/conv' (Conv)"; never longer than a line.
std::string node_title(const onnx::NodeProto& node, int position);

}  // namespace isamap
