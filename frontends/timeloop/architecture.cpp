// SPDX-License-Identifier: Apache-2.0
// A list of nodes (version 0.4): containers and components, each inside the one before. Or a tree (up to 0.3, and what
// the front end of 0.4 writes): subtrees with local components, names[0..n] counting instances. Both become a row of
// storage levels with meshes between them.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "frontends/timeloop/reader.h"
#include "frontends/timeloop/timeloop.h"

namespace isamap::timeloop {

namespace {

constexpr std::int64_t usual_word_bits = 16;  // Timeloop's default

constexpr std::int64_t most_instances = 1 << 20;  // along an axis
constexpr double largest = 1e15;                  // of any number

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

// Attributes, with underscores for hyphens. Those without effect on access counts, cycles and stated energies are
// ignored.
const std::vector<std::string> passed = {"technology",   "global_cycle_seconds", "num_ports",    "num_banks",
                                         "n_rd_ports",   "n_wr_ports",           "n_rdwr_ports", "n_banks",
                                         "cluster_area", "storage_area",         "area",         "min_utilization",
                                         "latency",      "num_pipeline_stages"};
const std::vector<std::string> of_storage = {"word_bits",
                                             "datawidth",
                                             "data_width",
                                             "block_size",
                                             "n_words",
                                             "width",
                                             "memory_width",
                                             "cluster_size",
                                             "entries",
                                             "size",
                                             "depth",
                                             "memory_depth",
                                             "sizeKB",
                                             "sizekb",
                                             "multiple_buffering",
                                             "read_bandwidth",
                                             "write_bandwidth",
                                             "shared_bandwidth",
                                             "read_energy",
                                             "write_energy",
                                             "vector_access_energy",
                                             "meshX",
                                             "meshY"};
const std::vector<std::string> of_compute = {"word_bits",      "datawidth", "data_width", "energy_per_op",
                                             "compute_energy", "meshX",     "meshY"};

std::vector<std::string> together(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// "system.PE[1..256].RF[1..1]" -> RF
std::string last_name(const std::string& path) {
  std::string plain;
  int open = 0;
  for (const char c : path) {
    if (c == '[') ++open;
    if (open == 0) plain += c;
    if (c == ']') --open;
  }
  return plain.substr(plain.rfind('.') + 1);
}

struct Component {
  std::string name, of;  ///< its class
  const yaml::Node* node = nullptr;
  Mesh mesh;  ///< towards the component around it
};

class ArchitectureReader : Reader {
 public:
  ArchitectureReader(const yaml::Node* energies, Diagnostics& problems, std::vector<std::string>& notes)
      : Reader(problems), energies_(energies), notes_(notes) {}

  std::optional<Architecture> read(const yaml::Node& root) {
    const yaml::Node* top = root.find("architecture");
    if (!top) return wrong(root, "there is no architecture:");
    only(*top, "the architecture", {"version", "name", "nodes", "subtree"});
    check_table();
    if (const yaml::Node* nodes = top->find("nodes"))
      list(*nodes);
    else if (const yaml::Node* tree = top->find("subtree"))
      branch(*tree);
    else
      return wrong(*top, "an architecture has nodes: or subtree:");
    if (const yaml::Node* name = top->find("name")) made_.name = name->scalar;
    if (components_.size() < 3)
      return wrong(*top, "an architecture has two storage levels or more, and a compute unit");
    for (std::size_t c = 0; c + 1 < components_.size(); ++c) level(components_[c]);
    compute(components_.back());
    if (has_errors(problems_)) return {};
    return made_;
  }

 private:
  // The list of nodes.

  void list(const yaml::Node& nodes) {
    for (const yaml::Node& node : items_of(&nodes, "nodes")) {
      if (!only(node, "a node", node_keys())) continue;
      if (const yaml::Node* inner = node.find("nodes")) {
        if (const yaml::Node* kind = node.find("type"); kind && kind->scalar != "hierarchical")
          wrong(*kind, "parallel components are not imported: memories must form a chain");
        list(*inner);
        continue;
      }
      const auto name = name_of(node, "a node");
      if (!name) continue;
      outside(node);
      if (const yaml::Node* spatial = node.find("spatial"); spatial && only(*spatial, "spatial", {"meshX", "meshY"}))
        widen(*name, *spatial, *spatial);
      if (const yaml::Node* of = node.find("class"))
        component(*name, of->scalar, node);
      else
        container(*name, node);
    }
  }

  static Keys node_keys() {
    return {"name",  "class",       "subclass",         "type",    "attributes",   "spatial",
            "nodes", "constraints", "required_actions", "enabled", "energy_scale", "area_scale"};
  }

  /// Errors for unsupported attributes, notes for ignored ones.
  void outside(const yaml::Node& node) {
    if (const yaml::Node* enabled = node.find("enabled");
        enabled && enabled->scalar != "true" && enabled->scalar != "True")
      wrong(*enabled, "nodes that are not enabled are not imported", "leave the node out");
    if (const yaml::Node* scale = node.find("energy_scale"); scale && yaml::to_real(*scale) != 1.0)
      wrong(*scale, "energy_scale is not imported", "scale the energies");
    if (const yaml::Node* constraints = node.find("constraints"))
      notes_.push_back(fmt::format("line {}: constraints are left out: they are of mappings", constraints->where.line));
  }

  void container(const std::string& name, const yaml::Node& node) {
    named(name, node);
    if (const yaml::Node* attributes = node.find("attributes"))
      only(*attributes, name + ", which has no class: it is a container", passed);
    pending_.names.push_back(name);
  }

  /// Memories and units are found by name.
  void named(const std::string& name, const yaml::Node& node) {
    const yaml::Node* where = node.find("name");
    const auto [earlier, is_new] = lines_.emplace(identifier(name), node.where.line);
    if (!is_new)
      wrong(where ? *where : node, fmt::format("{} is the name of the node in line {}, too", name, earlier->second),
            "give each node a name of its own");
  }

  // The tree.

  void branch(const yaml::Node& subtree) {
    if (items_of(&subtree, "subtree").size() != 1) {
      wrong(subtree, "parallel branches are not imported: memories must form a chain");
      return;
    }
    const yaml::Node& node = subtree.items.front();
    if (!only(node, "a subtree", {"name", "attributes", "local", "subtree"})) return;
    const auto name = name_of(node, "a subtree");
    if (!name) return;
    const auto number = counted(*name);
    if (!number) {
      wrong(*node.find("name"), fmt::format("{} counts no instances", *name), "write NAME[0..255]");
      return;
    }
    container(number->first, node);
    const auto& local = items_of(node.find("local"), "local");
    if (number->second > 1) tree_mesh(node, local, number->first, number->second);
    for (const yaml::Node& item : local) {
      if (!only(item, "a component", {"name", "class", "subclass", "attributes", "required_actions"})) continue;
      const auto own = name_of(item, "a component");
      const yaml::Node* of = item.find("class");
      if (!of) wrong(item, "a component has name: and class:");
      if (!own || !of) continue;
      const auto instances = counted(*own);
      if (!instances) {
        wrong(*item.find("name"), fmt::format("{} counts no instances", *own), "write NAME[0..15]");
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
      if (mesh && (!value || *value < 1)) wrong(*mesh, "a side of a mesh is a whole number from 1 on");
      return value && *value >= 1 ? value : std::nullopt;
    };
    const auto x = side(columns), y = side(rows);
    const std::int64_t width = x ? *x : y ? std::max<std::int64_t>(1, count / *y) : count;
    if (count % width != 0 || (y && width * (count / width) != count) || (y && *y != count / width))
      wrong(columns ? *columns : *rows, fmt::format("the mesh does not have the {} instances of {}", count, name));
    else
      take(node, name, width, count / width);
  }

  // Both.

  void widen(const std::string& name, const yaml::Node& spatial, const yaml::Node& where) {
    const auto side = [&](const char* key) -> std::int64_t {
      const yaml::Node* node = spatial.find(key);
      if (!node) return 1;
      const auto value = yaml::to_integer(*node);
      if (!value || *value < 1 || *value > most_instances) {
        wrong(*node, fmt::format("{} is a whole number from 1 to {}", key, most_instances));
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
      wrong(where, fmt::format("{} distributes an axis a second time between two levels", name),
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

  const yaml::Node* attribute(const Component& component, const std::vector<std::string>& names) {
    const yaml::Node* attributes = component.node->find("attributes");
    if (!attributes) return nullptr;
    for (const std::string& name : names)
      for (const auto& [key, value] : attributes->entries)
        if (underscores(key) == name) return &value;
    return nullptr;
  }

  /// Nonnegative. All values given under these names must be equal.
  std::optional<double> real(const Component& component, const std::vector<std::string>& names) {
    std::optional<double> found;
    for (const std::string& name : names) {
      const yaml::Node* node = attribute(component, {name});
      if (!node || node->kind == yaml::Kind::null) continue;
      const auto value = yaml::to_real(*node);
      if (!value)
        wrong(*node, fmt::format("{} of {} is no number", name, component.name),
              "expressions and variables are not imported");
      else if (*value < 0 || *value > largest)
        wrong(*node, fmt::format("{} of {} is {}", name, component.name, node->scalar), "numbers are from 0 to 1e15");
      else if (found && *found != *value)
        wrong(*node,
              fmt::format("{} of {} is {}, and another attribute says {}", name, component.name, *value, *found));
      else
        found = value;
    }
    return found;
  }

  /// Sizes and rates: must not be 0.
  std::optional<double> positive(const Component& component, const std::vector<std::string>& names) {
    const auto value = real(component, names);
    if (!value || *value > 0) return value;
    wrong(*attribute(component, names), fmt::format("{} of {} is 0", names.front(), component.name),
          "a number above 0, or leave it out");
    return {};
  }

  std::optional<double> whole(const Component& component, const std::vector<std::string>& names) {
    const auto value = positive(component, names);
    if (!value || *value == std::floor(*value)) return value;
    wrong(*attribute(component, names), fmt::format("{} of {} is no whole number", names.front(), component.name));
    return {};
  }

  /// Words of one access.
  double block_of(const Component& c, std::int64_t word_bits) {
    const auto block = whole(c, {"block_size", "n_words"}), width = whole(c, {"width", "memory_width"});
    const double cluster = whole(c, {"cluster_size"}).value_or(1);
    if (!width) return block.value_or(1);
    const double words = std::floor(*width / static_cast<double>(word_bits) / cluster);
    if (words < 1 || (block && *block != words))
      wrong(*attribute(c, {"width", "memory_width"}),
            fmt::format("width of {} is {} bits: {} words of {} bits in each of {} clusters", c.name, *width, words,
                        word_bits, cluster),
            block ? fmt::format("block_size says {} words", *block) : "one word or more");
    return std::max(1.0, block.value_or(words));
  }

  /// Words that a level holds, before multiple buffering. The outermost one is unlimited.
  double words_of(const Component& c, double block, std::int64_t word_bits) {
    const auto entries = whole(c, {"entries", "size"}), depth = whole(c, {"depth", "memory_depth"});
    const auto kilobytes = positive(c, {"sizeKB", "sizekb"});
    double words = 0;
    for (const auto& stated :
         {entries, depth ? std::optional(*depth * block) : std::nullopt,
          kilobytes ? std::optional(*kilobytes * 1024 * 8 / static_cast<double>(word_bits)) : std::nullopt}) {
      if (!stated) continue;
      if (words > 0 && words != *stated)
        wrong(*c.node, fmt::format("the size of {} is stated twice: {} and {} words", c.name, words, *stated));
      words = *stated;
    }
    if (words == 0 && !made_.levels.empty() && !has_errors(problems_))
      wrong(*c.node, fmt::format("{} of class {} has no size", c.name, c.of),
            "attributes: {depth: WORDS}, entries or sizeKB; only the outermost storage holds everything");
    return made_.levels.empty() ? 0 : words;
  }

  /// Networks are not imported, compute units come last; all others are storage.
  bool is_storage(const Component& c) {
    for (const char* other : {"NoC", "network", "mac"})
      if (c.of.find(other) != std::string::npos) {
        wrong(*c.node, fmt::format("{} of class {} is neither storage nor the innermost component", c.name, c.of));
        return false;
      }
    const yaml::Node* attributes = c.node->find("attributes");
    if (attributes) only(*attributes, "the attributes of " + c.name, together(of_storage, passed));
    return true;
  }

  void level(const Component& c) {
    Level level;
    level.name = c.name;
    level.mesh = c.mesh;
    if (made_.levels.empty() && c.mesh.x * c.mesh.y > 1)
      wrong(*c.node, fmt::format("the outermost storage {} has several instances", c.name));
    if (!is_storage(c)) return;
    level.word_bits = static_cast<std::int64_t>(
        whole(c, {"word_bits", "datawidth", "data_width"}).value_or(static_cast<double>(usual_word_bits)));
    const double block = block_of(c, level.word_bits);
    level.words = words_of(c, block, level.word_bits);
    if (const auto buffers = positive(c, {"multiple_buffering"})) {
      if (level.words > 0 && level.words < *buffers)
        wrong(*attribute(c, {"multiple_buffering"}),
              fmt::format("{} of {} words has no room for {} buffers", c.name, level.words, *buffers));
      level.words = std::floor(level.words / *buffers);
    }
    level.read_bandwidth = positive(c, {"read_bandwidth"}).value_or(0);
    level.write_bandwidth = positive(c, {"write_bandwidth"}).value_or(0);
    if (const yaml::Node* shared = attribute(c, {"shared_bandwidth"}); shared && shared->kind != yaml::Kind::null)
      wrong(*shared, fmt::format("bandwidth of {} is shared by reads and writes: not imported", c.name),
            "read_bandwidth and write_bandwidth");
    level.read_energy = energy(c, "read", {"read_energy", "vector_access_energy"}) / block;
    level.write_energy = energy(c, "write", {"write_energy", "vector_access_energy"}) / block;
    if (const auto update = table(c, "update"); update && std::abs(*update / block - level.write_energy) > 1e-12)
      wrong(*c.node, fmt::format("updates of {} have another energy than writes: not imported", c.name));
    if (block > 1)
      notes_.push_back(fmt::format("{}: the energy of an access of {} words is spread over them", c.name, block));
    made_.levels.push_back(std::move(level));
  }

  void compute(const Component& c) {
    if (c.mesh.x * c.mesh.y > 1)
      wrong(*c.node, fmt::format("{} has several instances inside the innermost storage", c.name),
            "only one compute unit for each instance of the innermost storage is imported");
    made_.compute = c.name;
    if (attribute(c, {"depth", "memory_depth", "entries", "size", "sizeKB", "sizekb"}))
      wrong(*c.node, fmt::format("the last component, {} of class {}, is storage", c.name, c.of),
            "a compute unit comes last: {name: MAC, class: intmac}");
    else if (const yaml::Node* attributes = c.node->find("attributes"))
      only(*attributes, "the attributes of " + c.name, together(of_compute, passed));
    whole(c, {"word_bits", "datawidth", "data_width"});
    for (const char* action : {"compute", "mac_random", "mac"})
      if (const auto found = table(c, action)) {
        made_.compute_energy = *found;
        return;
      }
    made_.compute_energy = energy(c, "compute", {"energy_per_op", "compute_energy"});
  }

  double energy(const Component& c, const std::string& action, const std::vector<std::string>& attributes) {
    if (const auto found = table(c, action)) return *found;
    if (const auto found = real(c, attributes)) return *found;
    notes_.push_back(fmt::format("{}: no energy of {} is stated, so it is 0", c.name, action));
    return 0;
  }

  /// From the energy reference table: tables of "system.chip.GLB[1..1]", each with a list of actions.
  std::optional<double> table(const Component& c, const std::string& action) {
    for (const yaml::Node& item : tables()) {
      const yaml::Node *name = item.find("name"), *actions = item.find("actions");
      if (!name || !actions) continue;
      if (last_name(name->scalar) != c.name) continue;
      for (const yaml::Node& a : actions->items)
        if (a.find("name") && a.find("name")->scalar == action && a.find("energy"))
          return yaml::to_real(*a.find("energy"));
    }
    return {};
  }

  const std::vector<yaml::Node>& tables() {
    const yaml::Node* top = energies_ ? energies_->find("ERT") : nullptr;
    return items_of(top ? top->find("tables") : nullptr, "tables");
  }

  /// Tables of components outside the architecture are allowed: networks have some.
  void check_table() {
    if (!energies_) return;
    const yaml::Node* top = energies_->find("ERT");
    if (!top) {
      wrong(*energies_, "there is no ERT:, an energy reference table");
      return;
    }
    only(*top, "ERT", {"version", "tables"});
    for (const yaml::Node& item : tables()) {
      if (!only(item, "a table", {"name", "actions"}) || !name_of(item, "a table")) continue;
      for (const yaml::Node& action : items_of(item.find("actions"), "actions")) {
        if (!only(action, "an action", {"name", "energy", "arguments"})) continue;
        const yaml::Node* energy = action.find("energy");
        const auto value = energy ? yaml::to_real(*energy) : std::nullopt;
        if (!value || *value < 0 || *value > largest)
          wrong(energy ? *energy : action, "an action has energy:, a number from 0 on");
      }
    }
  }

  Architecture made_;
  std::vector<Component> components_;
  Mesh pending_;
  std::map<std::string, int> lines_;  ///< of nodes, by name
  const yaml::Node* energies_;
  std::vector<std::string>& notes_;
};

}  // namespace

std::optional<Architecture> read_architecture(const yaml::Node& root, const yaml::Node* energies, Diagnostics& problems,
                                              std::vector<std::string>& notes) {
  return ArchitectureReader(energies, problems, notes).read(root);
}

}  // namespace isamap::timeloop
