// SPDX-License-Identifier: Apache-2.0
// The machine as a graph: memories are vertices, links are edges. Boost.Graph stays in this file.

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>

#include "isamap/hardware.h"
#include "isamap/result.h"

namespace isamap {

struct HardwareModel::Graph {
  using Edges = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, LinkId>;
  explicit Graph(std::size_t vertices) : edges(vertices) {}
  Edges edges;
  std::vector<std::vector<MemoryId>> paths;  ///< by source and target
  std::vector<std::vector<LinkId>> links;    ///< along these paths
  std::vector<InstructionId> moves;
  std::vector<std::vector<InstructionId>> moves_between;  ///< by source and target
  MemoryId home;
};

namespace {

template <class IdType, class Named>
std::optional<IdType> find_named(const std::vector<Named>& list, const std::string& name) {
  for (std::size_t i = 0; i < list.size(); ++i)
    if (list[i].name == name) return make_id<IdType>(i);
  return std::nullopt;
}

/// The number of units that enclose this one.
int depth(const std::vector<Unit>& units, UnitId id) {
  int result = 0;
  for (UnitId u = units[id.index()].parent; u.valid(); u = units[u.index()].parent) ++result;
  return result;
}

}  // namespace

std::string_view name(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::dram:
      return "dram";
    case MemoryKind::cache:
      return "cache";
    case MemoryKind::scratchpad:
      return "scratchpad";
    case MemoryKind::accumulator:
      return "accumulator";
    case MemoryKind::register_file:
      return "register";
  }
  return "";
}

bool allows(const Symbol& symbol, std::int64_t value) {
  return value >= symbol.min && value <= symbol.max && value % symbol.multiple_of == 0 &&
         (!symbol.power_of_two || (value & (value - 1)) == 0);
}

std::string print(const Sizes& sizes) {
  std::string text;
  for (const auto& [name, value] : sizes) text += (text.empty() ? "" : ", ") + name + " = " + std::to_string(value);
  return text;
}

std::optional<UnitId> HardwareModel::find_unit(const std::string& key) const { return find_named<UnitId>(units_, key); }
std::optional<MemoryId> HardwareModel::find_memory(const std::string& key) const {
  return find_named<MemoryId>(memories_, key);
}
std::optional<InstructionId> HardwareModel::find_instruction(const std::string& key) const {
  return find_named<InstructionId>(instructions_, key);
}

void HardwareModel::finish(Parts parts) {
  units_ = std::move(parts.units);
  memories_ = std::move(parts.memories);
  links_ = std::move(parts.links);
  instructions_ = std::move(parts.instructions);
  states_ = std::move(parts.states);
  formats_ = std::move(parts.formats);
  barriers_ = std::move(parts.barriers);
  async_ = std::move(parts.async);
  symbols_ = std::move(parts.symbols);
  objects_ = std::move(parts.objects);
  auto graph = std::make_shared<Graph>(memories_.size());
  for (std::size_t i = 0; i < links_.size(); ++i)
    boost::add_edge(links_[i].from.index(), links_[i].to.index(), make_id<LinkId>(i), graph->edges);
  graph->moves_between.resize(memories_.size() * memories_.size());
  for (std::size_t i = 0; i < instructions_.size(); ++i) {
    if (!is_move(instructions_[i])) continue;
    graph->moves.push_back(make_id<InstructionId>(i));
    const std::vector<Operand>& operands = instructions_[i].operands;
    if (operands.size() >= 2 && operands[0].memory.valid() && operands[1].memory.valid())
      graph->moves_between[pair_of(operands[1].memory, operands[0].memory)].push_back(graph->moves.back());
  }
  for (std::size_t i = 0; i < memories_.size(); ++i) {
    if (memories_[i].kind != MemoryKind::dram) continue;
    MemoryId& home = graph->home;
    if (!home.valid() || depth(units_, memories_[i].per) < depth(units_, memory(home).per)) home = make_id<MemoryId>(i);
  }
  graph_ = graph;
  for (std::size_t from = 0; from < memories_.size(); ++from)
    for (std::size_t to = 0; to < memories_.size(); ++to) {
      graph->paths.push_back(shortest_path(make_id<MemoryId>(from), make_id<MemoryId>(to)));
      const std::vector<MemoryId>& path = graph->paths.back();
      std::vector<LinkId>& links = graph->links.emplace_back();
      for (std::size_t i = 0; i + 1 < path.size(); ++i)
        for (const LinkId l : links_from(path[i]))
          if (link(l).to == path[i + 1]) {
            links.push_back(l);
            break;
          }
    }
}

const std::vector<MemoryId>& HardwareModel::path(MemoryId from, MemoryId to) const {
  return graph_->paths[pair_of(from, to)];
}

const std::vector<LinkId>& HardwareModel::links_on_path(MemoryId from, MemoryId to) const {
  return graph_->links[pair_of(from, to)];
}

const std::vector<InstructionId>& HardwareModel::moves() const { return graph_->moves; }
const std::vector<InstructionId>& HardwareModel::moves_between(MemoryId from, MemoryId to) const {
  static const std::vector<InstructionId> none;
  if (!from.valid() || !to.valid()) return none;
  return graph_->moves_between[pair_of(from, to)];
}

Sizes HardwareModel::sizes() const {
  Sizes all;
  for (const Symbol& symbol : symbols_) all.emplace(symbol.name, symbol.value);
  return all;
}

const std::vector<HardwareModel>& HardwareModel::versions() const {
  static const std::vector<HardwareModel> none;
  return versions_ ? *versions_ : none;
}

void HardwareModel::set_versions(std::vector<HardwareModel> versions) {
  versions_ = std::make_shared<const std::vector<HardwareModel>>(std::move(versions));
}

std::vector<LinkId> HardwareModel::links_from(MemoryId memory) const {
  std::vector<LinkId> result;
  const auto& edges = graph_->edges;
  for (auto [edge, end] = boost::out_edges(memory.index(), edges); edge != end; ++edge) result.push_back(edges[*edge]);
  return result;
}

std::vector<MemoryId> HardwareModel::shortest_path(MemoryId from, MemoryId to) const {
  if (from == to) return {from};
  std::vector<std::size_t> before(memories_.size(), memories_.size());
  boost::breadth_first_search(
      graph_->edges, from.index(),
      boost::visitor(boost::make_bfs_visitor(boost::record_predecessors(before.data(), boost::on_tree_edge()))));
  std::vector<MemoryId> result;
  for (std::size_t m = to.index(); m < memories_.size(); m = before[m]) {
    result.push_back(make_id<MemoryId>(m));
    if (m == from.index()) {
      std::reverse(result.begin(), result.end());
      return result;
    }
  }
  return {};
}

MemoryId HardwareModel::home() const {
  ISAMAP_CHECK(graph_->home.valid(), "a model without a dram memory passed the loader: " + name);
  return graph_->home;
}

bool HardwareModel::inside(UnitId inner, UnitId outer) const {
  for (UnitId u = inner; u.valid(); u = unit(u).parent)
    if (u == outer) return true;
  return false;
}

std::optional<UnitId> HardwareModel::scalar_unit_for(MemoryId memory_id) const {
  std::optional<UnitId> best;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    const auto id = make_id<UnitId>(i);
    if (!units_[i].scalar || !inside(id, memory(memory_id).per)) continue;
    if (!best || depth(units_, id) > depth(units_, *best)) best = id;
  }
  return best;
}

std::int64_t HardwareModel::instances(UnitId id) const {
  std::int64_t product = 1;
  for (UnitId u = id; u.valid(); u = unit(u).parent) product *= unit(u).count;
  return product;
}

}  // namespace isamap
