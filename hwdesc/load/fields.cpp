// SPDX-License-Identifier: Apache-2.0
#include "hwdesc/load/fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "hwdesc/keys/types.h"

namespace isamap::loader {
namespace {

/// "program or tokens", "zero, keep or undefined".
std::string one_of(const std::vector<std::string>& words) {
  if (words.size() < 2) return words.empty() ? "" : words[0];
  const auto before = std::vector<std::string>(words.begin(), words.end() - 1);
  return fmt::format("{} or {}", fmt::join(before, ", "), words.back());
}

bool is_open(const std::vector<const keys::Section*>& sections) {
  return std::any_of(sections.begin(), sections.end(),
                     [](const keys::Section* section) { return keys::find_key(*section, "*") != nullptr; });
}

}  // namespace

Fields::Fields(const Node& node, std::string_view section, std::string what, const Context& context)
    : MapReader(node, std::move(what), own), sections_{&keys::section(section)}, context_(context) {}

Fields::~Fields() {
  std::vector<std::string> known, reserved;
  for (const keys::Section* section : sections_)
    for (const keys::Key& key : section->keys) (key.reserved ? reserved : known).emplace_back(key.name);
  if (!is_open(sections_)) report_unknown(known, reserved);
  context_.problems.add(own);
}

void Fields::also(std::string_view section) { sections_.push_back(&keys::section(section)); }

const keys::Key& Fields::row(std::string_view key) {
  for (const keys::Section* section : sections_)
    if (const keys::Key* found = keys::find_key(*section, key)) {
      context_.problems.note_read(*found);
      return *found;
    }
  return keys::key(sections_.front()->name, key);  // none: a bug, which this says
}

const keys::Key& Fields::row(std::string_view key, std::string_view type) {
  const keys::Key& found = row(key);
  ISAMAP_CHECK(keys::holds(keys::type_of(found), type), fmt::format("key '{}' is read as {}", key, type));
  return found;
}

const Node* Fields::found(const keys::Key& row) {
  const Node* value = node().find(std::string(row.name));
  if (!value && row.need != keys::Need::optional && node().kind == Kind::map)
    own.push_back(error_at(node().where, yaml::without_key(what(), row.name),
                           fmt::format("write {}: {}", row.name, row.example.empty() ? "VALUE" : row.example)));
  return value;
}

const Node* Fields::child(std::string_view key) {
  const keys::Key& of = row(key);
  const Node* value = found(of);
  const keys::Shape& shape = keys::shape_of(of);
  if (!value || shape.scalar) return value;
  const bool empty_list = shape.list && value->kind == Kind::null;
  if ((shape.list && value->kind == Kind::list) || (shape.map && value->kind == Kind::map) || empty_list ||
      (shape.null && value->kind == Kind::null))
    return value;
  own.push_back(error_at(value->where,
                         fmt::format("'{}' of {} must be {}, found {}", key, what(),
                                     !shape.map   ? "a list"
                                     : shape.list ? "a list or a map"
                                                  : "a map",
                                     yaml::kind_text(*value)),
                         fmt::format("write {}", of.example.empty() ? "{key: value, ...}" : of.example)));
  return nullptr;
}

void Fields::check_there(std::string_view key) { found(row(key)); }

const Node* Fields::required(std::string_view key) {
  const Node* value = child(key);
  if (value || has(std::string(key)) || node().kind != Kind::map) return value;
  own.push_back(error_at(node().where, yaml::without_key(what(), key), fmt::format("write {}: VALUE", key)));
  return nullptr;
}

std::optional<std::string> Fields::text(std::string_view key) {
  return found(row(key)) ? MapReader::text(std::string(key)) : std::nullopt;
}

std::vector<std::string> Fields::texts(std::string_view key) {
  found(row(key, "texts"));
  return MapReader::texts(std::string(key));
}

std::optional<std::int64_t> Fields::integer(std::string_view key) {
  return found(row(key)) ? MapReader::integer(std::string(key)) : std::nullopt;
}

std::optional<double> Fields::real(std::string_view key) {
  return found(row(key, "real")) ? MapReader::real(std::string(key)) : std::nullopt;
}

std::optional<bool> Fields::boolean(std::string_view key) {
  return found(row(key, "boolean")) ? MapReader::boolean(std::string(key)) : std::nullopt;
}

std::optional<std::string> Fields::word(std::string_view key, const std::string& hint,
                                        const std::map<std::string, std::string>& synonyms) {
  const keys::Key& of = row(key);
  const auto words = keys::words_of(keys::type_of(of));
  const auto written = text(key);
  if (!written || std::find(words.begin(), words.end(), *written) != words.end()) return written;
  const auto synonym = synonyms.find(*written);
  const std::string guess = synonym != synonyms.end() ? synonym->second : yaml::nearest(*written, words);
  own.push_back(error_at(node().find(std::string(key))->where,
                         fmt::format("{} must be {}, found '{}'", about(key), one_of(words), *written),
                         !guess.empty() ? "did you mean '" + guess + "'?"
                         : hint.empty() ? "write " + words.front()
                                        : hint));
  return std::nullopt;
}

std::optional<std::int64_t> Fields::number(std::string_view key) {
  const keys::Key& of = row(key, "number");
  const Node* value = found(of);
  return value ? read_number(*value, of, about(key), context_) : std::nullopt;
}

std::optional<std::int64_t> Fields::size(std::string_view key) {
  const keys::Key& of = row(key, "size");
  const Node* value = found(of);
  return value ? read_size(*value, of, about(key), context_) : std::nullopt;
}

std::optional<double> Fields::rate(std::string_view key, std::int64_t word) {
  const keys::Key& of = row(key, "rate");
  const Node* value = found(of);
  return value ? read_rate(*value, of, about(key), context_, word) : std::nullopt;
}

std::optional<double> Fields::time(std::string_view key) {
  const keys::Key& of = row(key, "time");
  const Node* value = found(of);
  return value ? read_time(*value, of, about(key), context_) : std::nullopt;
}

std::optional<double> Fields::energy(std::string_view key) {
  const keys::Key& of = row(key);
  const Node* value = found(of);
  if (!value) return std::nullopt;
  return keys::holds(keys::type_of(of), "energy") ? read_energy(*value, of, about(key), context_)
                                                  : read_energy_per_byte(*value, of, about(key), context_);
}

std::optional<IntExpr> Fields::cycles(std::string_view key, const std::string& what) {
  const keys::Key& of = row(key, "cycles");
  const Node* value = found(of);
  return value ? read_cycles(*value, of, fmt::format("'{}' of {}", key, what), context_) : std::nullopt;
}

std::string Fields::about(std::string_view key) const { return fmt::format("'{}' of {}", key, what()); }

const Node* top_level(const Node& root, std::string_view key, Problems& problems) {
  row_of("file", key, problems);
  return root.find(std::string(key));
}

const keys::Key& row_of(std::string_view section, std::string_view key, Problems& problems) {
  const keys::Key& row = keys::key(section, key);
  problems.note_read(row);
  return row;
}

}  // namespace isamap::loader
