// SPDX-License-Identifier: Apache-2.0
// Typed reading of one map, and the conversions from scalar text: the key determines the type, not YAML's guess.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "support/yaml.h"

namespace isamap::yaml {

namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

/// Insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> before, row(b.size() + 1), last;
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::string kind_text(const Node& node) {
  switch (node.kind) {
    case Kind::null:
      return "nothing";
    case Kind::scalar:
      return "'" + node.scalar + "'";
    case Kind::list:
      return "a list";
    case Kind::map:
      return "a map";
  }
  return "";
}

Node::Node() noexcept = default;

const Node* Node::find(const std::string& key) const {
  for (const auto& [name, value] : entries)
    if (name == key) return &value;
  return nullptr;
}

std::optional<std::int64_t> to_integer(const Node& node) {
  if (node.kind != Kind::scalar) return std::nullopt;
  std::string_view text = node.scalar;
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0b")) {
    base = text[1] == 'x' ? 16 : 2;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text[0] == '0') {
    return std::nullopt;  // 010 is 8 or 10, depending on the YAML version
  }
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (problem != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  if (value > std::uint64_t{INT64_MAX}) return std::nullopt;
  return negative ? -static_cast<std::int64_t>(value) : static_cast<std::int64_t>(value);
}

std::optional<double> to_real(const Node& node) {
  if (node.kind != Kind::scalar || node.scalar.empty()) return std::nullopt;
  const std::string& text = node.scalar;
  if (text.find_first_not_of("0123456789+-.eE") != std::string::npos) return std::nullopt;
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::string nearest(const std::string& word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  if (word.size() > 64) return best;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > 64) continue;
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance && distance < candidate.size()) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& known) {
  const std::string guess = nearest(word, known);
  return guess.empty() ? "known: " + fmt::format("{}", fmt::join(known, ", ")) : "did you mean '" + guess + "'?";
}

std::string without_key(std::string_view what, std::string_view key) {
  return fmt::format("{} has no '{}'", what, key);
}

MapReader::MapReader(const Node& node, std::string what, Diagnostics& diagnostics)
    : node_(node), what_(std::move(what)), diagnostics_(diagnostics) {
  if (node.kind != Kind::map)
    diagnostics_.push_back(
        error_at(node.where, what_ + " must be a map, found " + kind_text(node), "write {key: value, ...}"));
}

bool MapReader::has(const std::string& key) const { return node_.find(key) != nullptr; }

const Node* MapReader::child(const std::string& key) {
  if (std::find(asked_.begin(), asked_.end(), key) == asked_.end()) asked_.push_back(key);
  return node_.find(key);
}

const Node* MapReader::required(const std::string& key) {
  const Node* found = child(key);
  if (!found && node_.kind == Kind::map)
    diagnostics_.push_back(error_at(node_.where, without_key(what_, key), "write " + key + ": VALUE"));
  return found;
}

std::optional<std::string> MapReader::text(const std::string& key, bool is_required) {
  const Node* found = is_required ? required(key) : child(key);
  if (!found) return std::nullopt;
  if (found->kind == Kind::scalar) return found->scalar;
  diagnostics_.push_back(error_at(found->where,
                                  "'" + key + "' of " + what_ + " must be text, found " + kind_text(*found),
                                  found->kind == Kind::map ? "quote text that begins with '{'" : ""));
  return std::nullopt;
}

std::optional<std::int64_t> MapReader::integer(const std::string& key, bool is_required) {
  const Node* found = is_required ? required(key) : child(key);
  if (!found) return std::nullopt;
  const auto value = to_integer(*found);
  if (!value)
    diagnostics_.push_back(error_at(found->where,
                                    "'" + key + "' of " + what_ + " must be an integer, found " + kind_text(*found),
                                    "write decimal digits, 0x.. or 0b.., without a leading zero"));
  return value;
}

std::optional<double> MapReader::real(const std::string& key) {
  const Node* found = child(key);
  if (!found) return std::nullopt;
  const auto value = to_real(*found);
  if (!value)
    diagnostics_.push_back(error_at(found->where,
                                    "'" + key + "' of " + what_ + " must be a number, found " + kind_text(*found),
                                    "write 0.5 or 1e-3"));
  return value;
}

std::optional<bool> MapReader::boolean(const std::string& key) {
  const Node* found = child(key);
  if (!found) return std::nullopt;
  if (found->kind == Kind::scalar && !found->quoted && found->scalar == "true") return true;
  if (found->kind == Kind::scalar && !found->quoted && found->scalar == "false") return false;
  diagnostics_.push_back(error_at(found->where,
                                  "'" + key + "' of " + what_ + " must be true or false, found " + kind_text(*found),
                                  "yes, no, on, off and quoted words are text"));
  return std::nullopt;
}

std::vector<std::string> MapReader::texts(const std::string& key) {
  const Node* found = child(key);
  std::vector<std::string> result;
  if (!found) return result;
  if (found->kind == Kind::scalar) return {found->scalar};
  if (found->kind != Kind::list) {
    diagnostics_.push_back(error_at(
        found->where, "'" + key + "' of " + what_ + " must be a list, found " + kind_text(*found), "write [a, b]"));
    return result;
  }
  for (const Node& item : found->items) {
    if (item.kind == Kind::scalar)
      result.push_back(item.scalar);
    else
      diagnostics_.push_back(
          error_at(item.where, "'" + key + "' of " + what_ + " must list text, found " + kind_text(item)));
  }
  return result;
}

void MapReader::finish() { report_unknown(asked_, {}); }

void MapReader::report_unknown(const std::vector<std::string>& known, const std::vector<std::string>& reserved) {
  constexpr int most = 50;
  int unknown_keys = 0;
  for (std::size_t i = 0; i < node_.entries.size(); ++i) {
    const std::string& key = node_.entries[i].first;
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    if (std::find(reserved.begin(), reserved.end(), key) != reserved.end()) {
      diagnostics_.push_back(
          error_at(node_.key_where[i], "key '" + key + "' of " + what_ + " is not supported yet", "leave it out"));
      continue;
    }
    if (++unknown_keys > most) {
      diagnostics_.push_back(
          error_at(node_.key_where[i], "more than " + std::to_string(most) + " unknown keys in " + what_));
      return;
    }
    Diagnostic unknown = error_at(node_.key_where[i], "unknown key '" + key + "' in " + what_);
    const std::string guess = nearest(key, known);
    if (!guess.empty()) unknown.hint = "did you mean '" + guess + "'?";
    if (!guess.empty() && !has(guess))  // the misspelt key is the error, not that the right one is missing
      std::erase_if(diagnostics_, [&](const Diagnostic& one) {
        return one.where == node_.where && one.message == without_key(what_, guess);
      });
    unknown.notes.push_back("known keys: " + joined(known));
    diagnostics_.push_back(std::move(unknown));
  }
}

}  // namespace isamap::yaml
