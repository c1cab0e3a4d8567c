// SPDX-License-Identifier: Apache-2.0
// `hw show --resolved`: a separate file as the loader sees it, with bases merged and parameters and rows expanded.

#include <algorithm>

#include "hwdesc/load/loader_internal.h"
#include "isamap/hardware.h"

namespace isamap {

namespace loader {

namespace {

/// Plain scalars are words; text that YAML could read as another type is quoted.
std::string scalar_text(const std::string& text, bool quoted) {
  const bool plain = !text.empty() && !quoted && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '.' || c == '/' || c == '+';
  });
  if (plain) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\t') {
      out += "\\t";
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string flow(const Node& node) {
  std::string text;
  switch (node.kind) {
    case Kind::null:
      return "";
    case Kind::scalar:
      return scalar_text(node.scalar, node.quoted);
    case Kind::list:
      for (const Node& item : node.items) text += (text.empty() ? "" : ", ") + flow(item);
      return "[" + text + "]";
    case Kind::map:
      for (const auto& [key, value] : node.entries)
        text += (text.empty() ? "" : ", ") + scalar_text(key, false) + ": " + flow(value);
      return "{" + text + "}";
  }
  return text;
}

/// Text of several lines stays readable: a block.
std::string value_text(const Node& node, const std::string& indent) {
  const bool lines = node.kind == Kind::scalar && node.scalar.find('\n') != std::string::npos;
  if (!lines || node.scalar.front() == ' ' || node.scalar.find('\t') != std::string::npos || node.scalar.back() != '\n')
    return " " + flow(node) + "\n";
  std::string text = " |\n";
  for (std::size_t at = 0; at < node.scalar.size();) {
    const std::size_t end = std::min(node.scalar.find('\n', at), node.scalar.size());
    if (end > at) text += indent + node.scalar.substr(at, end - at);
    text += "\n";
    at = end + 1;
  }
  return text;
}

std::string map_text(const Node& node, const std::string& first, const std::string& indent) {
  std::string text, before = first;
  for (const auto& [key, value] : node.entries) {
    text += before + scalar_text(key, false) + ":" + value_text(value, indent + "  ");
    before = indent;
  }
  return text;
}

std::string entry_text(const std::string& key, const Node& value) {
  if (value.kind == Kind::map && key != "requires") return key + ":\n" + map_text(value, "  ", "  ");
  if (value.kind != Kind::list || value.items.empty()) return key + ":" + value_text(value, "  ");
  std::string text = key + ":\n";
  for (const Node& item : value.items)
    text +=
        key == "instructions" && item.kind == Kind::map ? map_text(item, "  - ", "    ") : "  - " + flow(item) + "\n";
  return text;
}

}  // namespace

std::string resolved_text(const Node& root, const std::vector<Entry>& entries) {
  Node list;
  list.kind = Kind::list;
  for (const Entry& entry : entries) list.items.push_back(entry.node);
  std::string text;
  for (const auto& [key, value] : root.entries) {
    if (key == "extends" || key == "without" || key == "params" || key == "tables" || value.kind == Kind::null)
      continue;
    text += entry_text(key, key == "instructions" ? list : value);
  }
  return text;
}

}  // namespace loader

}  // namespace isamap
