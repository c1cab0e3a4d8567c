// Inheritance: what a file says on top of what the files below it say.

#include <algorithm>

#include "hwdesc/loader_internal.h"

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

Node merge_maps(const Node& base, const Node& over) {
  Node result = base;
  result.where = over.where;
  for (std::size_t i = 0; i < over.entries.size(); ++i) {
    const auto& [key, value] = over.entries[i];
    const auto found = std::find_if(result.entries.begin(), result.entries.end(), [&](const auto& e) { return e.first == key; });
    if (found != result.entries.end()) {
      result.key_where[static_cast<std::size_t>(found - result.entries.begin())] = over.key_where[i];
      found->second = merge(found->second, value);
    } else {
      result.entries.push_back(over.entries[i]);
      result.key_where.push_back(over.key_where[i]);
    }
  }
  return result;
}

/// Only entries of `base` are merged into: two entries of one name in one file stay two, to be reported as such.
Node merge_named(const Node& base, const Node& over) {
  Node result = base;
  std::map<std::string, std::size_t> place;
  for (std::size_t i = 0; i < base.items.size(); ++i) place.emplace(*name_of(base.items[i]), i);
  for (const Node& item : over.items) {
    const auto found = place.find(*name_of(item));
    if (found == place.end()) {
      result.items.push_back(item);
      continue;
    }
    result.items[found->second] = merge(result.items[found->second], item);
    place.erase(found);
  }
  return result;
}

Node unite(const Node& base, const Node& over) {
  Node result = base;
  for (const Node& item : over.items)
    if (std::none_of(base.items.begin(), base.items.end(), [&](const Node& b) { return same(b, item); })) result.items.push_back(item);
  return result;
}

}  // namespace

bool same(const Node& a, const Node& b) {
  if (a.kind != b.kind || a.scalar != b.scalar || a.items.size() != b.items.size() || a.entries.size() != b.entries.size()) return false;
  for (std::size_t i = 0; i < a.items.size(); ++i)
    if (!same(a.items[i], b.items[i])) return false;
  for (std::size_t i = 0; i < a.entries.size(); ++i)
    if (a.entries[i].first != b.entries[i].first || !same(a.entries[i].second, b.entries[i].second)) return false;
  return true;
}

Node merge(const Node& base, const Node& over) {
  if (base.kind == Kind::map && over.kind == Kind::map) return merge_maps(base, over);
  if (is_named_list(base) && is_named_list(over)) return merge_named(base, over);
  if (base.kind == Kind::list && over.kind == Kind::list) return unite(base, over);
  return over;
}

void drop(Node& root, const Node& names, Problems& problems) {
  if (names.kind != Kind::list) {
    problems.error(names.where, "'without' must be a list of names", "write [name, name]");
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
    if (found) continue;
    const std::string guess = yaml::nearest(name.scalar, known);
    problems.error(name.where, "'without' names '" + name.scalar + "', which no inherited list has", guess.empty() ? "" : "did you mean '" + guess + "'?");
  }
}

}  // namespace isamap::loader
