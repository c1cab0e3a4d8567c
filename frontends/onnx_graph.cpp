// SPDX-License-Identifier: Apache-2.0
// The graph of an ONNX model: checked first, then shapes by the library's inference.
//
// Parts that inference does not need are removed: weights, functions (which may be recursive), bodies of control flow,
// unknown operators.

#ifdef ISAMAP_WITH_ONNX

#include <algorithm>

#include "frontends/onnx_graph_internal.h"

namespace isamap {

namespace {

constexpr int max_nodes = 100'000;
constexpr int max_rank = 32;
constexpr std::size_t max_problems = 20;
constexpr std::int64_t max_constant = 1024;  ///< elements of a constant that inference may read

void check_shape(const std::string& what, const onnx::TypeProto& type, Diagnostics& problems) {
  if (!type.has_tensor_type() || !type.tensor_type().has_shape()) return;
  const auto& dims = type.tensor_type().shape().dim();
  if (dims.size() > max_rank)
    problems.push_back(error(what + " has " + std::to_string(dims.size()) + " dimensions; at most " +
                             std::to_string(max_rank) + " are read"));
  for (int d = 0; d < std::min(dims.size(), max_rank); ++d)
    if (dims[d].has_dim_value() && dims[d].dim_value() < 0)
      problems.push_back(error(what + " has the size " + std::to_string(dims[d].dim_value()) + " in dimension " +
                                   std::to_string(d) + ": sizes must not be negative",
                               "a size that is not known is written as a symbol"));
}

void check_constant(const onnx::TensorProto& tensor, Diagnostics& problems) {
  const std::string what = "constant '" + printable(tensor.name()) + "'";
  if (tensor.dims_size() > max_rank)
    problems.push_back(error(what + " has " + std::to_string(tensor.dims_size()) + " dimensions; at most " +
                             std::to_string(max_rank) + " are read"));
  for (int d = 0; d < std::min(tensor.dims_size(), max_rank); ++d)
    if (tensor.dims(d) < 0)
      problems.push_back(error(what + " has the size " + std::to_string(tensor.dims(d)) + " in dimension " +
                               std::to_string(d) + ": sizes must not be negative"));
}

/// Attributes that shape inference divides by or loops over.
void check_attributes(const onnx::NodeProto& node, const std::string& title, Diagnostics& problems) {
  static const std::set<std::string> positive = {"strides",   "dilations",   "kernel_shape", "group",
                                                 "blocksize", "num_outputs", "hidden_size",  "output_shape"};
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.has_t()) check_constant(attribute.t(), problems);
    if (!positive.contains(attribute.name())) continue;
    std::vector<std::int64_t> values(attribute.ints().begin(), attribute.ints().end());
    if (attribute.type() == onnx::AttributeProto::INT) values = {attribute.i()};
    for (const std::int64_t value : values)
      if (value < 1 || value > (std::int64_t{1} << 30)) {
        problems.push_back(error(title + ": attribute " + attribute.name() + " holds " + std::to_string(value) +
                                 "; 1 to 2^30 is possible"));
        break;
      }
  }
}

/// Names must be defined before use, which excludes cycles too.
void check_names(const onnx::GraphProto& graph, Diagnostics& problems) {
  std::set<std::string> defined, written_somewhere;
  for (const auto& input : graph.input()) defined.insert(input.name());
  for (const auto& tensor : graph.initializer()) defined.insert(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) defined.insert(tensor.values().name());
  for (const auto& node : graph.node()) written_somewhere.insert(node.output().begin(), node.output().end());
  for (int i = 0; i < graph.node_size() && problems.size() < max_problems; ++i) {
    for (const std::string& input : graph.node(i).input()) {
      if (input.empty() || defined.contains(input)) continue;
      const bool later = written_somewhere.contains(input);
      problems.push_back(
          error(node_title(graph.node(i), i) + " reads '" + printable(input) + "', which " +
                    (later ? "only it or a later node writes" : "is no input, no constant and no result"),
                later ? "the graph has a cycle or is not in order" : ""));
    }
    for (const std::string& output : graph.node(i).output())
      if (!output.empty() && !defined.insert(output).second)
        problems.push_back(
            error(node_title(graph.node(i), i) + " writes '" + printable(output) + "', which is defined already"));
  }
}

bool has_body(const onnx::NodeProto& node) {
  return std::any_of(node.attribute().begin(), node.attribute().end(),
                     [](const onnx::AttributeProto& a) { return a.has_g() || a.graphs_size() > 0; });
}

/// -1: overflow.
std::int64_t count(const onnx::TensorProto& tensor) {
  std::int64_t result = 1;
  for (const std::int64_t size : tensor.dims()) {
    if (size != 0 && result > max_constant * max_constant / size) return -1;
    result *= size;
  }
  return result;
}

bool is_small(const onnx::TensorProto& tensor) {
  const std::int64_t elements = count(tensor);
  return elements >= 0 && elements <= max_constant && tensor.ByteSizeLong() < 64 * max_constant &&
         tensor.data_location() != onnx::TensorProto::EXTERNAL;
}

/// A constant by its shape alone.
void add_as_input(onnx::GraphProto& graph, const std::string& name, const onnx::TensorProto& tensor) {
  for (const auto& input : graph.input())
    if (input.name() == name) return;
  onnx::ValueInfoProto& input = *graph.add_input();
  input.set_name(name);
  auto& type = *input.mutable_type()->mutable_tensor_type();
  type.set_elem_type(tensor.data_type());
  for (const std::int64_t size : tensor.dims()) type.mutable_shape()->add_dim()->set_dim_value(size);
}

/// Large constants become inputs of the same shape. `constants` collects every constant's shape.
void remove_weights(onnx::GraphProto& graph, std::map<std::string, OnnxValue>& constants);

OnnxValue of_constant(const std::string& name, const onnx::TensorProto& tensor) {
  return {name, std::vector<std::int64_t>(tensor.dims().begin(), tensor.dims().end()),
          dtype_of_onnx(tensor.data_type()), tensor.data_type()};
}

OnnxValue of_info(const onnx::ValueInfoProto& info) {
  OnnxValue value{info.name(), std::nullopt, std::nullopt, 0};
  if (!info.type().has_tensor_type()) return value;
  const auto& type = info.type().tensor_type();
  value.dtype = dtype_of_onnx(type.elem_type());
  value.onnx_type = type.elem_type();
  if (!type.has_shape()) return value;
  value.shape.emplace();
  for (const auto& dim : type.shape().dim()) value.shape->push_back(dim.has_dim_value() ? dim.dim_value() : -1);
  return value;
}

void remove_weights(onnx::GraphProto& graph, std::map<std::string, OnnxValue>& constants) {
  google::protobuf::RepeatedPtrField<onnx::TensorProto> kept;
  for (auto& tensor : *graph.mutable_initializer()) {
    constants[tensor.name()] = of_constant(tensor.name(), tensor);
    if (is_small(tensor))
      kept.Add()->Swap(&tensor);
    else
      add_as_input(graph, tensor.name(), tensor);
  }
  graph.mutable_initializer()->Swap(&kept);
  graph.clear_sparse_initializer();
}

/// Nodes passed to inference: known operators of the standard domain without bodies and with small constants.
bool is_harmless(const onnx::NodeProto& node) {
  if (!node.domain().empty() && node.domain() != "ai.onnx") return false;
  const bool constant = node.op_type() == "Constant" || node.op_type() == "ConstantOfShape";
  return (constant || find_operator(node.op_type())) && !has_body(node);
}

void keep_harmless_nodes(onnx::GraphProto& graph, std::map<std::string, OnnxValue>& constants) {
  google::protobuf::RepeatedPtrField<onnx::NodeProto> kept;
  for (auto& node : *graph.mutable_node()) {
    if (!is_harmless(node)) continue;
    const onnx::TensorProto* large = nullptr;
    for (const auto& attribute : node.attribute())
      if (attribute.has_t() && !is_small(attribute.t())) large = &attribute.t();
    if (!large) {
      kept.Add()->Swap(&node);
    } else if (node.op_type() == "Constant" && node.output_size() == 1) {
      constants[node.output(0)] = of_constant(node.output(0), *large);
      add_as_input(graph, node.output(0), *large);
    }
  }
  graph.mutable_node()->Swap(&kept);
}

}  // namespace

std::string printable(const std::string& text) {
  std::string result;
  for (const char c : text.substr(0, 80)) result += c >= 0x20 && c < 0x7f ? c : '?';
  return text.size() > 80 ? result + "..." : result;
}

std::string node_title(const onnx::NodeProto& node, int position) {
  return "node " + std::to_string(position) + (node.name().empty() ? "" : " '" + printable(node.name()) + "'") + " (" +
         printable(node.op_type()) + ")";
}

Diagnostics check_graph(const onnx::GraphProto& graph) {
  Diagnostics problems;
  if (graph.node_size() > max_nodes)
    return {error("the graph has " + std::to_string(graph.node_size()) + " nodes; at most " +
                  std::to_string(max_nodes) + " are read")};
  for (const auto& input : graph.input())
    check_shape("input '" + printable(input.name()) + "'", input.type(), problems);
  for (const auto& value : graph.value_info())
    check_shape("value '" + printable(value.name()) + "'", value.type(), problems);
  for (const auto& output : graph.output())
    check_shape("output '" + printable(output.name()) + "'", output.type(), problems);
  for (const auto& tensor : graph.initializer()) check_constant(tensor, problems);
  for (int i = 0; i < graph.node_size() && problems.size() < max_problems; ++i)
    check_attributes(graph.node(i), node_title(graph.node(i), i), problems);
  if (problems.size() < max_problems) check_names(graph, problems);
  if (problems.size() > max_problems) problems.resize(max_problems);
  return problems;
}

void set_batch(onnx::GraphProto& graph, std::vector<std::string>& notes) {
  std::set<std::string> constants, symbols;
  for (const auto& tensor : graph.initializer()) constants.insert(tensor.name());
  for (auto& input : *graph.mutable_input()) {
    if (constants.contains(input.name()) || !input.type().has_tensor_type()) continue;
    auto& shape = *input.mutable_type()->mutable_tensor_type()->mutable_shape();
    if (shape.dim_size() < 2 || shape.dim(0).has_dim_value()) continue;
    if (shape.dim(0).has_dim_param() && !shape.dim(0).dim_param().empty()) symbols.insert(shape.dim(0).dim_param());
    notes.push_back("the batch size of input '" + printable(input.name()) + "' is not a number: 1 is used");
    shape.mutable_dim(0)->set_dim_value(1);
  }
  const auto replace = [&](auto& infos) {
    for (auto& info : infos) {
      if (!info.type().has_tensor_type() || !info.type().tensor_type().has_shape()) continue;
      for (auto& dim : *info.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim())
        if (dim.has_dim_param() && symbols.contains(dim.dim_param())) dim.set_dim_value(1);
    }
  };
  replace(*graph.mutable_input());
  replace(*graph.mutable_value_info());
  replace(*graph.mutable_output());
}

std::map<std::string, OnnxValue> infer_values(onnx::ModelProto& model, std::vector<std::string>& notes) {
  std::map<std::string, OnnxValue> values, constants;
  model.clear_functions();
  model.clear_training_info();
  remove_weights(*model.mutable_graph(), constants);
  keep_harmless_nodes(*model.mutable_graph(), constants);
  if (!infer_shapes(model))
    notes.push_back("the ONNX library finds no shapes for this model: only those in the file are known");
  const onnx::GraphProto& graph = model.graph();
  for (const auto* infos : {&graph.value_info(), &graph.output(), &graph.input()})
    for (const auto& info : *infos)
      if (OnnxValue value = of_info(info); value.shape || !values.contains(info.name()))
        values[info.name()] = std::move(value);
  for (auto& [name, value] : constants) values[name] = std::move(value);
  return values;
}

OnnxNode to_node(const onnx::NodeProto& node) {
  OnnxNode result;
  result.name = printable(node.name());
  result.op = node.op_type();
  result.domain = printable(node.domain());
  for (const std::string& input : node.input()) result.inputs.push_back({input, std::nullopt, std::nullopt, 0});
  for (const std::string& output : node.output()) result.outputs.push_back({output, std::nullopt, std::nullopt, 0});
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.type() == onnx::AttributeProto::INT) result.ints[attribute.name()] = {attribute.i()};
    if (attribute.type() == onnx::AttributeProto::INTS)
      result.ints[attribute.name()].assign(attribute.ints().begin(), attribute.ints().end());
    if (attribute.type() == onnx::AttributeProto::FLOAT) result.reals[attribute.name()] = attribute.f();
    if (attribute.type() == onnx::AttributeProto::STRING) result.texts[attribute.name()] = printable(attribute.s());
  }
  return result;
}

void fill_values(OnnxNode& node, const std::map<std::string, OnnxValue>& values) {
  for (auto* list : {&node.inputs, &node.outputs})
    for (OnnxValue& value : *list) {
      const auto found = values.find(value.name);
      if (found != values.end()) value = found->second;
      value.name = printable(value.name);
    }
}

}  // namespace isamap

#endif
