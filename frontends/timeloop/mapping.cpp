// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "frontends/timeloop/reader.h"
#include "frontends/timeloop/timeloop.h"

namespace isamap::timeloop {

namespace {

using Steps = std::vector<std::pair<std::string, std::int64_t>>;

/// Words of a list, or of a text separated by blanks and commas.
std::vector<std::string> words_of(const yaml::Node& node) {
  std::vector<std::string> words;
  if (node.kind == yaml::Kind::list) {
    for (const yaml::Node& item : node.items) words.push_back(item.scalar);
    return words;
  }
  std::string word;
  for (const char c : node.scalar + " ") {
    if (c != ' ' && c != ',') {
      word += c;
      continue;
    }
    if (!word.empty()) words.push_back(word);
    word.clear();
  }
  return words;
}

class MappingReader {
 public:
  MappingReader(const Problem& problem, const Architecture& architecture, Diagnostics& problems)
      : reader_(problems), problem_(problem), architecture_(architecture), made_(architecture.levels.size()) {}

  std::optional<Mapping> read(const yaml::Node& root) {
    const yaml::Node* top = root.find("mapping");
    if (!top || top->kind != yaml::Kind::list) return reader_.wrong(root, "there is no mapping:, a list of entries");
    for (const yaml::Node& entry : top->items) one(entry);
    if (!reader_.failed()) complete(*top);
    if (reader_.failed()) return {};
    return made_;
  }

 private:
  void one(const yaml::Node& entry) {
    const yaml::Node *target = entry.find("target"), *type = entry.find("type");
    if (!target || !type) {
      reader_.wrong(entry, "an entry has target: and type:");
      return;
    }
    const bool spatial = type->scalar == "spatial";
    Keys known{"target", "type"};
    if (spatial || type->scalar == "temporal")
      known.insert(known.end(), {"factors", "permutation"});
    else
      known.insert(known.end(), {"keep", "bypass"});
    if (spatial) known.push_back("split");
    reader_.only(entry, fmt::format("a {} entry", type->scalar), known);
    const auto level = level_of(target->scalar, spatial);
    if (!level) {
      std::string names;
      for (const Level& l : architecture_.levels) names += (names.empty() ? "" : ", ") + l.name;
      reader_.wrong(*target, fmt::format("target {} is none of the storage levels", target->scalar),
                    "they are: " + names);
      return;
    }
    LevelMapping& to = made_[*level];
    to.where = entry.where;
    if (spatial || type->scalar == "temporal") {
      const Steps steps = loops(entry);
      Steps& into = spatial ? to.spatial : to.temporal;
      if (!into.empty() && !steps.empty())
        reader_.wrong(entry, fmt::format("{} has two {} entries", target->scalar, type->scalar));
      into = steps;
      if (const yaml::Node* split = entry.find("split"); split && spatial) read_split(*split, entry, to);
    } else if (type->scalar == "bypass" || type->scalar == "datatype" || type->scalar == "dataspace") {
      keeps(entry, *level, to);
    } else {
      reader_.wrong(*type, fmt::format("type {} is none of: temporal, spatial, bypass", type->scalar));
    }
  }

  /// Spatial entries target the storage that distributes, or the container that it distributes to.
  std::optional<std::size_t> level_of(const std::string& target, bool spatial) const {
    for (std::size_t l = 0; l < architecture_.levels.size(); ++l) {
      if (architecture_.levels[l].name == target) return l;
      const auto& names = architecture_.levels[l].mesh.names;
      if (spatial && l > 0 && std::find(names.begin(), names.end(), target) != names.end()) return l - 1;
    }
    return {};
  }

  /// Dims with more than one step, inner to outer.
  Steps loops(const yaml::Node& entry) {
    Steps factors, loops;
    const yaml::Node* node = entry.find("factors");
    for (const std::string& word : node ? words_of(*node) : std::vector<std::string>{}) {
      std::size_t digits = word.size();
      while (digits > 0 && std::isdigit(static_cast<unsigned char>(word[digits - 1])) != 0) --digits;
      const std::string dim = word.substr(0, digits > 0 && word[digits - 1] == '=' ? digits - 1 : digits);
      if (digits == word.size() || word.size() - digits > 9 || !problem_.extent(dim))
        reader_.wrong(*node, fmt::format("factor '{}' is not a dimension and a number: K=4", word),
                      "imperfect factors (K=4,2) are not imported: write the larger factors in our own form");
      else if (std::any_of(factors.begin(), factors.end(), [&](const auto& factor) { return factor.first == dim; }))
        reader_.wrong(*node, fmt::format("{} has two factors in one entry", dim));
      else
        factors.emplace_back(dim, std::stoll(word.substr(digits)));
    }
    const yaml::Node* permutation = entry.find("permutation");
    std::vector<std::string> order = permutation ? words_of(*permutation) : std::vector<std::string>{};
    if (order.size() == 1 && order.front().size() > 1 && !problem_.extent(order.front())) {
      const std::string letters = order.front();
      order.clear();
      for (const char c : letters) order.emplace_back(1, c);
    }
    for (const std::string& dim : order) {
      if (!problem_.extent(dim)) reader_.wrong(*permutation, fmt::format("{} is none of the dimensions", dim));
      for (const auto& factor : factors)
        if (factor.first == dim) loops.push_back(factor);
    }
    for (const auto& factor : factors) {  // unlisted dims are outermost
      const auto same = [&](const auto& loop) { return loop.first == factor.first; };
      if (std::none_of(loops.begin(), loops.end(), same)) loops.push_back(factor);
    }
    return loops;
  }

  /// Position in the permutation of the first dim on the other axis.
  void read_split(const yaml::Node& split, const yaml::Node& entry, LevelMapping& to) {
    const auto position = yaml::to_integer(split);
    if (!position || *position < 0) {
      reader_.wrong(split, "split is a position in the permutation");
      return;
    }
    const yaml::Node* permutation = entry.find("permutation");
    std::vector<std::string> order = permutation ? words_of(*permutation) : std::vector<std::string>{};
    if (order.size() == 1 && !problem_.extent(order.front())) {
      const std::string letters = order.front();
      order.clear();
      for (const char c : letters) order.emplace_back(1, c);
    }
    if (static_cast<std::size_t>(*position) > order.size())
      reader_.wrong(split, fmt::format("split is {}; the permutation has {} dimensions", *position, order.size()));
    order.resize(std::min(order.size(), static_cast<std::size_t>(*position)));
    to.split = static_cast<std::size_t>(std::count_if(to.spatial.begin(), to.spatial.end(), [&](const auto& loop) {
      return std::find(order.begin(), order.end(), loop.first) != order.end();
    }));
  }

  void keeps(const yaml::Node& entry, std::size_t level, LevelMapping& to) {
    const yaml::Node *keep = entry.find("keep"), *bypass = entry.find("bypass");
    const auto known = [&](const yaml::Node& list) {
      for (const std::string& word : words_of(list))
        if (std::none_of(problem_.spaces.begin(), problem_.spaces.end(), [&](const auto& s) { return s.name == word; }))
          reader_.wrong(list, fmt::format("{} is none of the data spaces", word));
    };
    if (keep) known(*keep);
    if (bypass) known(*bypass);
    if (bypass) to.bypass = words_of(*bypass);
    if (!to.bypass.empty() && (level == 0 || level + 1 == made_.size()))
      reader_.wrong(*bypass,
                    fmt::format("{} keeps every tensor: it is the {}", architecture_.levels[level].name,
                                level == 0 ? "outermost level" : "level where the compute unit takes its operands"));
    if (keep && bypass)
      for (const std::string& word : words_of(*keep))
        if (std::find(to.bypass.begin(), to.bypass.end(), word) != to.bypass.end())
          reader_.wrong(*bypass, fmt::format("{} is kept and bypassed", word));
  }

  /// A factor of 0 is the remaining factor; the factors of a dim multiply to its size.
  void complete(const yaml::Node& top) {
    for (const auto& [dim, extent] : problem_.dims) {
      std::int64_t product = 1;
      std::int64_t* rest = nullptr;
      const auto each = [&](const auto& visit) {
        for (LevelMapping& level : made_)
          for (Steps* steps : {&level.temporal, &level.spatial})
            for (auto& [name, n] : *steps)
              if (name == dim) visit(n);
      };
      each([&](std::int64_t& n) {
        if (n == 0)
          rest = &n;
        else if (product <= extent)
          product *= n;
      });
      if (rest && extent % product == 0) *rest = extent / product, product = extent;
      if (product != extent)
        reader_.wrong(top, fmt::format("the factors of {} make {}, the problem has {}", dim, product, extent),
                      "imperfect factors are not imported");
    }
    for (LevelMapping& level : made_) level.temporal.erase(ones(level.temporal), level.temporal.end());
    for (LevelMapping& level : made_) {
      if (level.split)
        *level.split -= static_cast<std::size_t>(
            std::count_if(level.spatial.begin(), level.spatial.begin() + static_cast<std::ptrdiff_t>(*level.split),
                          [](const auto& loop) { return loop.second == 1; }));
      level.spatial.erase(ones(level.spatial), level.spatial.end());
    }
    if (!made_.back().spatial.empty())
      reader_.report(
          error_at(made_.back().where, "the innermost storage distributes nothing: it has one compute unit"));
  }

  static Steps::iterator ones(Steps& steps) {
    return std::stable_partition(steps.begin(), steps.end(), [](const auto& loop) { return loop.second != 1; });
  }

  Reader reader_;
  const Problem& problem_;
  const Architecture& architecture_;
  Mapping made_;
};

}  // namespace

std::optional<Mapping> read_mapping(const yaml::Node& root, const Problem& problem, const Architecture& architecture,
                                    Diagnostics& problems) {
  return MappingReader(problem, architecture, problems).read(root);
}

}  // namespace isamap::timeloop
