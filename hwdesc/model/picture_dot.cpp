// SPDX-License-Identifier: Apache-2.0
// `hw graph --format dot`: units as clusters, memories as nodes, links as edges with their bandwidths.

#include <fmt/format.h>

#include <functional>

#include "hwdesc/model/describe_internal.h"
#include "isamap/hardware.h"

namespace isamap {

const char* colour(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::dram:
      return "#cfe3f7";
    case MemoryKind::cache:
      return "#e6e6e6";
    case MemoryKind::scratchpad:
      return "#d8f0d2";
    case MemoryKind::accumulator:
      return "#f9e2c4";
    case MemoryKind::register_file:
      return "#f3d3dd";
  }
  return "#ffffff";
}

std::string memory_size(const Memory& memory) {
  return memory.is_register() ? fmt::format("{} x {}", memory.count, size_text(memory.size))
                              : size_text(memory.capacity);
}

std::string unit_title(const Unit& unit) {
  return unit.count == 1 ? unit.name : fmt::format("{} x {}{}", unit.name, unit.at_most ? "up to " : "", unit.count);
}

std::vector<std::size_t> units_inside(const HardwareModel& model, UnitId parent) {
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < model.units().size(); ++i)
    if (model.units()[i].parent == parent) result.push_back(i);
  return result;
}

std::string graphviz(const HardwareModel& model) {
  std::string text =
      "digraph hardware {\n  graph [fontname=\"Helvetica\", fontsize=12, labeljust=l, nodesep=0.6, ranksep=0.9];\n"
      "  node [shape=box, style=\"rounded,filled\", fontname=\"Helvetica\", fontsize=12];\n"
      "  edge [fontname=\"Helvetica\", fontsize=10];\n";
  const std::function<void(std::size_t, std::string)> unit = [&](std::size_t u, const std::string& indent) {
    const auto id = make_id<UnitId>(u);
    text += fmt::format("{0}subgraph \"cluster_{1}\" {{\n{0}  label=\"{2}\"; style=rounded; color=\"#999999\";\n",
                        indent, model.units()[u].name, unit_title(model.units()[u]));
    for (const Memory& memory : model.memories())
      if (memory.per == id)
        text += fmt::format("{}  \"{}\" [label=\"{}\\n{} {}\", fillcolor=\"{}\"];\n", indent, memory.name, memory.name,
                            name(memory.kind), memory_size(memory), colour(memory.kind));
    for (const std::size_t child : units_inside(model, id)) unit(child, indent + "  ");
    text += indent + "}\n";
  };
  for (const std::size_t root : units_inside(model, UnitId{})) unit(root, "  ");
  for (const Link& link : model.links()) {
    std::string label = link.name;
    if (link.bandwidth > 0) label += "\\n" + rate_text(link.bandwidth);
    for (const MemoryId cache : link.via)
      label += (cache == link.via.front() ? "\\nvia " : ", ") + model.memory(cache).name;
    text += fmt::format("  \"{}\" -> \"{}\" [label=\"{}\"];\n", model.memory(link.from).name,
                        model.memory(link.to).name, label);
  }
  return text + "}\n";
}

}  // namespace isamap
