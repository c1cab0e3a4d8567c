// SPDX-License-Identifier: Apache-2.0
// `hw show --resolved`: a separate file as the loader sees it, with bases merged and parameters and rows expanded.

#include <algorithm>

#include "hwdesc/load/loader_internal.h"
#include "isamap/hardware.h"

namespace isamap {

namespace loader {

namespace {

/// Plain scalars are words; text that YAML could read as another type is quoted. Each of these functions appends to
/// `out`: every load of a machine writes its text.
void add_scalar(std::string& out, const std::string& text, bool quoted) {
  const bool plain = !text.empty() && !quoted && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '.' || c == '/' || c == '+';
  });
  if (plain) {
    out += text;
    return;
  }
  out += '"';
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
  out += '"';
}

void add_flow(std::string& out, const Node& node) {
  if (node.kind == Kind::null) return;
  if (node.kind == Kind::scalar) return add_scalar(out, node.scalar, node.quoted);
  out += node.kind == Kind::list ? '[' : '{';
  const std::size_t begin = out.size();
  const auto next = [&] {
    if (out.size() > begin) out += ", ";
  };
  for (const Node& item : node.items) {
    next();
    add_flow(out, item);
  }
  for (const auto& [key, value] : node.entries) {
    next();
    add_scalar(out, key, false);
    out += ": ";
    add_flow(out, value);
  }
  out += node.kind == Kind::list ? ']' : '}';
}

/// Text of several lines stays readable: a block.
void add_value(std::string& out, const Node& node, const std::string& indent) {
  const bool lines = node.kind == Kind::scalar && node.scalar.find('\n') != std::string::npos;
  if (!lines || node.scalar.front() == ' ' || node.scalar.find('\t') != std::string::npos ||
      node.scalar.back() != '\n') {
    out += ' ';
    add_flow(out, node);
    out += '\n';
    return;
  }
  out += " |\n";
  for (std::size_t at = 0; at < node.scalar.size();) {
    const std::size_t end = std::min(node.scalar.find('\n', at), node.scalar.size());
    if (end > at) (out += indent).append(node.scalar, at, end - at);
    out += '\n';
    at = end + 1;
  }
}

void add_map(std::string& out, const Node& node, const std::string& first, const std::string& indent) {
  const std::string* before = &first;
  for (const auto& [key, value] : node.entries) {
    out += *before;
    add_scalar(out, key, false);
    out += ':';
    add_value(out, value, indent + "  ");
    before = &indent;
  }
}

void add_entry(std::string& out, const std::string& key, const Node& value) {
  out += key + ":";
  if (value.kind == Kind::map && key != "requires") {
    out += '\n';
    return add_map(out, value, "  ", "  ");
  }
  if (value.kind != Kind::list || value.items.empty()) return add_value(out, value, "  ");
  out += '\n';
  for (const Node& item : value.items) {
    out += "  - ";
    add_flow(out, item);
    out += '\n';
  }
}

void add_instructions(std::string& out, const std::vector<Entry>& entries) {
  out += "instructions:";
  out += entries.empty() ? " []\n" : "\n";
  for (const Entry& entry : entries) {
    if (entry.node.kind == Kind::map) {
      add_map(out, entry.node, "  - ", "    ");
      continue;
    }
    out += "  - ";
    add_flow(out, entry.node);
    out += '\n';
  }
}

}  // namespace

std::string resolved_text(const Node& root, const std::vector<Entry>& entries) {
  std::string text;
  for (const auto& [key, value] : root.entries) {
    if (key == "extends" || key == "without" || key == "params" || key == "tables" || value.kind == Kind::null)
      continue;
    if (key == "instructions")
      add_instructions(text, entries);
    else
      add_entry(text, key, value);
  }
  return text;
}

}  // namespace loader

}  // namespace isamap
