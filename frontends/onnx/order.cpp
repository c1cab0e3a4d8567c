// SPDX-License-Identifier: Apache-2.0
// Kahn's algorithm (CACM 1962) with a queue that is ordered by position in the file.

#ifdef ISAMAP_WITH_ONNX

#include "frontends/onnx/order.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <set>

namespace isamap::importing {
namespace {

std::set<std::string> values_read(const onnx::NodeProto& node);

/// Of those outside.
std::set<std::string> values_read(const onnx::GraphProto& graph) {
  std::set<std::string> read;
  for (const auto& node : graph.node()) read.merge(values_read(node));
  for (const auto& output : graph.output()) read.insert(output.name());
  for (const auto& input : graph.input()) read.erase(input.name());
  for (const auto& tensor : graph.initializer()) read.erase(tensor.name());
  for (const auto& node : graph.node())
    for (const std::string& output : node.output()) read.erase(output);
  return read;
}

std::set<std::string> values_read(const onnx::NodeProto& node) {
  std::set<std::string> read(node.input().begin(), node.input().end());
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) read.merge(values_read(attribute.g()));
    for (const auto& graph : attribute.graphs()) read.merge(values_read(graph));
  }
  read.erase("");
  return read;
}

template <class Values>
auto& at(Values& values, int node) {
  return values[static_cast<std::size_t>(node)];
}

class Sort {
 public:
  explicit Sort(const Nodes& nodes) : writers_(static_cast<std::size_t>(nodes.size())) {
    std::map<std::string, int> writer;
    for (int i = 0; i < nodes.size(); ++i)
      for (const std::string& output : nodes[i].output()) writer.emplace(output, i);
    for (int i = 0; i < nodes.size(); ++i)
      for (const std::string& value : values_read(nodes[i]))
        if (const auto it = writer.find(value); it != writer.end()) at(writers_, i).emplace(it->second, value);
  }

  NodeOrder run() {
    std::vector<std::vector<int>> readers(writers_.size());
    std::vector<std::size_t> waits;
    std::priority_queue<int, std::vector<int>, std::greater<>> ready;
    for (int i = 0; i < static_cast<int>(writers_.size()); ++i) {
      waits.push_back(at(writers_, i).size());
      for (const auto& [writer, value] : at(writers_, i)) at(readers, writer).push_back(i);
      if (waits.back() == 0) ready.push(i);
    }
    NodeOrder order;
    std::vector<bool> done(writers_.size());
    for (; !ready.empty();) {
      const int node = ready.top();
      ready.pop();
      order.nodes.push_back(node);
      done[static_cast<std::size_t>(node)] = true;
      for (const int reader : at(readers, node))
        if (--at(waits, reader) == 0) ready.push(reader);
    }
    if (order.nodes.size() == writers_.size()) return order;
    order.cycle = cycle_among(done);
    for (int i = 0; i < static_cast<int>(done.size()); ++i)
      if (!done[static_cast<std::size_t>(i)]) order.nodes.push_back(i);
    return order;
  }

 private:
  /// Each node that is left reads of another one that is left: from the first one to these, until one comes again.
  Cycle cycle_among(const std::vector<bool>& done) const {
    const auto before = [&](int node) {
      const auto& of = at(writers_, node);
      return *std::find_if(of.begin(), of.end(),
                           [&](const auto& w) { return !done[static_cast<std::size_t>(w.first)]; });
    };
    int node = static_cast<int>(std::find(done.begin(), done.end(), false) - done.begin());
    std::set<int> seen;
    while (seen.insert(node).second) node = before(node).first;
    int first = node;
    for (int on = before(node).first; on != node; on = before(on).first) first = std::min(first, on);
    return {first, before(first).second, before(first).first};
  }

  std::vector<std::set<std::pair<int, std::string>>> writers_;  ///< by reader: the writer and the value
};

}  // namespace

NodeOrder execution_order(const Nodes& nodes) { return Sort(nodes).run(); }

}  // namespace isamap::importing

#endif
