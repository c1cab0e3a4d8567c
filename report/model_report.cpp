// SPDX-License-Identifier: Apache-2.0
#include "report/model_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "driver/execute.h"
#include "planner/traffic.h"
#include "report/html.h"
#include "report/roofline.h"
#include "report/stream_report.h"
#include "support/table.h"

namespace isamap {
namespace {

constexpr int row_height = 22, column_width = 9;

/// The parts that wrote what this one reads.
std::vector<std::size_t> sources_of(const CompiledModel& compiled, std::size_t p,
                                    const std::map<std::string, std::size_t>& writer) {
  std::vector<std::size_t> sources;
  const Kernel& kernel = compiled.parts[p].kernel;
  for (std::size_t t = 0; t < kernel.tensors.size(); ++t)
    if (role_of(kernel, make_id<TensorId>(t)) == Role::input)
      if (const auto found = writer.find(kernel.tensors[t].name); found != writer.end() && found->second < p)
        sources.push_back(found->second);
  return sources;
}

/// Boxes from top to bottom; what a part reads from parts further up arrives in an arc at the left.
std::string graph(const CompiledModel& compiled) {
  std::map<std::string, std::size_t> writer;
  std::string arcs, boxes;
  const auto middle = [](std::size_t p) { return static_cast<int>(p) * row_height + row_height / 2; };
  for (std::size_t p = 0; p < compiled.parts.size(); ++p) {
    const CompiledPart& part = compiled.parts[p];
    for (const std::size_t from : sources_of(compiled, p, writer)) {
      const int depth = from + 1 == p ? 0 : std::min(90, 14 + 4 * static_cast<int>(p - from));
      arcs += fmt::format("<path d='M120 {} C{} {} {} {} 120 {}' fill=none stroke='#999'/>\n", middle(from),
                          120 - depth, middle(from), 120 - depth, middle(p), middle(p));
    }
    boxes += fmt::format(
        "<rect x=120 y={} width=480 height={} rx=3 fill='{}'/><text x=126 y={} fill='#fff' font-size=12>{} ({} "
        "statements{}{})</text>\n",
        static_cast<int>(p) * row_height + 2, row_height - 4, colours[part.program % colour_count], middle(p) + 4,
        escaped(part.name), part.kernel.statements.size(),
        part.same_as == p ? "" : fmt::format(", the program of part {}", part.same_as),
        bands_of(compiled, p) ? ", in bands of rows" : "");
    for (std::size_t t = 0; t < part.kernel.tensors.size(); ++t)
      if (role_of(part.kernel, make_id<TensorId>(t)) != Role::input) writer[part.kernel.tensors[t].name] = p;
  }
  return fmt::format("<svg width=620 height={} style='font-family:sans-serif'>\n{}{}</svg>\n",
                     static_cast<int>(compiled.parts.size()) * row_height, arcs, boxes);
}

/// Time from left to right, bytes from bottom to top.
std::string arena(const ModelRun& run, std::size_t parts) {
  if (run.blocks.empty() || run.arena_bytes == 0) return "";
  constexpr double height = 260;
  const double scale = height / static_cast<double>(run.arena_bytes);
  std::string boxes;
  for (std::size_t b = 0; b < run.blocks.size(); ++b) {
    const ArenaBlock& block = run.blocks[b];
    if (block.bytes == 0) continue;
    const double tall = static_cast<double>(block.bytes) * scale;
    boxes += fmt::format(
        "<rect x={} y={:.1f} width={} height={:.1f} fill='{}' stroke='#fff' stroke-width=0.5><title>{}: {} bytes at "
        "{}, parts {} to {}</title></rect>\n",
        block.first * column_width, height - static_cast<double>(block.at) * scale - tall,
        (block.last - block.first + 1) * column_width, tall, colours[b % colour_count], escaped(block.name),
        block.bytes, block.at, block.first, block.last);
  }
  return fmt::format(
      "<h2>Arena</h2><p>{} bytes; {} are needed at one time. Parts from left to right.</p>"
      "<svg width={} height={}>\n{}</svg>\n",
      run.arena_bytes, run.arena_bound, parts * column_width, static_cast<int>(height), boxes);
}

/// Seconds of a part: by a clock, or of its cycles in the simulator. 0: not timed.
double seconds_of(const PartRun& part, const HardwareModel& machine) {
  return part.seconds > 0 ? part.seconds
                          : (static_cast<double>(part.cycles) + part.simulated.scalar_cycles) / machine.clock_hz;
}

std::string times(const ModelPage& page) {
  const CompiledModel& compiled = page.compiled;
  double measured = 0, predicted = 0, longest = 1e-30;
  for (const PartRun& part : page.run.parts) measured += seconds_of(part, page.machine);
  for (const CompiledPart& part : compiled.parts) predicted += part.predicted_cycles;
  std::vector<BarGroup> groups;
  std::vector<std::pair<double, double>> shares;
  for (std::size_t p = 0; p < compiled.parts.size(); ++p) {
    const double seconds = p < page.run.parts.size() ? seconds_of(page.run.parts[p], page.machine) : 0;
    shares.emplace_back(measured > 0 ? seconds / measured : 0, compiled.parts[p].predicted_cycles / predicted);
    longest = std::max({longest, shares.back().first, shares.back().second});
  }
  for (std::size_t p = 0; p < compiled.parts.size(); ++p) {
    const CompiledPart& part = compiled.parts[p];
    const std::string& bound = compiled.programs[part.program]->scheduled->cost.bound;
    groups.push_back({part.name,
                      {{shares[p].first / longest,
                        measured > 0 ? fmt::format("{:.3g} ms", 1e3 * shares[p].first * measured) : "not timed"},
                       {shares[p].second / longest,
                        fmt::format("{} cycles, bound by {}", short_number(part.predicted_cycles), bound)}}});
  }
  return "<h2>Parts</h2>" +
         bar_figure(groups, {"measured", "predicted"}, "shares of the sum of all parts; bounds are those of the model");
}

/// Bytes of the arguments of a part, each once.
double argument_bytes(const Kernel& kernel) {
  double all = 0;
  for (const TensorId id : arguments(kernel)) all += static_cast<double>(byte_count(kernel.tensors[id.index()]));
  return all;
}

std::string roofline_of(const ModelPage& page) {
  std::set<std::string> instructions;
  for (const auto& program : page.compiled.programs)
    for (const Nest& nest : program->scheduled->schedule.nests)
      for (const Line& line : nest.lines)
        if (const Do* call = std::get_if<Do>(&line.is)) instructions.insert(call->instruction);
  std::vector<RoofPoint> points;
  for (std::size_t p = 0; p < page.compiled.parts.size(); ++p) {
    const CompiledPart& part = page.compiled.parts[p];
    RoofPoint point{part.name, operations(part.kernel), argument_bytes(part.kernel), 0, part.predicted_cycles};
    if (p < page.run.parts.size())
      point.cycles = page.run.parts[p].seconds > 0 ? page.run.parts[p].seconds * page.machine.clock_hz
                                                   : static_cast<double>(page.run.parts[p].cycles);
    points.push_back(std::move(point));
  }
  return roofline(roof_of(page.machine, {instructions.begin(), instructions.end()}), points);
}

/// Bytes of all parts over each link as the model counts them, and through the outermost memory before and after.
std::string bytes_moved(const ModelPage& page) {
  std::map<std::string, double> over;
  for (const CompiledPart& part : page.compiled.parts)
    for (const auto& [link, moved] : page.compiled.programs[part.program]->scheduled->cost.link_bytes)
      over[link] += moved;
  std::vector<std::vector<std::string>> rows{{"bytes", "one statement a part", "this plan"},
                                             {"activations through " + page.machine.memory(page.machine.home()).name,
                                              fmt::format("{}", page.operators), fmt::format("{}", page.activations)}};
  for (const auto& [link, moved] : over)
    rows.push_back({"over " + link + ", predicted", "", fmt::format("{:.0f}", moved)});
  return "<h2>Bytes</h2>" + html_table(rows);
}

}  // namespace

std::string html_report(const ModelPage& page) {
  const ModelRun& run = page.run;
  std::string body = fmt::format(
      "<p>{} on {}, executed {}{}: every part as the interpreter says; largest error "
      "{:.3g}.</p>",
      escaped(page.model), escaped(page.machine.name), name(run.executed),
      run.whole ? " as one program" : " part by part", run.max_error);
  body += html_table({{"", ""},
                      {"time of one run", run.seconds > 0  ? fmt::format("{:.4g} ms", 1e3 * run.seconds)
                                          : run.cycles > 0 ? fmt::format("{} cycles", run.cycles)
                                                           : "not timed"},
                      {"parts", fmt::format("{}, {} distinct", bands_as_parts(page.compiled.plan).size(),
                                            page.compiled.programs.size())},
                      {"weights", fmt::format("{} bytes", run.weights_bytes)}});
  if (run.simulated.commands > 0) {
    const StreamFacts facts = stream_facts(page.compiled, run, page.machine);
    body += stream_section({facts, page.compiled, run});
  }
  body += times(page) + roofline_of(page) + bytes_moved(page) + arena(run, page.compiled.parts.size());
  body += "<h2>Graph</h2><p>One colour is one program.</p>" + graph(page.compiled);
  body += "<h2>Plan</h2><pre>" + escaped(page.plan) + "</pre>";
  return isamap::page(page.model + " on " + page.machine.name, body);
}

}  // namespace isamap
