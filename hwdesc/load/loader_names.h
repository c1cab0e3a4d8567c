// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared by units, memories and links: unique names, and counts.

#include <algorithm>
#include <cctype>

#include "hwdesc/load/fields.h"

namespace isamap::loader {

inline constexpr std::int64_t max_instances = std::int64_t{1} << 40;

template <class Named>
std::vector<std::string> names_of(const std::vector<Named>& list) {
  std::vector<std::string> names;
  for (const Named& item : list)
    if (item.name != "?") names.push_back(item.name);
  return names;
}

template <class IdType, class Named>
std::optional<IdType> find_declared(const Node& node, const std::vector<Named>& list, const std::string& what,
                                    const std::string& kind, const std::string& kinds, Context& context) {
  if (node.kind != Kind::scalar) {
    context.problems.error(node.where, what + " must name a " + kind);
    return std::nullopt;
  }
  for (std::size_t i = 0; i < list.size(); ++i)
    if (list[i].name == node.scalar) return make_id<IdType>(i);
  if (context.written.contains({kind, node.scalar}) || (kind == "unit" && list.empty()))
    return std::nullopt;  // already reported
  const auto known = names_of(list);
  const std::string guess = yaml::nearest(node.scalar, known);
  context.problems.error(node.where, what + " names " + kind + " '" + node.scalar + "', which is not declared",
                         guess.empty() ? "" : "did you mean '" + guess + "'?",
                         {"declared " + kinds + ": " + (known.empty() ? "none" : join(known))});
  return std::nullopt;
}

/// Letters, digits, '_' and '-'.
inline bool is_name(const std::string& text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-'; });
}

/// The checked name of an entry of `list`; "?" if there is none.
template <class Named>
std::string take_name(Fields& fields, const std::vector<Named>& list, const std::string& kind, Context& context) {
  const auto name = fields.text("name");
  if (!name) return "?";
  if (!is_name(*name))
    context.problems.error(fields.node().find("name")->where,
                           kind + " name '" + *name + "' may hold only letters, digits, '_' and '-'");
  for (const Named& other : list)
    if (other.name == *name)
      context.problems.error(fields.node().find("name")->where, "a second " + kind + " is called '" + *name + "'",
                             "names are unique", {"the first is in line " + std::to_string(other.where.line)});
  return *name;
}

inline std::string what_of(const std::string& kind, const Node& node) {
  const Node* name = node.find("name");
  return kind + (name && name->kind == Kind::scalar ? " '" + name->scalar + "'" : "");
}

}  // namespace isamap::loader
