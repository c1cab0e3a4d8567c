// SPDX-License-Identifier: Apache-2.0
// Quantities carry units: `256KiB`, `16B/cycle`, `35GB/s`, `90ns`, `6pJ`; an integer expression may precede the unit.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hwdesc/keys/quantities.h"
#include "hwdesc/load/loader_internal.h"

namespace isamap::loader {

namespace {

struct UnitOfMeasure {
  const char* name;
  double factor;
};

// Factors to bytes, seconds, pJ, Hz.
constexpr UnitOfMeasure size_units[] = {
    {"B", 1},    {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824}, {"TiB", 1099511627776.0},
    {"kB", 1e3}, {"KB", 1e3},   {"MB", 1e6},      {"GB", 1e9},         {"TB", 1e12},
    {"b", 0.125}};
constexpr UnitOfMeasure times[] = {{"ps", 1e-12}, {"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
constexpr UnitOfMeasure energies[] = {{"fJ", 1e-3}, {"pJ", 1}, {"nJ", 1e3}, {"uJ", 1e6}};
constexpr UnitOfMeasure frequencies[] = {{"Hz", 1}, {"kHz", 1e3}, {"MHz", 1e6}, {"GHz", 1e9}};

template <std::size_t N>
std::optional<double> factor(const UnitOfMeasure (&units)[N], const std::string& name) {
  for (const UnitOfMeasure& unit : units)
    if (name == unit.name) return unit.factor;
  return std::nullopt;
}

struct Split {
  std::string number, unit;
};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// "extent[j]*4/32 cycles" -> "extent[j]*4/32", "cycles";  "16B/cycle" -> "16", "B/cycle".
Split split(const std::string& text) {
  std::size_t begin = text.size();
  while (begin > 0 && is_letter(text[begin - 1])) --begin;
  if (begin > 1 && text[begin - 1] == '/' && begin < text.size() && is_letter(text[begin - 2])) {
    std::size_t upper = begin - 1;
    while (upper > 0 && is_letter(text[upper - 1])) --upper;
    if (upper > 0 &&
        (std::isdigit(static_cast<unsigned char>(text[upper - 1])) || text[upper - 1] == ' ' || text[upper - 1] == ')'))
      begin = upper;
  }
  std::string number = text.substr(0, begin);
  while (!number.empty() && number.back() == ' ') number.pop_back();
  return {number, text.substr(begin)};
}

std::nullopt_t fail(const Node& node, const std::string& what, const std::string& kind, const std::string& example,
                    const Context& context) {
  const std::string found = node.kind == Kind::scalar ? "'" + node.scalar + "'"
                            : node.kind == Kind::null ? "nothing"
                                                      : "a collection";
  const bool bare = yaml::to_real(node).has_value();
  context.problems.error(node.where, what + " must be " + kind + ", found " + found,
                         (bare ? "a bare number has no unit; write " : "write ") + example);
  return std::nullopt;
}

std::optional<double> number_before_unit(const Node& node, const std::string& text, const Context& context) {
  Node number;
  number.kind = Kind::scalar;
  number.scalar = text;
  if (const auto real = yaml::to_real(number)) return real;
  if (text.empty()) return std::nullopt;
  const Result<IntExpr> parsed = parse_int_expr(text, text_where(node));
  if (!parsed) return std::nullopt;
  const auto value = at_sizes(*parsed, context);
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

template <class UnitFactor>
std::optional<double> read(const Node& node, const std::string& what, const std::string& kind,
                           const std::string& example, const Context& context, UnitFactor unit_factor) {
  if (node.kind != Kind::scalar) return fail(node, what, kind, example, context);
  const Split parts = split(node.scalar);
  const std::optional<double> unit = unit_factor(parts.unit);
  const auto number = unit ? number_before_unit(node, parts.number, context) : std::nullopt;
  if (number && *number < 0) {
    context.problems.error(node.where, what + " is '" + node.scalar + "', which is negative",
                           kind + " is 0 or more: write " + example);
    return std::nullopt;
  }
  if (!number || !std::isfinite(*number * *unit)) return fail(node, what, kind, example, context);
  return *number * *unit;
}

/// The value, if the quantity may have it.
std::optional<double> within(std::optional<double> value, const Node& node, const keys::Key& key,
                             const std::string& what, const Context& context) {
  if (!value) return std::nullopt;
  const keys::Range& range = key.range;
  if (*value >= range.least && *value <= range.most) return value;
  const bool nothing = *value == 0 && range.zero.empty();
  context.problems.error(node.where, what + " is '" + node.scalar + "', and must be from " + keys::range_text(key),
                         nothing ? std::string(range.instead) : "is the unit right?");
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> read_number(const Node& node, const keys::Key& key, const std::string& what,
                                        const Context& context) {
  const keys::Range& range = key.range;
  const auto value = yaml::to_integer(node);
  if (value && static_cast<double>(*value) >= range.least && static_cast<double>(*value) <= range.most) return value;
  std::string hint = "write decimal digits, as 16";
  if (value) hint = fmt::format("the nearest is {:.0f}", std::clamp<double>(*value, range.least, range.most));
  if (value && *value == 0 && range.zero.empty()) hint = range.instead;
  context.problems.error(node.where,
                         what + " must be an integer from " + keys::range_text(key) + ", found " +
                             (node.kind == Kind::scalar ? "'" + node.scalar + "'" : "no number"),
                         hint);
  return std::nullopt;
}

std::optional<std::int64_t> read_size(const Node& node, const keys::Key& key, const std::string& what,
                                      const Context& context) {
  const auto bytes = within(read(node, what, "a size", "256KiB or 64B", context,
                                 [](const std::string& unit) { return factor(size_units, unit); }),
                            node, key, what, context);
  return bytes ? std::optional(static_cast<std::int64_t>(std::ceil(*bytes))) : std::nullopt;
}

std::optional<double> read_rate(const Node& node, const keys::Key& key, const std::string& what, const Context& context,
                                std::int64_t word) {
  const auto rate =
      read(node, what, "a rate", "16B/cycle or 35GB/s", context, [&](const std::string& unit) -> std::optional<double> {
        const std::size_t slash = unit.find('/');
        if (slash == std::string::npos) return std::nullopt;
        const std::string amount = unit.substr(0, slash), per = unit.substr(slash + 1);
        const auto bytes =
            amount == "words" && word > 0 ? std::optional(static_cast<double>(word)) : factor(size_units, amount);
        if (!bytes) return std::nullopt;
        if (per == "cycle") return bytes;
        const auto seconds = factor(times, per);
        return seconds ? std::optional(*bytes / *seconds / context.model.clock_hz) : std::nullopt;
      });
  return within(rate, node, key, what, context);
}

std::optional<double> read_time(const Node& node, const keys::Key& key, const std::string& what,
                                const Context& context) {
  const auto time =
      read(node, what, "a time", "100cycles or 90ns", context, [&](const std::string& unit) -> std::optional<double> {
        if (unit == "cycles" || unit == "cycle") return 1.0;
        const auto seconds = factor(times, unit);
        return seconds ? std::optional(*seconds * context.model.clock_hz) : std::nullopt;
      });
  return within(time, node, key, what, context);
}

std::optional<double> read_energy(const Node& node, const keys::Key& key, const std::string& what,
                                  const Context& context) {
  const auto energy =
      read(node, what, "an energy", "6pJ", context, [](const std::string& unit) { return factor(energies, unit); });
  return within(energy, node, key, what, context);
}

std::optional<double> read_energy_per_byte(const Node& node, const keys::Key& key, const std::string& what,
                                           const Context& context) {
  const auto energy = read(
      node, what, "an energy for each byte", "2pJ/B", context, [](const std::string& unit) -> std::optional<double> {
        const std::size_t slash = unit.find('/');
        if (slash == std::string::npos) return std::nullopt;
        const auto amount = factor(energies, unit.substr(0, slash)), size = factor(size_units, unit.substr(slash + 1));
        return amount && size ? std::optional(*amount / *size) : std::nullopt;
      });
  return within(energy, node, key, what, context);
}

std::optional<double> read_frequency(const Node& node, const keys::Key& key, const std::string& what,
                                     const Context& context) {
  const auto hertz = read(node, what, "a frequency", "1GHz", context,
                          [](const std::string& unit) { return factor(frequencies, unit); });
  return within(hertz, node, key, what, context);
}

std::optional<IntExpr> read_cycles(const Node& node, const keys::Key& key, const std::string& what,
                                   const Context& context) {
  const std::string example = "4cycles or \"extent[j]*4/32 cycles\"";
  if (node.kind != Kind::scalar) return fail(node, what, "whole cycles", example, context);
  const Split parts = split(node.scalar);
  IntExpr cycles;
  if (parts.unit == "cycles" || parts.unit == "cycle") {
    Result<IntExpr> parsed = parse_int_expr(parts.number, text_where(node));
    if (!parsed) {
      const bool fraction = !yaml::to_real(node) && parts.number.find('.') != std::string::npos;
      if (fraction)
        return fail(node, what, "whole cycles", "1cycles and give the port a count of 2, if two start in a cycle",
                    context);
      context.problems.add(parsed.diagnostics(), "write 4cycles or \"extent[j]*4/32 cycles\"");
      return std::nullopt;
    }
    cycles = *parsed;
  } else {
    const auto time = factor(times, parts.unit) ? read_time(node, key, what, context) : std::nullopt;
    if (!time && factor(times, parts.unit)) return std::nullopt;
    if (!time) return fail(node, what, "whole cycles", example, context);
    // Of 5ns at 1.2GHz, 6.000..1 in doubles, 6.
    cycles.number = static_cast<std::int64_t>(std::ceil(*time * (1 - 1e-9)));
  }
  const auto fixed = evaluate(cycles, [](const Reference&) { return std::nullopt; });
  if (fixed && !within(static_cast<double>(*fixed), node, key, what, context)) return std::nullopt;
  return cycles;
}

}  // namespace isamap::loader
