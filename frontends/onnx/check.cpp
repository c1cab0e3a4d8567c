// SPDX-License-Identifier: Apache-2.0
// A graph is checked as a whole before anything is made of it, so that every contradiction is named in one run.

#ifdef ISAMAP_WITH_ONNX

#include "frontends/onnx/check.h"

#include <algorithm>
#include <set>

#include "frontends/onnx/order.h"

namespace isamap::importing {

namespace {

constexpr int max_nodes = 100'000;
constexpr int max_rank = 32;
constexpr std::size_t max_problems = 20;

void check_shape(const std::string& what, const onnx::TypeProto& type, Diagnostics& problems) {
  if (!type.has_tensor_type() || !type.tensor_type().has_shape()) return;
  const auto& dims = type.tensor_type().shape().dim();
  if (dims.size() > max_rank)
    problems.push_back(error(what + " has " + std::to_string(dims.size()) + " dimensions; at most " +
                             std::to_string(max_rank) + " are read"));
  for (int d = 0; d < std::min(dims.size(), max_rank); ++d)  // -1 is some exporters' unknown size
    if (dims[d].has_dim_value() && dims[d].dim_value() < -1)
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

/// Attributes that importers divide by or loop over.
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

/// C and file formats end a name at a zero byte.
void check_zero_bytes(const onnx::GraphProto& graph, Diagnostics& problems) {
  const auto check = [&problems](const std::string& name, const std::string& what) {
    if (name.find('\0') != std::string::npos && problems.size() < max_problems)
      problems.push_back(error(what + " '" + printable(name) + "' has a zero byte in its name"));
  };
  for (const auto& input : graph.input()) check(input.name(), "input");
  for (const auto& output : graph.output()) check(output.name(), "output");
  for (const auto& tensor : graph.initializer()) check(tensor.name(), "constant");
  for (int i = 0; i < graph.node_size(); ++i) {
    check(graph.node(i).name(), "node " + std::to_string(i));
    for (const std::string& result : graph.node(i).output()) check(result, node_title(graph.node(i), i) + ": result");
  }
}

/// No value may depend on itself.
void check_cycles(const onnx::GraphProto& graph, Diagnostics& problems) {
  const auto cycle = execution_order(graph.node()).cycle;
  if (!cycle) return;
  const std::string reader = node_title(graph.node(cycle->reader), cycle->reader);
  problems.push_back(error(reader + " reads '" + printable(cycle->value) + "', which " +
                               (cycle->writer == cycle->reader
                                    ? "it writes itself"
                                    : node_title(graph.node(cycle->writer), cycle->writer) + " writes from its result"),
                           "the graph has a cycle"));
}

/// Names must be defined, and once.
void check_names(const onnx::GraphProto& graph, Diagnostics& problems) {
  std::set<std::string> defined, written_somewhere, told;
  for (const auto& input : graph.input())
    if (!defined.insert(input.name()).second)
      problems.push_back(error("two inputs are named '" + printable(input.name()) + "'"));
  for (const auto& tensor : graph.initializer()) defined.insert(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) defined.insert(tensor.values().name());
  for (const auto& node : graph.node()) written_somewhere.insert(node.output().begin(), node.output().end());
  for (int i = 0; i < graph.node_size() && problems.size() < max_problems; ++i) {
    for (const std::string& input : graph.node(i).input()) {
      if (input.empty() || defined.contains(input) || written_somewhere.contains(input)) continue;
      if (!told.insert(input).second) continue;
      problems.push_back(error(node_title(graph.node(i), i) + " reads '" + printable(input) +
                               "', which is no input, no constant and no result"));
    }
    for (const std::string& output : graph.node(i).output())
      if (!output.empty() && !defined.insert(output).second)
        problems.push_back(
            error(node_title(graph.node(i), i) + " writes '" + printable(output) + "', which is defined already"));
  }
}

}  // namespace

bool countable(const Sizes& sizes) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) {
    if (size < 0 || (size > 0 && count > (std::int64_t{1} << 48) / size)) return false;
    count *= std::max<std::int64_t>(size, 1);
  }
  return true;
}

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
  check_zero_bytes(graph, problems);
  if (problems.size() < max_problems) check_names(graph, problems);
  if (problems.size() < max_problems) check_cycles(graph, problems);
  if (problems.size() > max_problems) problems.resize(max_problems);
  return problems;
}

}  // namespace isamap::importing

#endif
