// SPDX-License-Identifier: Apache-2.0
#include "hwdesc/keys/quantities.h"

#include <fmt/format.h>

#include <cmath>

namespace isamap::keys {
namespace {

/// Units of the model, in which ranges are, and what the page calls such a value.
struct Measure {
  std::string_view type, unit, called;
};
constexpr Measure measures[] = {
    {"size", "B", "a size"},
    {"rate", "B/cycle", "a rate"},
    {"time", "cycles", "a time"},
    {"cycles", "cycles", "whole cycles"},
    {"energy per byte", "pJ/B", "an energy for each byte"},
    {"energy", "pJ", "an energy"},
    {"frequency", "Hz", "a frequency"},
    {"", "", "none"},
};

const Measure& measure_of(const Key& key) {
  const std::size_t map = key.type.starts_with("map of ") ? 7 : 0;
  const std::string_view type = key.type.substr(map, key.type.find(" | ") - map);
  for (const Measure& one : measures)
    if (one.type == type || one.type.empty()) return one;
  return measures[0];
}

std::string number_text(double value) {
  const double log = value > 1000 ? std::log2(value) : 0.5;
  return log == std::floor(log) ? fmt::format("2^{:g}", log) : fmt::format("{:g}", value);
}

}  // namespace

std::span<const Quantity> quantities() {
  static const std::vector<Quantity> rows = [] {
    std::vector<Quantity> found;
    for (const Section& section : sections())
      for (const Key& key : section.keys)
        if (key.range.most > 0) found.push_back({path_of(section, key), &key});
    return found;
  }();
  return rows;
}

std::string range_text(const Key& key) {
  const std::string_view unit = measure_of(key).unit;
  return fmt::format("{}{} to {}{}", number_text(key.range.least), unit, number_text(key.range.most), unit);
}

std::string quantity_table() {
  std::string text = "| quantity | unit | range | 0 means |\n|---|---|---|---|\n";
  for (const auto& [path, key] : quantities())
    text += fmt::format(
        "| `{}` | {} | {} | {} |\n", path, measure_of(*key).called, range_text(*key),
        key->range.zero.empty() ? fmt::format("error; {}", key->range.instead) : std::string(key->range.zero));
  return text;
}

}  // namespace isamap::keys
