// SPDX-License-Identifier: Apache-2.0
#include "hwdesc/keys/schema.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "hwdesc/keys/key.h"
#include "hwdesc/keys/types.h"

namespace isamap::keys {
namespace {

using json = nlohmann::ordered_json;

/// Texts with `${...}` are known when parameters are replaced: any word, number or unit may come of them.
constexpr const char* parameter = "\\$\\{";

json any_of(std::vector<json> alternatives) {
  return alternatives.size() == 1 ? alternatives[0] : json{{"anyOf", alternatives}};
}

json parameter_text() { return {{"type", "string"}, {"pattern", parameter}}; }

/// "energy per byte" -> "energyPerByte": a name for `$defs`.
std::string camel(std::string_view name) {
  std::string text;
  for (std::size_t i = 0; i < name.size(); ++i)
    if (name[i] != ' ')
      text +=
          i > 0 && name[i - 1] == ' ' ? static_cast<char>(std::toupper(static_cast<unsigned char>(name[i]))) : name[i];
  return text;
}

json reference(const std::string& name) { return {{"$ref", "#/$defs/" + camel(name)}}; }

json whole_number(const std::string& digits_before, std::optional<std::int64_t> least) {
  json number{{"type", "integer"}};
  if (least) number["minimum"] = *least;
  const std::string digits = "^" + digits_before + "([0-9]+|0x[0-9a-fA-F]+|0b[01]+)$|";
  return any_of({number, {{"type", "string"}, {"pattern", digits + parameter}}});
}

json scalar_of(const ValueType& type) {
  switch (type.form) {
    case Form::text:
      return {{"type", {"string", "integer", "number", "boolean"}}};
    case Form::word: {
      return any_of({{{"enum", type.words}}, parameter_text()});
    }
    case Form::integer:
      return whole_number("-?", std::nullopt);
    case Form::number:
      return whole_number("", 0);
    case Form::real:
      return any_of({{{"type", "number"}},
                     {{"type", "string"}, {"pattern", std::string("^[-+0-9.eE]+$|^0[xb][0-9a-fA-F]+$|") + parameter}}});
    case Form::boolean:
      return any_of(
          {{{"type", "boolean"}}, {{"type", "string"}, {"pattern", std::string("^(true|false)$|") + parameter}}});
    case Form::expression:
      return {{"type", {"string", "integer"}}};
    case Form::quantity:
      return {{"type", "string"}, {"pattern", "(" + std::string(type.pattern) + "|\\}) *$"}};
    case Form::nothing:
      return {{"type", "null"}};
  }
  return {};
}

json described(std::string_view meaning, json schema) {
  json result{{"description", meaning}};
  result.update(schema);
  return result;
}

/// Numbers of at least 1 are a definition of their own.
constexpr const char* positive = "positive";

json of_type(const Type& type, const Key& key) {
  switch (type.is) {
    case Type::Is::one_of: {
      std::vector<json> alternatives;
      for (const Type& part : type.parts) alternatives.push_back(of_type(part, key));
      return any_of(std::move(alternatives));
    }
    case Type::Is::list:
      return {{"type", "array"}, {"items", of_type(type.parts[0], key)}};
    case Type::Is::map:
      return {{"type", "object"}, {"additionalProperties", of_type(type.parts[0], key)}};
    case Type::Is::named:
      return reference(type.name == "number" && key.range.least >= 1 ? positive : type.name);
  }
  return {};
}

/// What the page writes as code is plain text in an editor.
std::string without_backticks(std::string text) {
  std::erase(text, '`');
  return text;
}

std::string description_of(const Key& key) {
  std::string text = without_backticks(std::string(key.meaning));
  if (!key.meaning.starts_with('`')) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  text += ".";
  if (!key.fallback.empty()) text += " Default: " + without_backticks(std::string(key.fallback)) + ".";
  if (!key.example.empty()) text += " Example: " + std::string(key.example) + ".";
  return text;
}

json property(const Key& key) { return described(description_of(key), of_type(parse_type(key.type), key)); }

/// Adds the rows of a section; `free`: what other names hold, false: there are none.
void add_properties(const Section& section, json& properties, json& free) {
  for (const Key& key : section.keys) {
    if (key.reserved) continue;
    if (key.name == "*")
      free = section.overrides.empty() ? property(key) : json(nullptr);  // parameters of rows are judged by the loader
    else
      properties[std::string(key.name)] = property(key);
  }
}

std::vector<std::string> needed(const Section& section, Need need) {
  std::vector<std::string> names;
  for (const Key& key : section.keys)
    if (key.need == need) names.emplace_back(key.name);
  return names;
}

json not_with_any_of(std::string_view keys) {
  std::vector<json> each;
  for (std::size_t at = 0; at < keys.size();) {
    const std::size_t end = std::min(keys.find(' ', at), keys.size());
    each.push_back({{"required", {std::string(keys.substr(at, end - at))}}});
    at = end + 1;
  }
  return {{"anyOf", each}};
}

json of_section(const Section& section) {
  json properties = json::object(), free = false;
  if (!section.overrides.empty()) {
    json ignored;
    add_properties(keys::section(section.overrides), properties, ignored);
    properties.erase("variants");
  }
  add_properties(section, properties, free);
  for (const Section& more : sections())
    if (more.extends == section.name) add_properties(more, properties, free);
  json schema{{"description", section.meaning}, {"type", "object"}};
  if (!properties.empty()) schema["properties"] = properties;
  if (!free.is_null()) schema["additionalProperties"] = free;
  if (const auto names = needed(section, Need::required); !names.empty()) schema["required"] = names;
  if (!section.excludes.empty()) schema["not"] = not_with_any_of(section.excludes);
  return schema;
}

/// A file with `extends`, or one that has all that a target needs.
json complete_or_extending(const Section& file) {
  json whole{{"required", needed(file, Need::complete)}};
  for (const Key& key : file.keys) {
    const Type type = parse_type(key.type);
    const bool collection = type.is == Type::Is::list || type.is == Type::Is::map;
    if (!collection || type.parts[0].is != Type::Is::named || find_value_type(type.parts[0].name) ||
        find_alias(type.parts[0].name))
      continue;
    const auto names = needed(section(type.parts[0].name), Need::complete);
    const char* each = type.is == Type::Is::list ? "items" : "additionalProperties";
    if (!names.empty()) whole["properties"][std::string(key.name)] = {{each, {{"required", names}}}};
  }
  return json::array({{{"required", {"extends"}}}, whole});
}

json definitions() {
  json defs = json::object();
  for (const ValueType& type : value_types())
    defs[camel(type.name)] = described(without_backticks(std::string(type.meaning)), scalar_of(type));
  defs[positive] = described("A whole number of at least 1, or ${...}.", whole_number("", 1));
  const Key plain;
  for (const Alias& alias : aliases())
    defs[camel(alias.name)] = described(alias.meaning, of_type(parse_type(alias.type), plain));
  for (const Section& section : sections())
    if (!section.path.empty() && section.extends.empty()) defs[camel(section.name)] = of_section(section);
  return defs;
}

}  // namespace

std::string schema_text() {
  const Section& file = section("file");
  json schema{{"$schema", "http://json-schema.org/draft-07/schema#"},
              {"title", "isamap hardware file"},
              {"description",
               "One target; every key is explained in hwdesc/README.md. What a schema cannot say (names that must be "
               "declared, layouts one to one, ...) `isamap hw check` says. Made from hwdesc/keys/keys.cpp."}};
  json whole = of_section(file);
  whole.erase("description");
  schema.update(whole);
  schema["anyOf"] = complete_or_extending(file);
  schema["$defs"] = definitions();
  return schema.dump(1) + "\n";
}

}  // namespace isamap::keys
