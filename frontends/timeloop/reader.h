// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared by the readers of the three files: a problem is reported at its location, and reading continues. Every key of
// every map is read, known to have no effect, or an error: no key is dropped silently.

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/yaml.h"

namespace isamap::timeloop {

/// Keys are written with hyphens (up to 0.3) or underscores.
inline std::string underscores(std::string text) {
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

using Keys = std::vector<std::string>;

/// Reads parts of one file into its problems.
class Reader {
 public:
  explicit Reader(Diagnostics& problems) : problems_(problems) {}

  void report(Diagnostic problem) { problems_.push_back(std::move(problem)); }

  /// Converts to any missing value, for `return wrong(...)`.
  std::nullopt_t wrong(const yaml::Node& node, const std::string& message, const std::string& hint = "") {
    problems_.push_back(error_at(node.where, message, hint));
    return std::nullopt;
  }

  /// Reports unknown keys, and keys given in two spellings. False: it is no map.
  bool only(const yaml::Node& node, const std::string& what, const Keys& known) {
    if (node.kind != yaml::Kind::map) {
      wrong(node, what + " is no map", "write {key: value, ..}");
      return false;
    }
    Keys seen;
    for (std::size_t i = 0; i < node.entries.size(); ++i) {
      const std::string key = underscores(node.entries[i].first);
      if (std::find(seen.begin(), seen.end(), key) != seen.end())
        problems_.push_back(error_at(node.key_where[i], "'" + key + "' of " + what + " is given twice"));
      seen.push_back(key);
      if (std::find(known.begin(), known.end(), key) == known.end())
        problems_.push_back(error_at(node.key_where[i], "unknown key '" + node.entries[i].first + "' of " + what,
                                     yaml::did_you_mean(key, known)));
    }
    return true;
  }

  /// The list under a key; other nodes are reported, and give an empty list.
  const std::vector<yaml::Node>& items_of(const yaml::Node* list, const std::string& what) {
    static const std::vector<yaml::Node> none;
    if (!list || list->kind == yaml::Kind::null) return none;
    if (list->kind != yaml::Kind::list) wrong(*list, what + " is a list");
    return list->items;
  }

  /// The text under `name`; nothing: there is none, which is reported.
  std::optional<std::string> name_of(const yaml::Node& node, const std::string& what) {
    const yaml::Node* name = node.find("name");
    if (!name) return wrong(node, what + " has a name:");
    if (name->kind != yaml::Kind::scalar || name->scalar.empty())
      return wrong(*name, "the name of " + what + " is text");
    return name->scalar;
  }

  bool failed() const { return has_errors(problems_); }

 private:
  Diagnostics& problems_;
};

}  // namespace isamap::timeloop
