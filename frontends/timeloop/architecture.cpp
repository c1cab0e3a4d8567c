// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "frontends/timeloop/components.h"
#include "frontends/timeloop/reader.h"
#include "frontends/timeloop/timeloop.h"

namespace isamap::timeloop {

namespace {

constexpr std::int64_t usual_word_bits = 16;  // Timeloop's default

constexpr double largest = 1e15;  // of any number

// Attributes with an effect, with underscores for hyphens.
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

/// Numbers among the attributes of a component. What is no number is reported.
class Attributes {
 public:
  Attributes(const Reader& reader, const Component& component) : reader_(reader), component_(component) {}

  /// The first of them that is there; null: none.
  const yaml::Node* find(const std::vector<std::string>& names) const {
    const yaml::Node* attributes = component_.node->find("attributes");
    if (!attributes) return nullptr;
    for (const std::string& name : names)
      for (const auto& [key, value] : attributes->entries)
        if (underscores(key) == name) return &value;
    return nullptr;
  }

  /// Nonnegative. All values given under these names must be equal.
  std::optional<double> real(const std::vector<std::string>& names) {
    std::optional<double> found;
    for (const std::string& name : names) {
      const yaml::Node* node = find({name});
      if (!node || node->kind == yaml::Kind::null) continue;
      const auto value = yaml::to_real(*node);
      if (!value)
        reader_.wrong(*node, fmt::format("{} of {} is no number", name, component_.name),
                      "expressions and variables are not imported");
      else if (*value < 0 || *value > largest)
        reader_.wrong(*node, fmt::format("{} of {} is {}", name, component_.name, node->scalar),
                      "numbers are from 0 to 1e15");
      else if (found && *found != *value)
        reader_.wrong(
            *node, fmt::format("{} of {} is {}, and another attribute says {}", name, component_.name, *value, *found));
      else
        found = value;
    }
    return found;
  }

  /// Sizes and rates: must not be 0.
  std::optional<double> positive(const std::vector<std::string>& names) {
    const auto value = real(names);
    if (!value || *value > 0) return value;
    reader_.wrong(*find(names), fmt::format("{} of {} is 0", names.front(), component_.name),
                  "a number above 0, or leave it out");
    return {};
  }

  std::optional<double> whole(const std::vector<std::string>& names) {
    const auto value = positive(names);
    if (!value || *value == std::floor(*value)) return value;
    reader_.wrong(*find(names), fmt::format("{} of {} is no whole number", names.front(), component_.name));
    return {};
  }

 private:
  Reader reader_;
  const Component& component_;
};

/// The energy reference table: tables of "system.chip.GLB[1..1]", each with a list of actions.
class EnergyTable {
 public:
  /// `energies`: null: there is no table.
  EnergyTable(const Reader& reader, const yaml::Node* energies) : reader_(reader), energies_(energies) {}

  /// Tables of components outside the architecture are allowed: networks have some.
  void check() {
    if (!energies_) return;
    const yaml::Node* top = energies_->find("ERT");
    if (!top) {
      reader_.wrong(*energies_, "there is no ERT:, an energy reference table");
      return;
    }
    reader_.only(*top, "ERT", {"version", "tables"});
    for (const yaml::Node& item : tables()) {
      if (!reader_.only(item, "a table", {"name", "actions"}) || !reader_.name_of(item, "a table")) continue;
      for (const yaml::Node& action : reader_.items_of(item.find("actions"), "actions")) {
        if (!reader_.only(action, "an action", {"name", "energy", "arguments"})) continue;
        const yaml::Node* energy = action.find("energy");
        const auto value = energy ? yaml::to_real(*energy) : std::nullopt;
        if (!value || *value < 0 || *value > largest)
          reader_.wrong(energy ? *energy : action, "an action has energy:, a number from 0 on");
      }
    }
  }

  /// pJ of an action of the component; nothing: the table has none.
  std::optional<double> of(const std::string& component, const std::string& action) {
    for (const yaml::Node& item : tables()) {
      const yaml::Node *name = item.find("name"), *actions = item.find("actions");
      if (!name || !actions) continue;
      if (last_name(name->scalar) != component) continue;
      for (const yaml::Node& a : actions->items)
        if (a.find("name") && a.find("name")->scalar == action && a.find("energy"))
          return yaml::to_real(*a.find("energy"));
    }
    return {};
  }

 private:
  const std::vector<yaml::Node>& tables() {
    const yaml::Node* top = energies_ ? energies_->find("ERT") : nullptr;
    return reader_.items_of(top ? top->find("tables") : nullptr, "tables");
  }

  Reader reader_;
  const yaml::Node* energies_;
};

/// Levels so far, outermost first.
class ArchitectureReader {
 public:
  ArchitectureReader(const yaml::Node* energies, Diagnostics& problems, std::vector<std::string>& notes)
      : problems_(problems), reader_(problems), energies_(reader_, energies), notes_(notes) {}

  std::optional<Architecture> read(const yaml::Node& root) {
    const yaml::Node* top = root.find("architecture");
    if (!top) return reader_.wrong(root, "there is no architecture:");
    reader_.only(*top, "the architecture", {"version", "name", "nodes", "subtree"});
    energies_.check();
    const auto components = read_components(*top, problems_, notes_);
    if (!components) return {};
    if (const yaml::Node* name = top->find("name")) made_.name = name->scalar;
    if (components->size() < 3)
      return reader_.wrong(*top, "an architecture has two storage levels or more, and a compute unit");
    for (std::size_t c = 0; c + 1 < components->size(); ++c) level((*components)[c]);
    compute(components->back());
    if (reader_.failed()) return {};
    return made_;
  }

 private:
  /// Words of one access.
  double block_of(const Component& c, std::int64_t word_bits) {
    Attributes attributes(reader_, c);
    const auto block = attributes.whole({"block_size", "n_words"}), width = attributes.whole({"width", "memory_width"});
    const double cluster = attributes.whole({"cluster_size"}).value_or(1);
    if (!width) return block.value_or(1);
    const double words = std::floor(*width / static_cast<double>(word_bits) / cluster);
    if (words < 1 || (block && *block != words))
      reader_.wrong(*attributes.find({"width", "memory_width"}),
                    fmt::format("width of {} is {} bits: {} words of {} bits in each of {} clusters", c.name, *width,
                                words, word_bits, cluster),
                    block ? fmt::format("block_size says {} words", *block) : "one word or more");
    return std::max(1.0, block.value_or(words));
  }

  /// Words that a level holds, before multiple buffering. The outermost one is unlimited.
  double words_of(const Component& c, double block, std::int64_t word_bits) {
    Attributes attributes(reader_, c);
    const auto entries = attributes.whole({"entries", "size"}), depth = attributes.whole({"depth", "memory_depth"});
    const auto kilobytes = attributes.positive({"sizeKB", "sizekb"});
    double words = 0;
    for (const auto& stated :
         {entries, depth ? std::optional(*depth * block) : std::nullopt,
          kilobytes ? std::optional(*kilobytes * 1024 * 8 / static_cast<double>(word_bits)) : std::nullopt}) {
      if (!stated) continue;
      if (words > 0 && words != *stated)
        reader_.wrong(*c.node, fmt::format("the size of {} is stated twice: {} and {} words", c.name, words, *stated));
      words = *stated;
    }
    if (words == 0 && !made_.levels.empty() && !reader_.failed())
      reader_.wrong(*c.node, fmt::format("{} of class {} has no size", c.name, c.of),
                    "attributes: {depth: WORDS}, entries or sizeKB; only the outermost storage holds everything");
    return made_.levels.empty() ? 0 : words;
  }

  /// Networks are not imported, compute units come last; all others are storage.
  bool is_storage(const Component& c) {
    for (const char* other : {"NoC", "network", "mac"})
      if (c.of.find(other) != std::string::npos) {
        reader_.wrong(*c.node,
                      fmt::format("{} of class {} is neither storage nor the innermost component", c.name, c.of));
        return false;
      }
    const yaml::Node* attributes = c.node->find("attributes");
    if (attributes) reader_.only(*attributes, "the attributes of " + c.name, together(of_storage, ignored_attributes));
    return true;
  }

  void level(const Component& c) {
    Level level;
    level.name = c.name;
    level.mesh = c.mesh;
    if (made_.levels.empty() && c.mesh.x * c.mesh.y > 1)
      reader_.wrong(*c.node, fmt::format("the outermost storage {} has several instances", c.name));
    if (!is_storage(c)) return;
    Attributes attributes(reader_, c);
    level.word_bits = static_cast<std::int64_t>(
        attributes.whole({"word_bits", "datawidth", "data_width"}).value_or(static_cast<double>(usual_word_bits)));
    const double block = block_of(c, level.word_bits);
    level.words = words_of(c, block, level.word_bits);
    if (const auto buffers = attributes.positive({"multiple_buffering"})) {
      if (level.words > 0 && level.words < *buffers)
        reader_.wrong(*attributes.find({"multiple_buffering"}),
                      fmt::format("{} of {} words has no room for {} buffers", c.name, level.words, *buffers));
      level.words = std::floor(level.words / *buffers);
    }
    level.read_bandwidth = attributes.positive({"read_bandwidth"}).value_or(0);
    level.write_bandwidth = attributes.positive({"write_bandwidth"}).value_or(0);
    if (const yaml::Node* shared = attributes.find({"shared_bandwidth"}); shared && shared->kind != yaml::Kind::null)
      reader_.wrong(*shared, fmt::format("bandwidth of {} is shared by reads and writes: not imported", c.name),
                    "read_bandwidth and write_bandwidth");
    level.read_energy = energy(c, "read", {"read_energy", "vector_access_energy"}) / block;
    level.write_energy = energy(c, "write", {"write_energy", "vector_access_energy"}) / block;
    if (const auto update = energies_.of(c.name, "update");
        update && std::abs(*update / block - level.write_energy) > 1e-12)
      reader_.wrong(*c.node, fmt::format("updates of {} have another energy than writes: not imported", c.name));
    if (block > 1)
      notes_.push_back(fmt::format("{}: the energy of an access of {} words is spread over them", c.name, block));
    made_.levels.push_back(std::move(level));
  }

  void compute(const Component& c) {
    if (c.mesh.x * c.mesh.y > 1)
      reader_.wrong(*c.node, fmt::format("{} has several instances inside the innermost storage", c.name),
                    "only one compute unit for each instance of the innermost storage is imported");
    made_.compute = c.name;
    Attributes attributes(reader_, c);
    if (attributes.find({"depth", "memory_depth", "entries", "size", "sizeKB", "sizekb"}))
      reader_.wrong(*c.node, fmt::format("the last component, {} of class {}, is storage", c.name, c.of),
                    "a compute unit comes last: {name: MAC, class: intmac}");
    else if (const yaml::Node* all = c.node->find("attributes"))
      reader_.only(*all, "the attributes of " + c.name, together(of_compute, ignored_attributes));
    attributes.whole({"word_bits", "datawidth", "data_width"});
    for (const char* action : {"compute", "mac_random", "mac"})
      if (const auto found = energies_.of(c.name, action)) {
        made_.compute_energy = *found;
        return;
      }
    made_.compute_energy = energy(c, "compute", {"energy_per_op", "compute_energy"});
  }

  double energy(const Component& c, const std::string& action, const std::vector<std::string>& names) {
    if (const auto found = energies_.of(c.name, action)) return *found;
    if (const auto found = Attributes(reader_, c).real(names)) return *found;
    notes_.push_back(fmt::format("{}: no energy of {} is stated, so it is 0", c.name, action));
    return 0;
  }

  Diagnostics& problems_;
  Reader reader_;
  EnergyTable energies_;
  std::vector<std::string>& notes_;
  Architecture made_;
};

}  // namespace

std::optional<Architecture> read_architecture(const yaml::Node& root, const yaml::Node* energies, Diagnostics& problems,
                                              std::vector<std::string>& notes) {
  return ArchitectureReader(energies, problems, notes).read(root);
}

}  // namespace isamap::timeloop
