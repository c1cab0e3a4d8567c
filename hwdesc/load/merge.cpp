// SPDX-License-Identifier: Apache-2.0
// Inheritance: merges a file over its base files.

#include <algorithm>

#include "hwdesc/load/loader_internal.h"

namespace isamap::loader {

namespace {

const std::string* name_of(const Node& node) {
  if (node.kind != Kind::map) return nullptr;
  const Node* name = node.find("name");
  return name && name->kind == Kind::scalar ? &name->scalar : nullptr;
}

bool is_named_list(const Node& node) {
  return node.kind == Kind::list && !node.items.empty() &&
         std::all_of(node.items.begin(), node.items.end(), [](const Node& item) { return name_of(item) != nullptr; });
}

/// Keys whose texts are concatenated, those of the base first.
bool is_added(const std::string& key) { return keys::is_appended(key); }

Node as_list(const Node& node) {
  if (node.kind == Kind::list) return node;
  Node list;
  list.kind = Kind::list;
  list.where = node.where;
  if (node.kind == Kind::scalar && !node.scalar.empty()) list.items.push_back(node);
  return list;
}

Node merge_maps(Node result, const Node& over) {
  result.where = over.where;
  std::map<std::string, std::size_t> place;
  for (std::size_t i = 0; i < result.entries.size(); ++i) place.emplace(result.entries[i].first, i);
  for (std::size_t i = 0; i < over.entries.size(); ++i) {
    const auto& [key, value] = over.entries[i];
    const auto found = place.find(key);
    if (found != place.end()) {
      result.key_where[found->second] = over.key_where[i];
      Node& below = result.entries[found->second].second;
      below = is_added(key) ? merge(as_list(below), as_list(value)) : merge(std::move(below), value);
    } else {
      result.entries.push_back(over.entries[i]);
      result.key_where.push_back(over.key_where[i]);
    }
  }
  return result;
}

/// Only entries of the base are merged into: two entries of one name in one file stay separate, and are reported.
Node merge_named(Node result, const Node& over) {
  std::map<std::string, std::size_t> place;
  for (std::size_t i = 0; i < result.items.size(); ++i) place.emplace(*name_of(result.items[i]), i);
  for (const Node& item : over.items) {
    const auto found = place.find(*name_of(item));
    if (found == place.end()) {
      result.items.push_back(item);
      continue;
    }
    Node& below = result.items[found->second];
    below = merge(std::move(below), item);
    place.erase(found);
  }
  return result;
}

/// One text for equal nodes.
std::string written(const Node& node) {
  std::string text =
      std::to_string(static_cast<int>(node.kind)) + std::to_string(node.scalar.size()) + ":" + node.scalar;
  for (const Node& item : node.items) text += "," + written(item);
  for (const auto& [key, value] : node.entries)
    text += ";" + std::to_string(key.size()) + ":" + key + "=" + written(value);
  return text + ".";
}

Node unite(Node result, const Node& over) {
  std::set<std::string> known;
  for (const Node& item : result.items) known.insert(written(item));
  for (const Node& item : over.items)
    if (!known.count(written(item))) result.items.push_back(item);
  return result;
}

}  // namespace

Node merge(Node base, const Node& over) {
  if (base.kind == Kind::list && over.kind == Kind::list && over.items.empty()) return over;  // [] empties
  if (base.kind == Kind::map && over.kind == Kind::map) return merge_maps(std::move(base), over);
  if (is_named_list(base) && is_named_list(over)) return merge_named(std::move(base), over);
  if (base.kind == Kind::list && over.kind == Kind::list) return unite(std::move(base), over);
  return over;
}

/// Text between the braces is arbitrary.
bool can_make(const std::string& written, const std::string& name) {
  std::size_t at = 0, from = 0;
  for (std::size_t open = written.find("${"); open != std::string::npos; open = written.find("${", from)) {
    const std::string literal = written.substr(from, open - from);
    at = from == 0 ? (name.starts_with(literal) ? literal.size() : std::string::npos) : name.find(literal, at);
    if (at == std::string::npos) return false;
    at += from == 0 ? 0 : literal.size();
    const std::size_t close = written.find('}', open);
    if (close == std::string::npos) return false;
    from = close + 1;
  }
  const std::string tail = written.substr(from);
  return from > 0 && name.size() >= at + tail.size() && name.ends_with(tail);
}

namespace {

/// A row of an inherited entry with variants: recorded in the entry, which drops it once names are expanded.
bool drop_row(Node& root, const Node& name) {
  bool possible = false;
  for (auto& [key, list] : root.entries) {
    if (key != "instructions" || list.kind != Kind::list) continue;
    for (Node& item : list.items) {
      if (!name_of(item) || !can_make(*name_of(item), name.scalar)) continue;
      possible = true;
      Node names;
      names.kind = Kind::list;
      names.where = name.where;
      names.items.push_back(name);
      Node dropped;
      dropped.kind = Kind::map;
      dropped.where = item.where;
      dropped.entries.emplace_back("without", std::move(names));
      dropped.key_where.push_back(name.where);
      item = merge(std::move(item), dropped);
    }
  }
  return possible;
}

}  // namespace

void drop(Node& root, const Node& names, Problems& problems) {
  if (names.kind != Kind::list || names.items.size() > 1024) {
    problems.error(names.where, "'without' must be a list of at most 1024 names", "write [name, name]");
    return;
  }
  for (const Node& name : names.items) {
    bool found = false;
    std::vector<std::string> known;
    for (auto& [key, list] : root.entries) {
      if (!is_named_list(list)) continue;
      for (const Node& item : list.items) known.push_back(*name_of(item));
      found |= std::erase_if(list.items, [&](const Node& item) { return *name_of(item) == name.scalar; }) > 0;
    }
    if (found || drop_row(root, name)) continue;
    const std::string guess = yaml::nearest(name.scalar, known);
    problems.error(name.where, "'without' names '" + name.scalar + "', which no inherited list has",
                   guess.empty() ? "name a unit, memory, link or instruction of the files in 'extends'"
                                 : "did you mean '" + guess + "'?");
  }
}

}  // namespace isamap::loader
