// SPDX-License-Identifier: Apache-2.0
#include "report/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "driver/execute.h"
#include "report/html.h"
#include "report/plot.h"
#include "scheduler/nest/instruction_timing.h"

namespace isamap {
namespace {

double operations_per_cycle(const Instruction& instruction, const HardwareModel& machine) {
  Kernel kernel;
  kernel.statements = {instruction.statement()};
  const std::vector<std::int64_t> extents = full_extents(instruction);
  for (std::size_t d = 0; d < extents.size(); ++d) kernel.statements[0].domain.dims[d].extent = extents[d];
  const double interval = interval_of(instruction, extents, machine) / ports_of(instruction, machine);
  return interval > 0 ? operations(kernel) / interval : 0;
}

PlotAxis axis_over(const std::string& label, const std::vector<double>& values) {
  double low = 1e300, high = 0;
  for (const double value : values)
    if (value > 0) low = std::min(low, value), high = std::max(high, value);
  if (high <= 0) low = high = 1;
  return {label, true, std::pow(10, std::floor(std::log10(low))), std::pow(10, std::ceil(std::log10(high * 1.01)))};
}

std::string words_of(const Roof& roof) {
  std::string text = roof.operations > 0
                         ? fmt::format("{:g} operations in a cycle by {}", roof.operations, roof.instruction)
                         : "no instruction in use";
  for (const RoofLevel& level : roof.levels)
    text += fmt::format("; {:g} bytes in a cycle by {}", level.bandwidth, level.link);
  return text;
}

double below(const Roof& roof, double operations_per_byte, double bandwidth) {
  const double by_bytes = operations_per_byte * bandwidth;
  return roof.operations > 0 ? std::min(by_bytes, roof.operations) : by_bytes;
}

}  // namespace

Roof roof_of(const HardwareModel& machine, const std::vector<std::string>& instructions) {
  Roof roof;
  for (const std::string& name : instructions) {
    const auto found = machine.find_instruction(name.substr(0, name.find('.')));
    if (!found || machine.instruction(*found).semantics.size() != 1) continue;
    const double most = operations_per_cycle(machine.instruction(*found), machine);
    if (most > roof.operations) roof.operations = most, roof.instruction = machine.instruction(*found).name;
  }
  const auto is_cache = [&](MemoryId id) { return machine.memory(id).kind == MemoryKind::cache; };
  const bool cached = std::any_of(machine.memories().begin(), machine.memories().end(),
                                  [](const Memory& memory) { return memory.kind == MemoryKind::cache; });
  for (const Link& link : machine.links()) {
    const bool outer = link.from == machine.home() || (cached && is_cache(link.from));
    if (outer && link.bandwidth > 0 && (!cached || is_cache(link.to)))
      roof.levels.push_back(
          {link.name, machine.memory(link.from).name, link.bandwidth, machine.memory(link.from).capacity});
  }
  std::stable_sort(roof.levels.begin(), roof.levels.end(),
                   [](const RoofLevel& a, const RoofLevel& b) { return a.capacity > b.capacity; });
  return roof;
}

double attainable(const Roof& roof, const RoofPoint& point) {
  if (roof.levels.empty()) return roof.operations;
  const RoofLevel* holds = &roof.levels.front();
  for (const RoofLevel& level : roof.levels)
    if (static_cast<double>(level.capacity) >= point.bytes &&
        std::pair(-level.capacity, level.bandwidth) > std::pair(-holds->capacity, holds->bandwidth))
      holds = &level;
  return below(roof, point.operations / point.bytes, holds->bandwidth);
}

std::string roofline(const Roof& roof, const std::vector<RoofPoint>& points) {
  Series measured{"measured", 0, {}, {}}, predicted{"predicted", 1, {}, {}};
  measured.dots = predicted.dots = true;
  std::vector<double> intensities, rates{roof.operations};
  std::vector<std::vector<std::string>> rows{{"part", "operations", "bytes", "of the roof, measured", "predicted"}};
  for (const RoofPoint& point : points) {
    if (point.operations <= 0 || point.bytes <= 0) continue;
    const double intensity = point.operations / point.bytes, most = attainable(roof, point);
    std::vector<std::string> row{point.name, fmt::format("{:.4g}", point.operations),
                                 fmt::format("{:.0f}", point.bytes)};
    for (const auto& [series, cycles] : {std::pair(&measured, point.cycles), {&predicted, point.predicted_cycles}}) {
      row.push_back(cycles > 0 && most > 0 ? fmt::format("{:.0f} %", 100 * point.operations / cycles / most) : "");
      if (cycles <= 0) continue;
      const double rate = point.operations / cycles;
      series->points.emplace_back(intensity, rate);
      series->labels.push_back(
          fmt::format("{}: {:.3g} operations a byte, {:.3g} a cycle", point.name, intensity, rate));
      rates.push_back(rate);
    }
    intensities.push_back(intensity);
    rows.push_back(std::move(row));
  }
  if (intensities.empty()) return "";
  const PlotAxis x = axis_over("operations for each byte", intensities);
  std::vector<Series> series;
  for (const RoofLevel& level : roof.levels) {
    Series line{"from " + level.from, 7 + series.size(), {}, {}};
    for (const double at : {x.low, roof.operations / level.bandwidth, x.high})
      if (at >= x.low && at <= x.high) line.points.emplace_back(at, below(roof, at, level.bandwidth));
    for (const auto& [at, rate] : line.points) rates.push_back(rate);
    series.push_back(std::move(line));
  }
  series.push_back(std::move(measured));
  series.push_back(std::move(predicted));
  return "<h2>Roofline</h2>" +
         line_figure(series, x, axis_over("operations in a cycle", rates),
                     words_of(roof) +
                         "; bytes are inputs, weights and outputs of a part, each once, from the smallest "
                         "memory that holds them all") +
         html_table(rows);
}

}  // namespace isamap
