// SPDX-License-Identifier: Apache-2.0
#pragma once
// Types of values in the hardware language, and how the table of keys spells them:
//
//   type = one { " | " one }
//   one  = "list of " one | "map of " one | "(" type ")" | name of a value type, of an alias or of a section
//
// "number | at most | mesh" is a number or one of two maps; "map of X" is a map with free names.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hwdesc/keys/key.h"

namespace isamap::keys {

enum class Form { text, word, integer, number, real, boolean, expression, quantity, nothing };

/// What a scalar may be.
struct ValueType {
  std::string_view name;
  Form form = Form::text;
  std::string_view meaning;
  std::string_view pattern = {};        ///< of a quantity, as the schema has it: the end of the text
  std::vector<std::string> words = {};  ///< the allowed ones
};
std::span<const ValueType> value_types();
const ValueType* find_value_type(std::string_view name);

/// A name for a longer type.
struct Alias {
  std::string_view name, type, meaning;
};
std::span<const Alias> aliases();
const Alias* find_alias(std::string_view name);

struct Type {
  enum class Is { one_of, list, map, named } is = Is::named;
  std::string name;         ///< named
  std::vector<Type> parts;  ///< alternatives, or what the list or map holds
};
/// The type that a row spells; one that nothing declares is a bug.
Type parse_type(std::string_view text);

/// The type of a row, parsed once.
const Type& type_of(const Key& key);

/// What a value of the type can be in YAML; aliases and sections are followed.
struct Shape {
  bool scalar = false, list = false, map = false, null = false;
};
Shape shape_of(const Type& type);
/// The same of a row, kept.
const Shape& shape_of(const Key& key);
/// Is this value type among the alternatives, or what a list or map of them holds?
bool holds(const Type& type, std::string_view value_type);
/// The words of its enumeration; empty: it has none.
std::vector<std::string> words_of(const Type& type);

}  // namespace isamap::keys
