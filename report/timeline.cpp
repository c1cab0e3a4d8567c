// SPDX-License-Identifier: Apache-2.0
#include "report/timeline.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/html.h"
#include "scheduler/cost/priced_nest.h"
#include "scheduler/cost/stream_simulation.h"
#include "support/table.h"

namespace isamap {
namespace {

/// A JSON string literal; names come from untrusted files.
std::string json_text(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + '"';
}

/// Calls first, then resources, then transfers in and out of each tile.
int track_of(const BusySlice& slice, std::size_t resources) {
  switch (slice.track) {
    case BusySlice::Track::calls:
      return 0;
    case BusySlice::Track::resource:
      return 1 + slice.resource;
    case BusySlice::Track::transfer:
      break;
  }
  return 1 + static_cast<int>(resources) + 2 * slice.flow + (slice.out ? 1 : 0);
}

std::vector<std::string> track_names(const NestFlow& flow) {
  std::vector<std::string> names{"calls of " + flow.call.name};
  for (const Resource& r : flow.resources) names.push_back(r.name);
  for (const TileFlow& f : flow.flows) {
    names.push_back("fill " + f.name);
    names.push_back("drain " + f.name);
  }
  return names;
}

std::string slice_name(const BusySlice& slice, const NestFlow& flow) {
  if (slice.track == BusySlice::Track::calls || slice.flow < 0) return fmt::format("calls {}", slice.number);
  return fmt::format("{} {} {}", slice.out ? "drain" : "fill", flow.flows[static_cast<std::size_t>(slice.flow)].name,
                     slice.number);
}

}  // namespace

std::string trace_json(const std::vector<Timeline>& timelines, const HardwareModel& model) {
  const double microseconds = 1e6 / model.clock_hz;  // of a cycle
  std::string text = "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"target\":" + json_text(model.name) +
                     fmt::format(",\"clock_hz\":{:g}}},\"traceEvents\":[", model.clock_hz);
  std::string separator = "\n";
  const auto event = [&](const std::string& line) {
    text += separator + line;
    separator = ",\n";
  };
  int process = 0;
  for (const Timeline& t : timelines) {
    ++process;
    const std::string title = t.statement + (t.simulated.all_slices ? "" : " (its beginning: there is more)");
    event(fmt::format("{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{},\"args\":{{\"name\":{}}}}}", process,
                      json_text(title)));
    const std::vector<std::string> names = track_names(t.flow);
    std::vector<bool> used(names.size(), false);
    for (const BusySlice& s : t.simulated.slices)
      used[static_cast<std::size_t>(track_of(s, t.flow.resources.size()))] = true;
    for (std::size_t track = 0; track < names.size(); ++track) {
      if (!used[track]) continue;
      event(fmt::format("{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":{}}}}}",
                        process, track, json_text(names[track])));
      event(fmt::format(
          "{{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":{},\"tid\":{},\"args\":{{\"sort_index\":{}}}}}",
          process, track, track));
    }
    for (const BusySlice& s : t.simulated.slices)
      event(fmt::format(
          "{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{:.9g},\"dur\":{:.9g},\"name\":{},\"args\":{{"
          "\"cycle\":{:.10g},\"cycles\":{:.10g}}}}}",
          process, track_of(s, t.flow.resources.size()), (t.begin + s.begin) * microseconds,
          (s.end - s.begin) * microseconds, json_text(slice_name(s, t.flow)), t.begin + s.begin, s.end - s.begin));
  }
  return text + "\n]}\n";
}

std::string utilisation_picture(const Timeline& t) {
  constexpr std::size_t bins = 160;
  constexpr double cell = 4, row = 16, left = 150;
  const std::vector<std::string> names = track_names(t.flow);
  std::vector<std::vector<double>> busy(names.size(), std::vector<double>(bins, 0));
  std::vector<double> sum(names.size(), 0);
  const double length = std::max(t.simulated.cycles, 1e-9) / bins;
  for (const BusySlice& s : t.simulated.slices) {
    const auto track = static_cast<std::size_t>(track_of(s, t.flow.resources.size()));
    sum[track] += s.end - s.begin;
    for (auto b = static_cast<std::size_t>(s.begin / length); b < bins && static_cast<double>(b) * length < s.end;
         ++b) {
      const double low = static_cast<double>(b) * length;
      busy[track][b] += std::min(s.end, low + length) - std::max(s.begin, low);
    }
  }
  std::string body;
  double y = 4;
  for (std::size_t track = 0; track < names.size(); ++track) {
    if (sum[track] <= 0) continue;
    body += fmt::format("<text x=\"0\" y=\"{:.0f}\">{}</text>", y + 11, escaped(names[track]));
    const char* colour = colours[track == 0 ? 0 : track <= t.flow.resources.size() ? 1 : 2];
    for (std::size_t b = 0; b < bins; ++b) {
      const double share = std::clamp(busy[track][b] / length, 0.0, 1.0);
      if (share < 0.01) continue;
      std::size_t end = b + 1;  // merges equal adjacent cells
      while (end < bins && std::abs(std::clamp(busy[track][end] / length, 0.0, 1.0) - share) < 0.01) ++end;
      body += fmt::format(
          "<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" height=\"12\" fill=\"{}\" "
          "fill-opacity=\"{:.2f}\"/>",
          left + cell * static_cast<double>(b), y, cell * static_cast<double>(end - b), colour, share);
      b = end - 1;
    }
    body += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\">{:.0f} %</text>", left + cell * bins + 6, y + 11,
                        100 * sum[track] / std::max(t.simulated.cycles, 1e-9));
    y += row;
  }
  const double width = left + cell * bins + 60;
  body += fmt::format(
      "<text x=\"{:.0f}\" y=\"{:.0f}\">0</text><text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"end\">{} "
      "cycles</text>",
      left, y + 11, left + cell * bins, y + 11, short_number(t.simulated.cycles));
  return fmt::format(
             "<figure><svg role=\"img\" xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" "
             "height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" font-size=\"11\">",
             width, y + 20) +
         body + "</svg><figcaption>" + escaped(t.statement) +
         ": calls, ports and links, and transfers of tiles over time; the darker, the busier" +
         (t.simulated.all_slices ? "" : " (the beginning: the rest has too many events)") + "</figcaption></figure>\n";
}

Result<std::vector<Timeline>> timelines_of(const Schedule& schedule, const Kernel& kernel, const HardwareModel& model,
                                           std::size_t slices) {
  std::vector<Timeline> all;
  double begin = 0;
  for (std::size_t s = 0; s < schedule.nests.size(); ++s) {
    const auto priced = price_nest({&kernel, make_id<StatementId>(s), &model, schedule.nests[s]});
    if (!priced) return priced.diagnostics();
    const PricedNest& nest = **priced;
    Timeline t;
    t.statement = kernel.statements[s].name;
    t.begin = begin;
    t.flow = flow_of(nest.view, nest.counts, nest.traffic);
    SimulationOptions options;
    options.slices = slices;
    auto simulated = simulate(nest.view, nest.counts, nest.traffic, t.flow, options);
    if (!simulated) return simulated.diagnostics();
    t.simulated = std::move(*simulated);
    begin += t.simulated.cycles;
    all.push_back(std::move(t));
  }
  return all;
}

}  // namespace isamap
