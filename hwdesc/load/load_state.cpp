// SPDX-License-Identifier: Apache-2.0
// State and bit formats. (Barriers and completion: load_completion.cpp.)

#include <algorithm>

#include "hwdesc/load/loader_names.h"
#include "support/arithmetic.h"

namespace isamap::loader {

namespace {

bool in_bits(std::int64_t high, std::int64_t low, int bits) { return low >= 0 && low <= high && high < bits; }

/// `[hi, lo]`
bool load_bits(const Node& node, FormatField& field, const Format& format, const std::string& what, Context& context) {
  const auto high = node.kind == Kind::list && node.items.size() == 2 ? yaml::to_integer(node.items[0]) : std::nullopt;
  const auto low = high ? yaml::to_integer(node.items[1]) : std::nullopt;
  if (!low || !in_bits(*high, *low, format.bits)) {
    context.problems.error(node.where, what + " must be [high, low] within " + std::to_string(format.bits) + " bits",
                           low && high && *high < *low
                               ? "write [" + std::to_string(*low) + ", " + std::to_string(*high) + "]"
                               : "bits are numbered from 0, the lowest, to " + std::to_string(format.bits - 1));
    return false;
  }
  field.high = static_cast<int>(*high);
  field.low = static_cast<int>(*low);
  return true;
}

bool load_array_field(Fields& map, FormatField& field, const Format& format, const std::string& what,
                      Context& context) {
  for (const char* key : {"at", "width", "count"}) map.required(key);
  const auto at = map.integer("at"), width = map.integer("width"), count = map.integer("count");
  if (!at || !width || !count) return false;
  const bool fits = *width >= 1 && *width <= 64 && *count >= 1 && *count <= 4096 &&
                    in_bits(*at + *width * *count - 1, *at, format.bits);
  if (!fits)
    context.problems.error(map.node().where, what + " does not fit " + std::to_string(format.bits) + " bits",
                           "it takes the bits from 'at' to at + width*count - 1; width is 1 to 64");
  if (!fits) return false;
  field.low = static_cast<int>(*at);
  field.high = static_cast<int>(*at + *width * *count - 1);
  field.width = static_cast<int>(*width);
  field.count = static_cast<int>(*count);
  return true;
}

/// A field that says only its name: without bits there is nothing to compare.
FormatField field_without_bits(const std::string& name) {
  FormatField field;
  field.name = name;
  field.low = 1, field.high = 0;
  return field;
}

FormatField load_field(const std::string& name, const Node& node, const Format& format, Context& context) {
  const std::string what = "field '" + name + "' of format '" + format.name + "'";
  FormatField field;
  field.name = name;
  if (node.kind != Kind::map) return load_bits(node, field, format, what, context) ? field : field_without_bits(name);
  Fields map(node, "bit field", what, context);
  const Node* bits = map.child("bits");
  const bool readable =
      bits ? load_bits(*bits, field, format, what, context) : load_array_field(map, field, format, what, context);
  if (!readable) field.low = 1, field.high = 0;
  field.value = map.integer("value");
  field.is_signed = map.boolean("signed").value_or(false);
  if (field.value && readable) check_fits(*field.value, field, format, "'value'", place_of(node, {"value"}), context);
  return field;
}

void load_format(const std::string& name, const Node& node, Context& context) {
  Fields map(node, "format", "format '" + name + "'", context);
  Format format;
  format.name = name;
  const auto bits = map.number("bits");
  format.bits = static_cast<int>(bits.value_or(65536));
  format.constraint = map.text("constraint").value_or("");
  const Node* fields = map.child("fields");
  if (fields && fields->entries.size() > 256) {
    context.problems.error(fields->where, "format '" + name + "' has more than 256 fields");
    fields = nullptr;
  }
  for (std::size_t f = 0; fields && f < fields->entries.size(); ++f) {
    const auto& [key, value] = fields->entries[f];
    format.fields.push_back(bits ? load_field(key, value, format, context) : field_without_bits(key));
  }
  context.parts.formats.push_back(std::move(format));
}

}  // namespace

std::vector<StateField> load_state_fields(const Node& node, const std::string& what, Context& context) {
  std::vector<StateField> fields;
  for (const auto& [name, value] : node.entries) {
    Fields map(value, "field", "field '" + name + "' in " + what, context);
    StateField field;
    field.name = name;
    field.min = map.integer("min").value_or(0);
    field.max = map.number("max").value_or(0);
    field.multiple_of = map.number("multiple_of").value_or(1);
    if (const Node* type = map.child("dtype"))
      field.dtype = dtype_named(*type, "field '" + name + "' in " + what, context);
    if (!field.dtype || !is_float(*field.dtype))
      field.reset = map.integer("reset");
    else if (const auto reset = map.real("reset"))
      field.reset = bits_of_real(*field.dtype, *reset);
    if (const Node* values = map.child("values"))
      for (const Node& item : values->items) {
        if (const auto number = yaml::to_integer(item))
          field.values.push_back(*number);
        else
          context.problems.error(item.where, "'values' of field '" + name + "' must be integers");
      }
    if (field.max != 0 && field.max < field.min)
      context.problems.error(value.where, "field '" + name + "' has min " + std::to_string(field.min) + " and max " +
                                              std::to_string(field.max));
    fields.push_back(std::move(field));
  }
  return fields;
}

namespace {

/// Checks the unit that shares the pool, and that it suffices for the smallest value of each instance.
void check_pool(const StatePool& pool, const State& state, const Node& node, const std::string& what,
                Context& context) {
  const auto& units = context.parts.units;
  std::int64_t sharers = 1;
  UnitId u = state.per;
  for (; u.valid() && u != pool.unit; u = units[u.index()].parent)
    sharers = checked_mul(sharers, units[u.index()].at_most ? 1 : units[u.index()].count).value_or(INT64_MAX);
  if (!u.valid())
    return context.problems.error(node.where, what + ": unit '" + units[state.per.index()].name + "' is not inside '" +
                                                  units[pool.unit.index()].name + "'");
  if (pool.total < 0) context.problems.error(node.where, what + " has a negative 'total'");
  if (pool.beside < 0) context.problems.error(node.where, what + " has a negative 'beside'");
  for (const StateField& field : state.fields) {
    const auto least = checked_mul(field.min, sharers);
    if (field.name == pool.field && pool.total > 0 && (!least || *least > pool.total))
      context.problems.error(node.where,
                             what + ": the smallest values of '" + field.name + "' already add up to " +
                                 (least ? std::to_string(*least) : "more") + "; 'total' is " +
                                 std::to_string(pool.total),
                             "make 'total' larger or the 'min' of the field smaller");
  }
}

/// {regs: block} or {regs: {unit: block, total: 512}}
void load_pool(const Node& node, State& state, Context& context) {
  const std::string what = "'pool' of state '" + state.name + "'";
  for (std::size_t i = 0; i < node.entries.size(); ++i) {
    const auto& [name, value] = node.entries[i];
    StatePool pool;
    pool.field = name;
    const auto field = std::find_if(state.fields.begin(), state.fields.end(),
                                    [&, n = name](const StateField& f) { return f.name == n; });
    if (field == state.fields.end())
      context.problems.error(node.key_where[i], what + " names field '" + name + "', which the state does not have",
                             "name one of the state's 'fields'");
    if (value.kind == Kind::map) {
      Fields map(value, "state pool", what, context);
      if (const Node* unit = map.child("unit")) pool.unit = unit_named(*unit, what, context).value_or(UnitId{});
      pool.total = map.integer("total").value_or(0);
      pool.beside = map.integer("beside").value_or(0);
    } else {
      pool.unit = unit_named(value, what, context).value_or(UnitId{});
    }
    if (pool.unit.valid() && state.per.valid()) check_pool(pool, state, value, what, context);
    state.pools.push_back(std::move(pool));
  }
}

}  // namespace

void load_states(const Node& root, Context& context) {
  for (const Node* node : items(root, "states", context.problems)) {
    Fields map(*node, "state", what_of("state", *node), context);
    State state;
    state.name = map.text("name").value_or("?");
    for (const State& other : context.parts.states)
      if (other.name == state.name && node->find("name"))
        context.problems.error(node->find("name")->where, "a second state is called '" + state.name + "'",
                               "names are unique");
    if (const Node* per = map.child("per"))
      state.per = unit_named(*per, "'per' of state '" + state.name + "'", context).value_or(UnitId{});
    state.count = map.number("count").value_or(1);
    state.kept_by = map.texts("kept_by");
    if (const Node* fields = map.child("fields"))
      state.fields = load_state_fields(*fields, "state '" + state.name + "'", context);
    if (const Node* pool = map.child("pool")) load_pool(*pool, state, context);
    context.parts.states.push_back(std::move(state));
  }
}

void load_formats(const Node& root, Context& context) {
  const Node* formats = top_level(root, "formats", context.problems);
  if (!formats) return;
  if (formats->kind != Kind::map) context.problems.error(formats->where, "'formats' must be a map");
  for (const auto& [name, node] : formats->entries) load_format(name, node, context);
}

std::optional<FormatUse> load_format_use(const Node& node, const std::string& what, Context& context) {
  FormatUse use;
  Fields map(node, "format use", what, context);
  if (const Node* format = map.child("format")) {
    use.format = format->scalar;
    const auto& formats = context.parts.formats;
    if (std::none_of(formats.begin(), formats.end(), [&](const Format& f) { return f.name == use.format; }))
      context.problems.error(format->where, what + " names format '" + use.format + "', which is not declared");
  }
  row_of("format use", "*", context.problems);
  for (const auto& [key, value] : node.entries) {
    if (key == "format") continue;
    if (auto expression = int_expr(value, context.problems)) use.fields.emplace_back(key, std::move(*expression));
  }
  return use;
}

}  // namespace isamap::loader
