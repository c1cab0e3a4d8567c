// A list of nodes (version 0.4): containers and components, each inside the one before. Or a tree (up to 0.3, and what
// the front end of 0.4 writes): subtrees with local components, names[0..n] counting instances. Both become a row of
// storage levels with meshes between them.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "frontends/timeloop/reader.h"
#include "frontends/timeloop/timeloop.h"

namespace isamap::timeloop {

namespace {

constexpr std::int64_t usual_word_bits = 16;  // what Timeloop takes where nothing is said

std::string underscores(std::string text) {
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

/// "PE[0..255]" -> PE, 256.
std::pair<std::string, std::int64_t> counted(const std::string& text) {
  const auto open = text.find('['), dots = text.find("..");
  if (open == std::string::npos || dots == std::string::npos || dots < open) return {text, 1};
  const std::int64_t first = std::atoll(text.c_str() + open + 1), last = std::atoll(text.c_str() + dots + 2);
  return {text.substr(0, open), std::max<std::int64_t>(1, last - first + 1)};
}

const std::vector<yaml::Node>& items_of(const yaml::Node* list) {
  static const std::vector<yaml::Node> none;
  return list ? list->items : none;
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
    for (const yaml::Node& node : nodes.items) {
      if (const yaml::Node* inner = node.find("nodes")) {
        if (const yaml::Node* kind = node.find("type"); kind && kind->scalar != "hierarchical")
          wrong(*kind, "components beside each other are outside of what is imported: memories stand in a row");
        list(*inner);
        continue;
      }
      const yaml::Node* name = node.find("name");
      if (!name) {
        wrong(node, "a node has a name:");
        continue;
      }
      if (const yaml::Node* spatial = node.find("spatial")) widen(name->scalar, *spatial, *spatial);
      if (const yaml::Node* of = node.find("class"))
        component(name->scalar, of->scalar, node);
      else
        pending_.names.push_back(name->scalar);
    }
  }

  // The tree.

  void branch(const yaml::Node& subtree) {
    if (subtree.items.size() != 1) {
      wrong(subtree, "branches beside each other are outside of what is imported: memories stand in a row");
      return;
    }
    const yaml::Node& node = subtree.items.front();
    const yaml::Node* name = node.find("name");
    const auto [plain, count] = counted(name ? name->scalar : "");
    const yaml::Node* local = node.find("local");
    const yaml::Node* attributes = nullptr;  // the mesh stands in those of the first component below
    for (const yaml::Node& item : items_of(local))
      if (!attributes && item.find("attributes") &&
          (item.find("attributes")->find("meshX") || item.find("attributes")->find("meshY")))
        attributes = item.find("attributes");
    pending_.names.push_back(plain);
    if (count > 1) {
      const std::int64_t x = attributes && attributes->find("meshX")
                                 ? yaml::to_integer(*attributes->find("meshX")).value_or(count)
                                 : count;
      if (x < 1 || count % x != 0)
        wrong(*attributes, fmt::format("meshX does not divide the {} instances of {}", count, plain));
      else
        take(node, plain, x, count / x);
    }
    for (const yaml::Node& item : items_of(local)) {
      const yaml::Node *own = item.find("name"), *of = item.find("class");
      if (!own || !of) {
        wrong(item, "a component has name: and class:");
        continue;
      }
      const auto [unit, many] = counted(own->scalar);
      if (many > 1) take(item, unit, many, 1);
      component(unit, of->scalar, item);
    }
    if (const yaml::Node* inner = node.find("subtree")) branch(*inner);
  }

  // Both.

  void widen(const std::string& name, const yaml::Node& spatial, const yaml::Node& where) {
    const auto side = [&](const char* key) -> std::int64_t {
      const yaml::Node* node = spatial.find(key);
      if (!node) return 1;
      const auto value = yaml::to_integer(*node);
      if (!value || *value < 1) wrong(*node, fmt::format("{} is a whole number from 1 on", key));
      return value.value_or(1);
    };
    const std::int64_t x = side("meshX"), y = side("meshY");
    if (x * y > 1) take(where, name, x, y);
  }

  /// One mesh between two levels; one that has only columns and one that has only rows are one.
  void take(const yaml::Node& where, const std::string& name, std::int64_t x, std::int64_t y) {
    Mesh& mesh = pending_;
    if ((mesh.x > 1 && x > 1) || (mesh.y > 1 && y > 1))
      wrong(where, fmt::format("{} deals out an axis between two levels once more", name),
            "what is imported has one axis x and one axis y between two levels");
    mesh.x = std::max(mesh.x, x);
    mesh.y = std::max(mesh.y, y);
    mesh.names.push_back(name);
  }

  void component(const std::string& name, const std::string& of, const yaml::Node& node) {
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

  std::optional<double> real(const Component& component, const std::vector<std::string>& names) {
    const yaml::Node* node = attribute(component, names);
    if (!node || node->kind == yaml::Kind::null) return {};
    const auto value = yaml::to_real(*node);
    if (!value || *value < 0)
      wrong(*node, fmt::format("{} of {} is no number", names.front(), component.name),
            "expressions and variables are outside of what is imported");
    return value;
  }

  /// Words of one access.
  double block_of(const Component& c, std::int64_t word_bits) {
    if (const auto block = real(c, {"block_size", "n_words"})) return std::max(1.0, *block);
    if (const auto width = real(c, {"width", "memory_width"})) {
      const double cluster = real(c, {"cluster_size"}).value_or(1);
      return std::max(1.0, std::floor(*width / static_cast<double>(word_bits) / cluster));
    }
    return 1;
  }

  void level(const Component& c) {
    Level level;
    level.name = c.name;
    level.mesh = c.mesh;
    if (made_.levels.empty() && c.mesh.x * c.mesh.y > 1)
      wrong(*c.node, fmt::format("the outermost storage {} has several instances", c.name));
    if (c.of.find("NoC") != std::string::npos || c.of.find("network") != std::string::npos ||
        c.of.find("mac") != std::string::npos) {
      wrong(*c.node, fmt::format("{} of class {} is neither storage nor the innermost component", c.name, c.of));
      return;
    }
    level.word_bits = static_cast<std::int64_t>(
        real(c, {"word_bits", "datawidth", "data_width"}).value_or(static_cast<double>(usual_word_bits)));
    const double block = block_of(c, level.word_bits);
    if (const auto words = real(c, {"entries", "size"}))
      level.words = *words;
    else if (const auto depth = real(c, {"depth", "memory_depth"}))
      level.words = *depth * block;
    else if (const auto kilobytes = real(c, {"sizekb", "sizeKB"}))
      level.words = *kilobytes * 1024 * 8 / static_cast<double>(level.word_bits);
    if (made_.levels.empty()) level.words = 0;
    if (const auto buffers = real(c, {"multiple_buffering"}); buffers && *buffers > 0)
      level.words = std::floor(level.words / *buffers);
    level.read_bandwidth = real(c, {"read_bandwidth"}).value_or(0);
    level.write_bandwidth = real(c, {"write_bandwidth"}).value_or(0);
    if (const yaml::Node* shared = attribute(c, {"shared_bandwidth"}); shared && shared->kind != yaml::Kind::null)
      wrong(*shared, fmt::format("bandwidth of {} is shared by reads and writes: outside of what is imported", c.name),
            "read_bandwidth and write_bandwidth");
    level.read_energy = energy(c, "read", {"read_energy", "vector_access_energy"}) / block;
    level.write_energy = energy(c, "write", {"write_energy", "vector_access_energy"}) / block;
    if (const auto update = table(c, "update"); update && std::abs(*update / block - level.write_energy) > 1e-12)
      wrong(*c.node, fmt::format("updates of {} take another energy than writes: outside of what is imported", c.name));
    if (block > 1)
      notes_.push_back(fmt::format("{}: the energy of an access of {} words is spread over them", c.name, block));
    made_.levels.push_back(std::move(level));
  }

  void compute(const Component& c) {
    if (c.mesh.x * c.mesh.y > 1)
      wrong(*c.node, fmt::format("{} has several instances inside the innermost storage", c.name),
            "what is imported has one compute unit for each instance of the innermost storage");
    made_.compute = c.name;
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
  std::optional<double> table(const Component& c, const std::string& action) const {
    const yaml::Node* top = energies_ ? energies_->find("ERT") : nullptr;
    const yaml::Node* tables = top ? top->find("tables") : nullptr;
    for (const yaml::Node& item : items_of(tables)) {
      const yaml::Node *name = item.find("name"), *actions = item.find("actions");
      if (!name || !actions) continue;
      if (last_name(name->scalar) != c.name) continue;
      for (const yaml::Node& a : actions->items)
        if (a.find("name") && a.find("name")->scalar == action && a.find("energy"))
          return yaml::to_real(*a.find("energy"));
    }
    return {};
  }

  Architecture made_;
  std::vector<Component> components_;
  Mesh pending_;
  const yaml::Node* energies_;
  std::vector<std::string>& notes_;
};

}  // namespace

std::optional<Architecture> read_architecture(const yaml::Node& root, const yaml::Node* energies, Diagnostics& problems,
                                              std::vector<std::string>& notes) {
  return ArchitectureReader(energies, problems, notes).read(root);
}

}  // namespace isamap::timeloop
