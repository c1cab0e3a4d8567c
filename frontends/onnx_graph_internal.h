// SPDX-License-Identifier: Apache-2.0
#pragma once
// Between the two files that know the ONNX library: reading a model, and making layers of it.
// Include only where ISAMAP_WITH_ONNX is defined.

#include <onnx/onnx_pb.h>

#include <set>

#include "frontends/onnx_internal.h"

namespace isamap {

/// Every contradiction that would make the rest meaningless or unsafe: names that nothing defines, cycles, negative or
/// huge shapes, strides of 0.
Diagnostics check_graph(const onnx::GraphProto& graph);

/// Gives the batch (the first dimension of inputs, where it is no number) the size 1; says so in the notes.
void set_batch(onnx::GraphProto& graph, std::vector<std::string>& notes);

/// The shape and type of every value that has one after shape inference. Changes the model: what inference does not
/// need (weights, functions, bodies of control flow) is removed first, so that it costs no time.
std::map<std::string, OnnxValue> infer_values(onnx::ModelProto& model, std::vector<std::string>& notes);

/// Adds what the ONNX library infers to model.graph().value_info(); false, and no change, when it fails.
bool infer_shapes(onnx::ModelProto& model);

/// The node with the names of its values only.
OnnxNode to_node(const onnx::NodeProto& node);
void fill_values(OnnxNode& node, const std::map<std::string, OnnxValue>& values);

/// The first 80 characters, what cannot be printed as '?'.
std::string printable(const std::string& text);
/// "node 3 '/features/conv' (Conv)"; never longer than a line.
std::string node_title(const onnx::NodeProto& node, int position);

}  // namespace isamap
