// SPDX-License-Identifier: Apache-2.0
#pragma once
// The keys of the hardware language: one row a key, in keys.cpp and nowhere else.
//
// From the rows come what the loader accepts (hwdesc/load/fields.h: unknown and missing keys, types, ranges), the JSON
// schema for editors (schema.h) and the tables of hwdesc/README.md (reference.h). A row says how a key is written; what
// it means for the machine is the business of the one reader that asks for it.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace isamap::keys {

enum class Need {
  optional,
  required,  ///< in every file
  complete,  ///< in a complete target: a file with `extends` may leave it to its base
};

/// Of a quantity, in the unit of its type: bytes, bytes/cycle, cycles, pJ, pJ/B, Hz.
struct Range {
  double least = 0, most = 0;     ///< most 0: there is no range
  std::string_view zero = {};     ///< what 0 means; empty: 0 is an error
  std::string_view instead = {};  ///< what to write where 0 is an error
};

struct Key {
  std::string_view name;  ///< "*": any name that no other row of the section has
  std::string_view type;  ///< as types.h spells types: "size", "list of text | nothing", a section
  Need need = Need::optional;
  std::string_view fallback = {};  ///< the default, as the page prints it
  Range range = {};
  bool appended = false;           ///< texts of a base file are kept, those of the file follow
  bool reserved = false;           ///< known, and "not supported yet"
  std::string_view since = "0.1";  ///< version of isamap
  std::string_view example = {};   ///< a value, as YAML
  std::string_view meaning = {};
};

/// A map of the language: the keys that may stand in it.
struct Section {
  std::string_view name;  ///< "memory": types of other keys say it
  std::string_view path;  ///< where it stands in a file, "memories.*"; empty: the file itself
  std::string_view meaning;
  std::span<const Key> keys;
  std::string_view extends = {};    ///< the section whose keys it adds to, for one of its kinds
  std::string_view excludes = {};   ///< a map with one of these keys is another section
  std::string_view overrides = {};  ///< the section whose keys may stand here too
};

std::span<const Section> sections();
/// The section of this name, which must exist.
const Section& section(std::string_view name);
/// The row, or null.
const Key* find_key(const Section& section, std::string_view name);
/// The row, which must exist: a reader that asks for another key is a bug.
const Key& key(std::string_view section, std::string_view name);
/// "memories.*.capacity": where the value stands in a file; `*` is any entry of a list or map.
std::string path_of(const Section& section, const Key& key);
/// Names without "*" and reserved ones, with those of the sections that extend it.
std::vector<std::string> names_of(const Section& section);
/// Do texts of a base file come before those of a file that extends it?
bool is_appended(std::string_view name);

}  // namespace isamap::keys
