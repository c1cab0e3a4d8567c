// SPDX-License-Identifier: Apache-2.0
#include "hwdesc/keys/types.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "hwdesc/keys/enumeration.h"
#include "hwdesc/model/program_language.h"
#include "isamap/hardware.h"

namespace isamap::keys {
namespace {

std::vector<std::string> language_names() {
  std::vector<std::string> names;
  for (const ProgramLanguage& language : program_languages) names.emplace_back(language.name);
  return names;
}

std::vector<ValueType> scalars() {
  using enum Form;
  const auto name_of = [](std::string_view type, std::string_view meaning) { return ValueType{type, text, meaning}; };
  return {
      {"text", text, "Text or a number."},
      {"line", text, "One line of text."},
      {"template", text, "Literal text with placeholders {X}; {{ and }} are braces."},
      name_of("name", "A name that the file declares: letters, digits, '_' and '-'."),
      name_of("unit name", "One of `units`."),
      name_of("memory name", "One of `memories`."),
      name_of("link name", "One of `links`."),
      name_of("port name", "One of the `ports` of a unit."),
      name_of("table name", "One of `tables`."),
      name_of("format name", "One of `formats`."),
      name_of("layout name", "One of `layouts`."),
      name_of("view name", "One of the `views` of a memory."),
      name_of("object name", "One of `objects`."),
      name_of("completion name", "One of `async`."),
      name_of("field name", "A field of a state: STATE.FIELD."),
      name_of("index name", "An index of the operand."),
      {"integer", integer, "A whole number: decimal, 0x.. or 0b..; or ${...}."},
      {"number", number, "A whole number of the given range, or ${...}."},
      {"real", real, "A number, or ${...}."},
      {"boolean", boolean, "true or false."},
      {"expression", expression,
       "A number or an integer expression: + - * / % << >> & | min max over dims, extent[d], symbols, state fields."},
      {"size", quantity, "A size with its unit. Example: 64KiB.", "([KMGT]i?|k)?B|b"},
      {"rate", quantity, "A rate with its unit. Example: 16B/cycle or 35GB/s.", "/(cycle|s)"},
      {"time", quantity, "A time with its unit. Example: 100cycles or 90ns.", "cycles?|ps|ns|us|ms|s"},
      {"cycles", quantity, "Whole cycles, also an expression of extents. Example: 4cycles.", "cycles?|ps|ns|us|ms|s"},
      {"energy", quantity, "An energy with its unit. Example: 12pJ.", "[fpnu]J"},
      {"energy per byte", quantity, "An energy for each byte. Example: 4pJ/B.", "[fpnu]J/B"},
      {"frequency", quantity, "A frequency with its unit. Example: 2.9GHz.", "[kMG]?Hz"},
      {"nothing", nothing, "Nothing behind the colon."},
  };
}

/// Words that name alternatives; those of an enumeration of the model are its own names (enumeration.h).
std::vector<ValueType> enumerations() {
  const auto words = [](std::string_view type, std::string_view meaning, std::vector<std::string> allowed) {
    return ValueType{type, Form::word, meaning, {}, std::move(allowed)};
  };
  return {
      words("dtype", "Number format of an element; b8..b64 are bits of any type, b1 a truth value.", dtype_names()),
      words("memory kind",
            "dram: tensors live here (one is required). scratchpad, accumulator: addressed, managed by the program. "
            "cache: never addressed; a move into one is a prefetch. register: numbered.",
            words_between(MemoryKind::dram, MemoryKind::register_file)),
      words("language", "asm: a straight-line stream of commands with numeric addresses, for accelerators.",
            language_names()),
      words("completion kind", "What tells that asynchronous instructions are done.",
            words_between(AsyncKind::groups, AsyncKind::tokens)),
      words("order", "Results as if in program order, or queues that tokens order.", {"program", "tokens"}),
      words("when known", "compile: part of the text. run: when the program runs.", {"run", "compile"}),
      words("inactive", "What positions from the extent to the maximum hold afterwards.",
            words_between(Inactive::zero, Inactive::undefined)),
      words("kept", "Points beyond the extent are not touched.", {"keep"}),
      words("start", "The old content, or the identity of the operator.", words_between(Start::keep, Start::zero)),
      words("issuer", "one: exactly one innermost instance issues it.", {"all", "one"}),
      words("scope", "function: the text is an attribute of the emitted function.", {"use", "function"}),
      words("change", "The one direction in which a setter moves its fields.",
            words_between(Change::raise, Change::lower)),
      words("rounding", "After each operation, once at the end, or toward zero.",
            words_between(Numerics::Round::each, Numerics::Round::truncate)),
      words("denormals", "Kept, or flushed to zero.", {"keep", "zero"}),
      words("any", "Whatever there is.", {"any"}),
  };
}

constexpr Alias all_aliases[] = {
    {"texts", "text | list of text", "A text or a list of them."},
    {"stride", "expression | each", "Elements, an expression, any, or {each: UNIT}."},
    {"layout", "layout name | fragment | renamed layout | strides",
     "Strides by term ({i: 16, j: 1}), a fragment ({over: .., i: .., j: ..}) or the name of a layout."},
    {"dim", "expression | range", "An extent: a number, an expression of symbols, or a range."},
    {"emitted", "template | assembly line", "Text, or an assembly line."},
    {"step", "template | assembly step", "Text, or an assembly line and what follows it."},
};

/// Reads a type from the left.
class TypeReader {
 public:
  explicit TypeReader(std::string_view text) : left_(text) {}

  Type alternatives() {
    Type type;
    type.is = Type::Is::one_of;
    do type.parts.push_back(one());
    while (took(" | "));
    return type.parts.size() == 1 ? Type(type.parts[0]) : type;
  }
  bool at_end() const { return left_.empty(); }

 private:
  bool took(std::string_view word) {
    if (!left_.starts_with(word)) return false;
    left_.remove_prefix(word.size());
    return true;
  }

  Type one() {
    if (took("(")) {
      Type inner = alternatives();
      ISAMAP_CHECK(took(")"), "a type of the table of keys does not close its parenthesis");
      return inner;
    }
    for (const auto& [word, is] : {std::pair("list of ", Type::Is::list), std::pair("map of ", Type::Is::map)})
      if (took(word)) return {is, {}, {one()}};
    const std::size_t end = std::min({left_.find(" | "), left_.find(')'), left_.size()});
    Type named{Type::Is::named, std::string(left_.substr(0, end)), {}};
    left_.remove_prefix(end);
    return named;
  }

  std::string_view left_;
};

void check_declared(const Type& type) {
  for (const Type& part : type.parts) check_declared(part);
  if (type.is == Type::Is::named && !find_value_type(type.name) && !find_alias(type.name)) section(type.name);
}

}  // namespace

std::span<const ValueType> value_types() {
  static const std::vector<ValueType> types = [] {
    std::vector<ValueType> all = scalars(), words = enumerations();
    all.insert(all.end(), words.begin(), words.end());
    return all;
  }();
  return types;
}

const ValueType* find_value_type(std::string_view name) {
  for (const ValueType& type : value_types())
    if (type.name == name) return &type;
  return nullptr;
}

std::span<const Alias> aliases() { return all_aliases; }

const Alias* find_alias(std::string_view name) {
  for (const Alias& alias : all_aliases)
    if (alias.name == name) return &alias;
  return nullptr;
}

Type parse_type(std::string_view text) {
  TypeReader reader(text);
  Type type = reader.alternatives();
  ISAMAP_CHECK(reader.at_end(), fmt::format("the table of keys has the type '{}'", text));
  check_declared(type);
  return type;
}

namespace {

struct Parsed {
  Type type;
  Shape shape;
};

const Parsed& parsed(const Key& key) {
  static const std::map<const Key*, Parsed> all = [] {
    std::map<const Key*, Parsed> made;
    for (const Section& section : sections())
      for (const Key& one : section.keys) {
        Type type = parse_type(one.type);
        const Shape shape = shape_of(type);
        made.emplace(&one, Parsed{std::move(type), shape});
      }
    return made;
  }();
  return all.at(&key);
}

}  // namespace

const Type& type_of(const Key& key) { return parsed(key).type; }
const Shape& shape_of(const Key& key) { return parsed(key).shape; }

Shape shape_of(const Type& type) {
  if (type.is == Type::Is::list) return {.list = true};
  if (type.is == Type::Is::map) return {.map = true};
  if (type.is == Type::Is::one_of) {
    Shape all;
    for (const Type& part : type.parts) {
      const Shape one = shape_of(part);
      all = {all.scalar || one.scalar, all.list || one.list, all.map || one.map, all.null || one.null};
    }
    return all;
  }
  if (const Alias* alias = find_alias(type.name)) return shape_of(parse_type(alias->type));
  const ValueType* value = find_value_type(type.name);
  if (value && value->form == Form::nothing) return {.null = true};
  return value ? Shape{.scalar = true} : Shape{.map = true};
}

bool holds(const Type& type, std::string_view value_type) {
  if (type.is != Type::Is::named)
    return std::any_of(type.parts.begin(), type.parts.end(), [&](const Type& part) { return holds(part, value_type); });
  const Alias* alias = find_alias(type.name);
  return type.name == value_type || (alias && holds(parse_type(alias->type), value_type));
}

std::vector<std::string> words_of(const Type& type) {
  if (type.is == Type::Is::named) {
    const ValueType* value = find_value_type(type.name);
    return value ? value->words : std::vector<std::string>{};
  }
  std::vector<std::string> words;
  for (const Type& part : type.parts) {
    const auto more = words_of(part);
    words.insert(words.end(), more.begin(), more.end());
  }
  return words;
}

}  // namespace isamap::keys
