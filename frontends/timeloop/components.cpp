// SPDX-License-Identifier: Apache-2.0
#include "frontends/timeloop/components.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace isamap::timeloop {

namespace {

constexpr std::int64_t most_instances = 1 << 20;  // along an axis

/// "PE[0..255]" -> PE, 256; nothing: a descending range.
std::optional<std::pair<std::string, std::int64_t>> counted(const std::string& text) {
  const auto open = text.find('['), dots = text.find("..", open == std::string::npos ? 0 : open);
  if (open == std::string::npos) return std::pair(text, std::int64_t{1});
  if (dots == std::string::npos || !text.ends_with(']')) return std::nullopt;
  yaml::Node first, last;
  first.kind = last.kind = yaml::Kind::scalar;
  first.scalar = text.substr(open + 1, dots - open - 1);
  last.scalar = text.substr(dots + 2, text.size() - dots - 3);
  const auto from = yaml::to_integer(first), to = yaml::to_integer(last);
  if (!from || !to || *from < 0 || *to < *from || *to - *from >= most_instances) return std::nullopt;
  return std::pair(text.substr(0, open), *to - *from + 1);
}

Keys node_keys() {
  return {"name",  "class",       "subclass",         "type",    "attributes",   "spatial",
          "nodes", "constraints", "required_actions", "enabled", "energy_scale", "area_scale"};
}

/// Components so far, and the mesh towards the next one.
class ComponentReader {
 public:
  ComponentReader(Diagnostics& problems, std::vector<std::string>& notes) : reader_(problems), notes_(notes) {}

  std::optional<std::vector<Component>> read(const yaml::Node& architecture) {
    if (const yaml::Node* nodes = architecture.find("nodes"))
      list(*nodes);
    else if (const yaml::Node* tree = architecture.find("subtree"))
      branch(*tree);
    else
      return reader_.wrong(architecture, "an architecture has nodes: or subtree:");
    return components_;
  }

 private:
  // The list of nodes.

  void list(const yaml::Node& nodes) {
    for (const yaml::Node& node : reader_.items_of(&nodes, "nodes")) {
      if (!reader_.only(node, "a node", node_keys())) continue;
      if (const yaml::Node* inner = node.find("nodes")) {
        if (const yaml::Node* kind = node.find("type"); kind && kind->scalar != "hierarchical")
          reader_.wrong(*kind, "parallel components are not imported: memories must form a chain");
        list(*inner);
        continue;
      }
      const auto name = reader_.name_of(node, "a node");
      if (!name) continue;
      outside(node);
      if (const yaml::Node* spatial = node.find("spatial");
          spatial && reader_.only(*spatial, "spatial", {"meshX", "meshY"}))
        widen(*name, *spatial, *spatial);
      if (const yaml::Node* of = node.find("class"))
        component(*name, of->scalar, node);
      else
        container(*name, node);
    }
  }

  /// Errors for unsupported attributes, notes for ignored ones.
  void outside(const yaml::Node& node) {
    if (const yaml::Node* enabled = node.find("enabled");
        enabled && enabled->scalar != "true" && enabled->scalar != "True")
      reader_.wrong(*enabled, "nodes that are not enabled are not imported", "leave the node out");
    if (const yaml::Node* scale = node.find("energy_scale"); scale && yaml::to_real(*scale) != 1.0)
      reader_.wrong(*scale, "energy_scale is not imported", "scale the energies");
    if (const yaml::Node* constraints = node.find("constraints"))
      notes_.push_back(fmt::format("line {}: constraints are left out: they are of mappings", constraints->where.line));
  }

  void container(const std::string& name, const yaml::Node& node) {
    named(name, node);
    if (const yaml::Node* attributes = node.find("attributes"))
      reader_.only(*attributes, name + ", which has no class: it is a container", ignored_attributes);
    pending_.names.push_back(name);
  }

  /// Memories and units are found by name.
  void named(const std::string& name, const yaml::Node& node) {
    const yaml::Node* where = node.find("name");
    const auto [earlier, is_new] = lines_.emplace(identifier(name), node.where.line);
    if (!is_new)
      reader_.wrong(where ? *where : node,
                    fmt::format("{} is the name of the node in line {}, too", name, earlier->second),
                    "give each node a name of its own");
  }

  // The tree.

  void branch(const yaml::Node& subtree) {
    if (reader_.items_of(&subtree, "subtree").size() != 1) {
      reader_.wrong(subtree, "parallel branches are not imported: memories must form a chain");
      return;
    }
    const yaml::Node& node = subtree.items.front();
    if (!reader_.only(node, "a subtree", {"name", "attributes", "local", "subtree"})) return;
    const auto name = reader_.name_of(node, "a subtree");
    if (!name) return;
    const auto number = counted(*name);
    if (!number) {
      reader_.wrong(*node.find("name"), fmt::format("{} counts no instances", *name), "write NAME[0..255]");
      return;
    }
    container(number->first, node);
    const auto& local = reader_.items_of(node.find("local"), "local");
    if (number->second > 1) tree_mesh(node, local, number->first, number->second);
    for (const yaml::Node& item : local) {
      if (!reader_.only(item, "a component", {"name", "class", "subclass", "attributes", "required_actions"})) continue;
      const auto own = reader_.name_of(item, "a component");
      const yaml::Node* of = item.find("class");
      if (!of) reader_.wrong(item, "a component has name: and class:");
      if (!own || !of) continue;
      const auto instances = counted(*own);
      if (!instances) {
        reader_.wrong(*item.find("name"), fmt::format("{} counts no instances", *own), "write NAME[0..15]");
        continue;
      }
      if (instances->second > 1) take(item, instances->first, instances->second, 1);
      component(instances->first, of->scalar, item);
    }
    if (const yaml::Node* inner = node.find("subtree")) branch(*inner);
  }

  /// The mesh of a subtree's instances is in the attributes of the first component below.
  void tree_mesh(const yaml::Node& node, const std::vector<yaml::Node>& local, const std::string& name,
                 std::int64_t count) {
    const yaml::Node *columns = nullptr, *rows = nullptr;
    for (const yaml::Node& item : local)
      if (const yaml::Node* attributes = item.find("attributes"); attributes && !columns && !rows) {
        columns = attributes->find("meshX");
        rows = attributes->find("meshY");
      }
    const auto side = [&](const yaml::Node* mesh) {
      const auto value = mesh ? yaml::to_integer(*mesh) : std::nullopt;
      if (mesh && (!value || *value < 1)) reader_.wrong(*mesh, "a side of a mesh is a whole number from 1 on");
      return value && *value >= 1 ? value : std::nullopt;
    };
    const auto x = side(columns), y = side(rows);
    const std::int64_t width = x ? *x : y ? std::max<std::int64_t>(1, count / *y) : count;
    if (count % width != 0 || (y && width * (count / width) != count) || (y && *y != count / width))
      reader_.wrong(columns ? *columns : *rows,
                    fmt::format("the mesh does not have the {} instances of {}", count, name));
    else
      take(node, name, width, count / width);
  }

  void widen(const std::string& name, const yaml::Node& spatial, const yaml::Node& where) {
    const auto side = [&](const char* key) -> std::int64_t {
      const yaml::Node* node = spatial.find(key);
      if (!node) return 1;
      const auto value = yaml::to_integer(*node);
      if (!value || *value < 1 || *value > most_instances) {
        reader_.wrong(*node, fmt::format("{} is a whole number from 1 to {}", key, most_instances));
        return 1;
      }
      return *value;
    };
    const std::int64_t x = side("meshX"), y = side("meshY");
    if (x * y > 1) take(where, name, x, y);
  }

  /// One mesh between two levels; one that has only columns and one that has only rows are one.
  void take(const yaml::Node& where, const std::string& name, std::int64_t x, std::int64_t y) {
    Mesh& mesh = pending_;
    if ((mesh.x > 1 && x > 1) || (mesh.y > 1 && y > 1))
      reader_.wrong(where, fmt::format("{} distributes an axis a second time between two levels", name),
                    "only one axis x and one axis y between two levels are imported");
    mesh.x = std::max(mesh.x, x);
    mesh.y = std::max(mesh.y, y);
    mesh.names.push_back(name);
  }

  void component(const std::string& name, const std::string& of, const yaml::Node& node) {
    named(name, node);
    components_.push_back({name, of, &node, pending_});
    pending_ = {};
  }

  Reader reader_;
  std::vector<std::string>& notes_;
  std::vector<Component> components_;
  Mesh pending_;
  std::map<std::string, int> lines_;  ///< of nodes, by name
};

}  // namespace

std::optional<std::vector<Component>> read_components(const yaml::Node& architecture, Diagnostics& problems,
                                                      std::vector<std::string>& notes) {
  return ComponentReader(problems, notes).read(architecture);
}

}  // namespace isamap::timeloop
