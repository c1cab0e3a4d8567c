// SPDX-License-Identifier: Apache-2.0
#include "bench/cpu/page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "report/html.h"
#include "report/plot.h"

namespace isamap::bench {
namespace {

double intensity(const Record& r) { return r.bytes > 0 ? r.operations / r.bytes : 0; }
double gops(const Record& r, const Timing& t) { return t.seconds > 0 ? 1e-9 * r.operations / t.seconds : 0; }

/// A power of ten below and one above.
PlotAxis decades(const std::string& label, double low, double high) {
  return {label, true, std::pow(10, std::floor(std::log10(low))), std::pow(10, std::ceil(std::log10(high)))};
}

/// Peak (median over the family's rounds, since frequencies vary) and the bandwidth roof of each memory level.
std::string roofline(const std::vector<const Record*>& family, const std::vector<Level>& levels) {
  std::vector<double> peaks;
  double low = HUGE_VAL, high = 0, slowest = HUGE_VAL;
  Series own{"isamap", 0, {}, {}, false, true, {}}, peer{"best peer", 1, {}, {}, false, true, {}};
  for (const Record* r : family) {
    const double x = intensity(*r);
    if (x <= 0 || r->peak <= 0 || r->timings.empty()) continue;
    peaks.push_back(1e-9 * r->peak);
    low = std::min(low, x), high = std::max(high, x);
    const auto add = [&](Series& series, const Timing& t) {
      series.points.emplace_back(x, gops(*r, t));
      series.labels.push_back(
          fmt::format("{} {}: {:.1f} GOP/s, {:.0f} % of peak", t.name, r->shape, gops(*r, t), 100 * peak_share(*r, t)));
      slowest = std::min(slowest, gops(*r, t));
    };
    if (r->timings[0].rejected.empty()) add(own, r->timings[0]);
    if (const Timing* best = best_peer(*r)) add(peer, *best);
  }
  if (peaks.empty()) return "";
  std::nth_element(peaks.begin(), peaks.begin() + static_cast<std::ptrdiff_t>(peaks.size() / 2), peaks.end());
  const double peak = peaks[peaks.size() / 2];
  const PlotAxis x = decades("operations a byte of the tensors", low / 1.5, high * 1.5),
                 y = decades("10^9 operations a second", slowest / 1.2, peak * 1.2);
  std::vector<Series> series;
  for (std::size_t l = 0; l < levels.size(); ++l) {
    const double rate = 1e-9 * levels[l].rate, knee = peak / rate;
    Series line{fmt::format("{}: {:.0f} GB/s", levels[l].name, rate), 3 + l, {}, {}, false, false, {}};
    // Clipped to the figure.
    const double left = std::max(x.low, y.low / rate);
    if (left < knee) line.points.emplace_back(left, left * rate);
    line.points.emplace_back(std::clamp(knee, x.low, x.high), std::min(peak, std::clamp(knee, x.low, x.high) * rate));
    if (knee < x.high) line.points.emplace_back(x.high, peak);
    series.push_back(std::move(line));
  }
  if (levels.empty()) series.push_back({"peak", 3, {{x.low, peak}, {x.high, peak}}, {}, false, false, {}});
  series.push_back(std::move(peer));
  series.push_back(std::move(own));
  return line_figure(
      series, x, y,
      fmt::format("Peak {:.0f} GOP/s, measured beside the shapes. Bytes are those of all tensors, once: a "
                  "shape above a slanted line has its data nearer than that level.",
                  peak));
}

std::string share(double value) { return value > 0 ? fmt::format("{:.0f} %", 100 * value) : "-"; }

std::string summary_table(const std::vector<FamilySummary>& families) {
  std::vector<std::vector<std::string>> rows{
      {"family", "shapes", "ratio, geomean", "ratio, worst", "worst shape", "of peak", "of roof"}};
  for (const FamilySummary& f : families)
    rows.push_back({f.family, std::to_string(f.shapes), f.compared > 0 ? fmt::format("{:.2f}", f.geomean) : "-",
                    f.compared > 0 ? fmt::format("{:.2f}", f.worst) : "-", f.worst_shape, share(f.peak_share),
                    share(f.roof_share)});
  return html_table(rows);
}

std::string shape_row(const Record& r) {
  const double q = ratio(r);
  const Timing* peer = best_peer(r);
  std::string row = "<tr>" + cell(r.shape, false);
  row += q > 0 ? fmt::format("<td class=\"n {}\">{:.2f}</td>",
                             q < 0.95 ? "bad"
                             : q >= 1 ? "good"
                                      : "",
                             q)
               : cell("-", true);
  if (r.timings.empty()) return row + cell("not measured", false) + "</tr>\n";
  const Timing& own = r.timings[0];
  row += cell(time_text(own.seconds), true) + cell(fmt::format("{:.1f}", gops(r, own)), true);
  row += cell(share(peak_share(r, own)), true) + cell(share(roof_share(r, own)), true);
  row += cell(fmt::format("{:.0f} %", own.seconds > 0 ? 100 * (own.high - own.low) / own.seconds : 0), true);
  row += cell(peer == nullptr ? "-" : peer->name, false);
  std::string others;
  for (std::size_t i = 1; i < r.timings.size(); ++i) {
    const Timing& t = r.timings[i];
    others += (i == 1 ? "" : "; ") + t.name + " " + time_text(t.seconds);
    if (!t.rejected.empty()) others += " rejected: " + t.rejected;
  }
  if (!own.rejected.empty()) others += "; ours rejected: " + own.rejected;
  for (const std::string& note : r.notes) others += "; " + note;
  row += cell(others, false);
  return row + fmt::format(
                   "<td><details><summary>{}</summary><pre>{}</pre><small>{:.0f} cycles predicted; {:.2f} s; {}; peak: "
                   "{}</small></details></td></tr>\n",
                   escaped(r.target), escaped(r.schedule), r.predicted_cycles, r.compile_seconds, escaped(r.compiler),
                   escaped(r.peak_of));
}

/// Worst first.
std::string shapes_table(std::vector<const Record*> family) {
  std::stable_sort(family.begin(), family.end(),
                   [](const Record* a, const Record* b) { return ratio(*a) < ratio(*b); });
  std::string html = "<div class=\"wide\"><table><tr>";
  for (const char* title :
       {"shape", "ratio", "time", "GOP/s", "of peak", "of roof", "quartiles", "best peer", "all peers", "schedule"})
    html += fmt::format("<th>{}</th>", title);
  html += "</tr>\n";
  for (const Record* r : family) html += shape_row(*r);
  return html + "</table></div>\n";
}

std::string comparisons_section(const std::vector<Comparison>& all) {
  std::string html;
  for (const char* part : {choice_part, threads_part}) {
    std::string rows;
    for (const Comparison& c : all) {
      if (c.part != part) continue;
      rows += "<tr>" + cell(c.shape, false) + cell(time_text(c.seconds), true) +
              cell(fmt::format("{:.2f}", c.ratio()), true) + cell(c.other_name, false) + cell(time_text(c.other), true);
      rows += c.schedule.empty()
                  ? "<td></td></tr>\n"
                  : fmt::format("<td><details><summary>both</summary><pre>{}\n{}</pre></details></td></tr>\n",
                                escaped(c.schedule), escaped(c.other_schedule));
    }
    if (rows.empty()) continue;
    html += fmt::format(
        "<h2>{}</h2><p>{}</p><div class=\"wide\"><table><tr><th>shape</th><th>time</th><th>ratio</th><th>against</th>"
        "<th>its time</th><th>schedules</th></tr>\n{}</table></div>\n",
        escaped(part), escaped(summary_text(part, all)), rows);
  }
  return html;
}

}  // namespace

nlohmann::json to_json(const Machine& m) {
  nlohmann::json line{{"processor", m.processor}, {"compiler", m.compiler}, {"peers", m.peers},
                      {"pinned", m.pinned},       {"load", m.load},         {"levels", nlohmann::json::array()}};
  for (const Level& l : m.levels)
    line["levels"].push_back({{"name", l.name}, {"bytes", l.bytes}, {"GBps", 1e-9 * l.rate}});
  return line;
}

Machine machine_of(const nlohmann::json& line) {
  Machine m;
  m.processor = line.at("processor"), m.compiler = line.at("compiler");
  m.peers = line.at("peers").get<std::vector<std::string>>();
  m.pinned = line.at("pinned"), m.load = line.at("load");
  for (const auto& l : line.at("levels"))
    m.levels.push_back({l.at("name"), l.at("bytes"), 1e9 * l.at("GBps").get<double>()});
  return m;
}

std::string page_of(const CpuRun& run) {
  const std::vector<FamilySummary> families = summarize(run.records);
  std::string body = fmt::format(
      "<p>{}, one thread on processor {}, load {:.1f} when it began. Compiled by {}. Peers: {}.</p>\n"
      "<p>Ratio: time of the fastest peer over ours, above 1 ours is faster. Times are medians of interleaved samples "
      "on the "
      "thread's own clock. Of peak: operations a second over the most that an instruction for these types did in the "
      "same "
      "rounds. Of roof: the least time that peak and reading all tensors once need, over the time taken. What is above "
      "the "
      "peak is rejected.</p>\n",
      escaped(run.machine.processor), run.machine.pinned, run.machine.load, escaped(run.machine.compiler),
      escaped(fmt::format("{}", fmt::join(run.machine.peers, ", "))));
  body += summary_table(families);
  for (const FamilySummary& f : families) {
    std::vector<const Record*> family;
    for (const Record& r : run.records)
      if (r.family == f.family) family.push_back(&r);
    body +=
        fmt::format("<h2>{}</h2>\n", escaped(f.family)) + roofline(family, run.machine.levels) + shapes_table(family);
  }
  return page("isamap: bench cpu", body + comparisons_section(run.comparisons));
}

}  // namespace isamap::bench
