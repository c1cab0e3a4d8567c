// SPDX-License-Identifier: Apache-2.0
#include "hwdesc/keys/reference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "hwdesc/keys/key.h"
#include "hwdesc/keys/quantities.h"
#include "hwdesc/keys/types.h"
#include "isamap/result.h"

namespace isamap::keys {
namespace {

constexpr std::string_view first_version = "0.1";

/// Sections with a list of their own; the others are items of the key that holds them.
constexpr std::string_view shown_alone[] = {"program", "unit",   "memory", "link",   "instruction",
                                            "operand", "symbol", "state",  "format", "completion",
                                            "barrier", "object", "row"};

bool is_shown_alone(std::string_view section) {
  return std::find(std::begin(shown_alone), std::end(shown_alone), section) != std::end(shown_alone);
}

std::string type_text(const Type& type);

std::string named_text(const std::string& name) {
  if (const Alias* alias = find_alias(name)) return type_text(parse_type(alias->type));
  const ValueType* value = find_value_type(name);
  if (!value) return "map";
  return value->words.empty() ? name : fmt::format("`{}`", fmt::join(value->words, "`, `"));
}

/// "number or map"; each alternative once.
std::string type_text(const Type& type) {
  if (type.is == Type::Is::named) return named_text(type.name);
  if (type.is != Type::Is::one_of) {
    const std::string each = type_text(type.parts[0]);
    return fmt::format("{} of {}", type.is == Type::Is::list ? "list" : "map", each == "map" ? "maps" : each);
  }
  std::vector<std::string> alternatives;
  for (const Type& part : type.parts) {
    const std::string text = type_text(part);
    if (text != "nothing" && std::find(alternatives.begin(), alternatives.end(), text) == alternatives.end())
      alternatives.push_back(text);
  }
  return fmt::format("{}", fmt::join(alternatives, " or "));
}

std::string code(std::string_view text) { return fmt::format("`{}`", text); }

/// Words of a text; what is `code` stays in one of them.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words(1);
  bool in_code = false;
  for (const char c : text) {
    if (c == '`') in_code = !in_code;
    if (c == ' ' && !in_code)
      words.emplace_back();
    else
      words.back() += c;
  }
  return words;
}

/// An item of a list, in lines of the length that pages have.
std::string item(std::string_view text) {
  constexpr std::size_t longest = 120;
  std::string made = "-";
  std::size_t length = made.size();
  for (const std::string& word : words_of(text)) {
    const bool fits = length + 1 + word.size() <= longest;
    made += (fits ? " " : "\n  ") + word;
    length = fits ? length + 1 + word.size() : 2 + word.size();
  }
  return made + "\n";
}

std::string item_of(const Key& key, const std::string& name) {
  std::string type = type_text(parse_type(key.type)), meaning(key.meaning);
  if (!key.example.empty()) type += " like " + code(key.example);
  if (key.need != Need::optional) type += "; required";
  if (key.need == Need::optional && !key.fallback.empty()) type += fmt::format("; default {}", key.fallback);
  if (key.since != first_version) meaning += fmt::format(" (since {})", key.since);
  return item(fmt::format("{} ({}): {}", code(name), type, meaning));
}

/// Sections that the type names, with the part of the path that leads to them: "views" -> "views.*".
void sections_in(const Type& type, const std::string& path,
                 std::vector<std::pair<const Section*, std::string>>& found) {
  const bool each = type.is == Type::Is::list || type.is == Type::Is::map;
  for (const Type& part : type.parts) sections_in(part, each ? path + ".*" : path, found);
  if (type.is != Type::Is::named || find_value_type(type.name)) return;
  if (const Alias* alias = find_alias(type.name)) return sections_in(parse_type(alias->type), path, found);
  found.emplace_back(&section(type.name), path);
}

void add_items(const Section& of, const std::string& prefix, const std::string& place, std::string& text) {
  for (const Key& key : of.keys) {
    if (key.reserved) continue;
    const std::string name = prefix + std::string(key.name), path = place + std::string(key.name);
    text += item_of(key, name);
    std::vector<std::pair<const Section*, std::string>> inside;
    sections_in(parse_type(key.type), "", inside);
    for (const auto& [section, way] : inside)
      if (section->path == path + way && !is_shown_alone(section->name))
        add_items(*section, name + way + ".", path + way + ".", text);
  }
  for (const Section& more : sections())
    if (more.extends == of.name) add_items(more, prefix, place, text);
}

std::string reserved_text() {
  std::vector<std::string> all;
  for (const Section& section : sections()) {
    std::vector<std::string> names;
    for (const Key& key : section.keys)
      if (key.reserved) names.push_back(code(key.name));
    if (!names.empty()) all.push_back(fmt::format("{} {}", section.name, fmt::join(names, ", ")));
  }
  return fmt::format("Known keys that give the error \"not supported yet\": {};\n`start` from another operand.\n",
                     fmt::join(all, "; "));
}

std::string type_list() {
  std::string text;
  for (const ValueType& type : value_types())
    if (type.words.empty() && type.form != Form::nothing) text += item(fmt::format("{}: {}", type.name, type.meaning));
  return text;
}

std::string block(const std::string& name) {
  if (name == "quantities") return quantity_table();
  if (name == "types") return type_list();
  return name == "reserved" ? reserved_text() : section_list(name);
}

}  // namespace

std::string section_list(std::string_view name) {
  const Section& of = section(name);
  std::string text;
  add_items(of, "", of.path.empty() ? "" : std::string(of.path) + ".", text);
  return text;
}

std::string with_key_lists(const std::string& page) {
  const std::string open = "<!-- keys: ", close = "<!-- end of keys -->";
  std::string made;
  std::size_t done = 0;
  for (std::size_t at = page.find(open); at != std::string::npos; at = page.find(open, done)) {
    const std::size_t name = at + open.size(), name_end = page.find(" -->\n", name), end = page.find(close, at);
    ISAMAP_CHECK(name_end < end && end != std::string::npos, "a block of keys has no end");
    const std::size_t text = name_end + std::string(" -->\n").size();
    made += page.substr(done, text - done) + "\n" + block(page.substr(name, name_end - name)) + "\n";
    done = end;
  }
  return made + page.substr(done);
}

}  // namespace isamap::keys
