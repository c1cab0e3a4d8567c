// SPDX-License-Identifier: Apache-2.0
#include "tests/hwdesc/schema.h"

#include <map>
#include <regex>
#include <set>

namespace isamap {
namespace {

using nlohmann::json;
using yaml::Kind;
using yaml::Node;

/// Scalars by the types of YAML 1.2: quoted ones are text.
std::string type_of(const Node& node) {
  if (node.kind == Kind::map) return "object";
  if (node.kind == Kind::list) return "array";
  if (node.kind == Kind::null) return "null";
  static const std::regex integer("-?[0-9]+|0x[0-9a-fA-F]+"), number("-?[0-9]+\\.[0-9]*([eE][-+]?[0-9]+)?");
  if (node.quoted) return "string";
  if (node.scalar == "true" || node.scalar == "false") return "boolean";
  if (std::regex_match(node.scalar, integer)) return "integer";
  return std::regex_match(node.scalar, number) ? "number" : "string";
}

const std::regex& compiled(const std::string& pattern) {
  static std::map<std::string, std::regex> all;
  return all.try_emplace(pattern, pattern).first->second;
}

class Validator {
 public:
  explicit Validator(const json& root) : root_(root) {}

  std::string check(const json& written, const Node& node, const std::string& at) const {
    const json& schema = resolved(written);
    if (const std::string no = check_known(schema); !no.empty()) return no;
    const std::string type = type_of(node);
    if (schema.contains("type") && !has_type(schema["type"], type)) return at + ": is of type " + type;
    if (schema.contains("enum") && !in_enum(schema["enum"], node)) return at + ": '" + node.scalar + "' is not allowed";
    if (schema.contains("pattern") && type == "string" && !std::regex_search(node.scalar, compiled(schema["pattern"])))
      return at + ": '" + node.scalar + "' is not of the form";
    if (schema.contains("minimum") && type == "integer" &&
        yaml::to_integer(node).value_or(0) < schema["minimum"].get<std::int64_t>())
      return at + ": too small";
    if (schema.contains("not") && check(schema["not"], node, at).empty()) return at + ": is what it must not be";
    if (schema.contains("anyOf")) {
      bool any = false;
      for (const json& one : schema["anyOf"]) any = any || check(one, node, at).empty();
      if (!any) return at + ": none of the alternatives";
    }
    if (type == "array" && schema.contains("items"))
      for (std::size_t i = 0; i < node.items.size(); ++i)
        if (auto no = check(schema["items"], node.items[i], at + "/" + std::to_string(i)); !no.empty()) return no;
    return type == "object" ? check_map(schema, node, at) : "";
  }

 private:
  const json& resolved(const json& schema) const {
    if (!schema.contains("$ref")) return schema;
    return root_.at(json::json_pointer(schema["$ref"].get<std::string>().substr(1)));
  }
  static std::string check_known(const json& schema) {
    static const std::set<std::string> known{
        "$schema", "$defs", "title", "description", "type",     "enum",       "pattern",
        "minimum", "not",   "anyOf", "items",       "required", "properties", "additionalProperties",
        "$ref"};
    for (const auto& [key, value] : schema.items())
      if (!known.contains(key)) return "keyword '" + key + "' is not implemented here";
    return "";
  }
  static bool has_type(const json& types, const std::string& type) {
    if (types.is_string()) return types == type || (types == "number" && type == "integer");
    for (const json& one : types)
      if (has_type(one, type)) return true;
    return false;
  }
  static bool in_enum(const json& values, const Node& node) {
    for (const json& value : values)
      if (value == node.scalar) return true;
    return false;
  }
  std::string check_map(const json& schema, const Node& node, const std::string& at) const {
    for (const json& key : schema.value("required", json::array()))
      if (!node.find(key.get<std::string>())) return at + ": has no " + key.dump();
    const json none = json::object();
    const json& properties = schema.contains("properties") ? schema["properties"] : none;
    for (const auto& [key, value] : node.entries) {
      const std::string place = at + "/" + key;
      if (properties.contains(key)) {
        if (auto no = check(properties[key], value, place); !no.empty()) return no;
      } else if (schema.contains("additionalProperties")) {
        const json& more = schema["additionalProperties"];
        if (more.is_boolean() && !more.get<bool>()) return place + ": unknown key";
        if (more.is_object())
          if (auto no = check(more, value, place); !no.empty()) return no;
      }
    }
    return "";
  }

  const json& root_;
};

}  // namespace

std::string violation(const json& schema, const Node& node) { return Validator(schema).check(schema, node, ""); }

}  // namespace isamap
