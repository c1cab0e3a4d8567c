// SPDX-License-Identifier: Apache-2.0
#include "hwdesc/model/quantities.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "isamap/result.h"

namespace isamap {
namespace {

using K = QuantityKind;

// Limits with a margin: products of a few of them stay within 64 bits, sums of costs within a double.
constexpr double count_most = 1 << 20, instances_most = 0x1p40, size_most = 0x1p60, part_most = 0x1p40;
constexpr double rate_least = 1e-6, rate_most = 1e12, time_most = 1e12, energy_most = 1e15;

constexpr std::string_view unlimited = "leave it out for no limit", at_once = "at once", free_of_cost = "costs nothing";

constexpr auto rows = std::to_array<Quantity>({
    {"clock", K::frequency, 1, 1e15, "", "write 1GHz"},
    {"program.window", K::number, 1, 4096, "", "write 1 for the order of the program"},
    {"units.*.count", K::number, 1, instances_most, "", "a unit that is not there is left out"},
    {"units.*.count.*", K::number, 1, count_most, "", "leave the axis out"},
    {"units.*.ports.*", K::number, 1, count_most, "", "leave the port out"},
    {"units.*.loop_end", K::time, 0, time_most, "nothing is lost", ""},
    {"memories.*.capacity", K::size, 1, size_most, "", "leave the memory out"},
    {"memories.*.count", K::number, 1, count_most, "", "leave the register file out"},
    {"memories.*.size", K::size, 1, part_most, "", "write the bytes of one register, as 32B"},
    {"memories.*.granularity", K::size, 1, part_most, "", "leave it out for 1B"},
    {"memories.*.base", K::number, 0, 0x1p62, "addresses start at 0", ""},
    {"memories.*.banks", K::number, 1, count_most, "", "leave it out: no conflicts are counted"},
    {"memories.*.bank_width", K::size, 1, part_most, "", "leave it out: no conflicts are counted"},
    {"memories.*.line", K::size, 1, part_most, "", "leave it out"},
    {"memories.*.transaction", K::size, 1, 0x1p30, "", "leave it out: nothing is counted"},
    {"memories.*.misses", K::number, 1, count_most, "", "leave it out: not known"},
    {"memories.*.ways", K::number, 1, count_most, "", "leave it out for 8"},
    {"memories.*.streams", K::number, 1, count_most, "", "leave it out for 32"},
    {"memories.*.pages", K::number, 1, count_most, "", "leave it out for 64"},
    {"memories.*.fetch", K::size, 1, part_most, "", "leave it out for a line"},
    {"memories.*.usable", K::size, 1, size_most, "", "leave it out for 3/4 of the capacity"},
    {"memories.*.word", K::size, 1, part_most, "", "leave it out for 1B"},
    {"memories.*.bandwidth.read", K::rate, rate_least, rate_most, "", unlimited},
    {"memories.*.bandwidth.write", K::rate, rate_least, rate_most, "", unlimited},
    {"memories.*.bandwidth.shared", K::rate, rate_least, rate_most, "", unlimited},
    {"memories.*.energy.read", K::energy, 0, energy_most, free_of_cost, ""},
    {"memories.*.energy.write", K::energy, 0, energy_most, free_of_cost, ""},
    {"memories.*.pool.total", K::number, 1, instances_most, "", "leave 'pool' out: each instance has its own"},
    {"memories.*.pool.kept", K::number, 0, instances_most, "the compiler keeps none", ""},
    {"links.*.bandwidth", K::rate, rate_least, rate_most, "", unlimited},
    {"links.*.latency", K::time, 0, time_most, at_once, ""},
    {"links.*.begin", K::time, 0, time_most, "the first line takes no longer than others", ""},
    {"links.*.energy", K::energy_per_byte, 0, energy_most, free_of_cost, ""},
    {"symbols.*.min", K::number, 0, 0x1p32, "the size may be 0", ""},
    {"symbols.*.max", K::number, 1, 0x1p32, "", "write the largest size"},
    {"symbols.*.multiple_of", K::number, 1, 0x1p32, "", "leave it out for 1"},
    {"symbols.*.likely", K::number, 1, 0x1p32, "", "leave it out"},
    {"states.*.count", K::number, 1, 256, "", "leave the state out"},
    {"states.*.fields.*.max", K::number, 0, 0x1p62, "no largest value", ""},
    {"states.*.fields.*.multiple_of", K::number, 1, 0x1p62, "", "leave it out for 1"},
    {"formats.*.bits", K::number, 1, 65536, "", "write the length of the word, as 32"},
    {"barriers.*.latency", K::time, 0, time_most, at_once, ""},
    {"barriers.*.count", K::number, 1, 65536, "", "leave it out for one"},
    {"async.*.size", K::size, 1, part_most, "", "write the bytes of one counter, as 8B"},
    {"program.run.seconds", K::number, 1, 604800, "", "leave it out for 60"},
    {"instructions.*.dims.*", K::number, 1, 0x1p32, "", "an instruction does at least one point"},
    {"instructions.*.dims.*.min", K::number, 0, 0x1p32, "a use may do nothing", ""},
    {"instructions.*.dims.*.max", K::number, 1, 0x1p32, "", "an instruction does at least one point"},
    {"instructions.*.dims.*.multiple_of", K::number, 1, 0x1p32, "", "leave it out for 1"},
    {"instructions.*.operands.*.align", K::size, 1, 1 << 20, "", "leave it out for 1B"},
    {"instructions.*.operands.*.multiple_of.*", K::size, 1, part_most, "", "leave it out"},
    {"instructions.*.operands.*.group", K::number, 1, 64, "", "leave it out for 1"},
    {"instructions.*.operands.*.at_once.*", K::number, 1, 65536, "", "leave it out for 1"},
    {"instructions.*.timing.latency", K::cycles, 0, time_most, "the next instruction may use the result at once", ""},
    {"instructions.*.timing.interval", K::cycles, 1, time_most, "", "for two a cycle give the port a count of 2"},
    {"instructions.*.energy", K::energy, 0, energy_most, free_of_cost, ""},
});

std::string_view unit_of(QuantityKind kind) {
  switch (kind) {
    case K::number:
      return "";
    case K::size:
      return "B";
    case K::rate:
      return "B/cycle";
    case K::time:
    case K::cycles:
      return "cycles";
    case K::energy:
      return "pJ";
    case K::energy_per_byte:
      return "pJ/B";
    case K::frequency:
      return "Hz";
  }
  return "";
}

std::string_view units_of(QuantityKind kind) {
  switch (kind) {
    case K::number:
      return "none";
    case K::size:
      return "a size";
    case K::rate:
      return "a rate";
    case K::time:
      return "a time";
    case K::cycles:
      return "whole cycles";
    case K::energy:
      return "an energy";
    case K::energy_per_byte:
      return "an energy for each byte";
    case K::frequency:
      return "a frequency";
  }
  return "";
}

std::string number_text(double value) {
  const double log = value > 1000 ? std::log2(value) : 0.5;
  return log == std::floor(log) ? fmt::format("2^{:g}", log) : fmt::format("{:g}", value);
}

}  // namespace

std::span<const Quantity> quantities() { return rows; }

const Quantity& quantity(std::string_view key) {
  for (const Quantity& row : rows)
    if (row.key == key) return row;
  ISAMAP_CHECK(false, fmt::format("no quantity is called '{}'", key));
  return rows.front();
}

std::string range_text(const Quantity& quantity) {
  const std::string_view unit = unit_of(quantity.kind);
  return fmt::format("{}{} to {}{}", number_text(quantity.least), unit, number_text(quantity.most), unit);
}

std::string quantity_table() {
  std::string text = "| quantity | unit | range | 0 means |\n|---|---|---|---|\n";
  for (const Quantity& row : rows)
    text += fmt::format("| `{}` | {} | {} | {} |\n", row.key, units_of(row.kind), range_text(row),
                        row.zero.empty() ? fmt::format("error; {}", row.instead) : std::string(row.zero));
  return text;
}

}  // namespace isamap
