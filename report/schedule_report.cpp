// SPDX-License-Identifier: Apache-2.0
#include "report/schedule_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/html.h"
#include "support/table.h"

namespace isamap {
namespace {

constexpr std::size_t most_terms = 8;

std::string figure(double value) {
  return value == std::floor(value) && std::abs(value) < 1e12 ? fmt::format("{:.0f}", value)
                                                              : fmt::format("{:.6g}", value);
}

using Rows = std::vector<std::vector<std::string>>;

Rows term_rows(const std::string& title, const std::string& unit, const std::vector<CostTerm>& terms, double total) {
  Rows rows{{title, unit, "share", "how", "from"}};
  for (const CostTerm& t : terms)
    rows.push_back({t.name, figure(t.value), total > 0 ? fmt::format("{:.1f} %", 100 * t.value / total) : "", t.how,
                    place_of(t.where)});
  return rows;
}

Rows tile_rows(const CostReport& e) {
  Rows rows{{"memory", "tensor", "tile", "words", "bytes", "buffers", "of capacity", "renewed"}};
  for (const TileRow& t : e.tiles)
    rows.push_back({t.memory, t.tensor, t.extents, figure(t.words), figure(t.bytes), std::to_string(t.buffers),
                    t.capacity > 0 ? fmt::format("{:.3g} %", 100 * t.bytes * t.buffers / t.capacity) : "",
                    figure(std::ceil(t.renewals))});
  return rows;
}

Rows link_rows(const CostReport& e) {
  double total = 0;
  for (const LinkRow& row : e.links) total += row.bytes;
  Rows rows{{"link", "tensor", "bytes", "share"}};
  for (const LinkRow& row : e.links)
    rows.push_back({row.link, row.tensor, figure(row.bytes), fmt::format("{:.1f} %", 100 * row.bytes / total)});
  return rows;
}

double sum_of(const std::vector<CostTerm>& terms) {
  double sum = 0;
  for (const CostTerm& t : terms) sum += t.value;
  return sum;
}

std::string bound_by(const CostReport& e) {
  if (e.overlap.empty()) return "";
  const CostTerm& most = e.overlap.front();
  std::string text = fmt::format("bound by {}: {} cycles with perfect overlap", most.name, figure(most.value));
  if (const std::string place = place_of(most.where); !place.empty()) text += " (" + place + ")";
  if (e.latency_cycles > most.value)
    text += fmt::format("; {} with what overlap cannot hide, {:.1f} % more", figure(e.latency_cycles),
                        100 * (e.latency_cycles / std::max(most.value, 1e-300) - 1));
  return text;
}

/// Why the runner-up lost: its larger terms of cycles and energy.
std::vector<std::string> reasons_of(const CostReport& best, const CostReport& second) {
  std::vector<std::string> lines;
  const auto say = [&](const char* what, const char* unit, const std::vector<CostTerm>& a,
                       const std::vector<CostTerm>& b, double before, double after) {
    if (before != after)
      lines.push_back(fmt::format("{}: {} -> {} {} ({:+.1f} %)", what, figure(before), figure(after), unit,
                                  100 * (after / std::max(before, 1e-300) - 1)));
    const std::vector<CostTerm> all = differences(a, b);
    for (std::size_t i = 0; i < all.size() && i < most_terms; ++i) {
      if (all[i].value <= 0) break;
      const std::string place = place_of(all[i].where);
      lines.push_back(fmt::format("  {}: {} {} (+{}){}", all[i].name, all[i].how, unit, figure(all[i].value),
                                  place.empty() ? "" : ", " + place));
    }
  };
  say("cycles", "cycles", best.overlap, second.overlap, best.cost.cycles, second.cost.cycles);
  say("energy", "pJ", best.energy, second.energy, best.cost.energy_pJ, second.cost.energy_pJ);
  return lines;
}

std::vector<std::string> second_lines(const std::vector<CostReport>& best, const RunnerUp& second) {
  std::vector<std::string> lines{fmt::format("second: {:.3f} % worse", 100 * (second.ratio - 1))};
  for (std::size_t s = 0; s < best.size() && s < second.statements.size(); ++s)
    for (const std::string& line : reasons_of(best[s], second.statements[s])) lines.push_back(line);
  return lines;
}

/// A tensor as a rectangle of its two largest dims, with its tile inside.
std::string tile_cell(const TileRow& t, const CostReport& e, double x, double y) {
  constexpr double size = 84;
  std::vector<double> parts;
  for (std::size_t d = 0; d < t.shares.size() && d < e.dims.size(); ++d)
    if (t.shares[d] > 0) parts.push_back(t.shares[d]);
  double across = 1, down = 1;  // other dims multiply the second side, which keeps the area proportional
  for (std::size_t i = 0; i < parts.size(); ++i) (i == 0 ? down : across) *= parts[i];
  return fmt::format(
      "<rect x=\"{0:.1f}\" y=\"{1:.1f}\" width=\"{2}\" height=\"{2}\" fill=\"#eef2f7\" stroke=\"#1c2430\"/>"
      "<rect x=\"{0:.1f}\" y=\"{1:.1f}\" width=\"{3:.1f}\" height=\"{4:.1f}\" fill=\"#d08770\"/>"
      "<text x=\"{0:.1f}\" y=\"{5:.1f}\">{6}</text><text x=\"{0:.1f}\" y=\"{7:.1f}\">{8} words{9}</text>",
      x, y, size, std::max(1.5, size * across), std::max(1.5, size * down), y + size + 13, escaped(t.extents),
      y + size + 27, figure(t.words), t.buffers > 1 ? fmt::format(" x {}", t.buffers) : "");
}

std::string tiles_figure(const CostReport& e) {
  std::vector<std::string> memories, tensors;
  for (const TileRow& t : e.tiles) {
    if (std::find(memories.begin(), memories.end(), t.memory) == memories.end()) memories.push_back(t.memory);
    if (std::find(tensors.begin(), tensors.end(), t.tensor) == tensors.end()) tensors.push_back(t.tensor);
  }
  constexpr double left = 90, wide = 190, high = 130;
  std::string svg;
  for (std::size_t c = 0; c < tensors.size(); ++c)
    svg += fmt::format("<text x=\"{:.0f}\" y=\"14\" font-weight=\"bold\">{}</text>",
                       left + wide * static_cast<double>(c), escaped(tensors[c]));
  for (std::size_t r = 0; r < memories.size(); ++r) {
    const double y = 24 + high * static_cast<double>(r);
    svg += fmt::format("<text x=\"0\" y=\"{:.0f}\" font-weight=\"bold\">{}</text>", y + 40, escaped(memories[r]));
    for (std::size_t c = 0; c < tensors.size(); ++c) {
      const double x = left + wide * static_cast<double>(c);
      const TileRow* row = nullptr;
      for (const TileRow& t : e.tiles)
        if (t.memory == memories[r] && t.tensor == tensors[c]) row = &t;
      svg += row ? tile_cell(*row, e, x, y)
                 : fmt::format(
                       "<path d=\"M{0:.0f} {1:.0f}v84\" stroke=\"#5c6775\" stroke-dasharray=\"4 4\"/>"
                       "<text x=\"{2:.0f}\" y=\"{3:.0f}\">passes by</text>",
                       x + 42, y, x + 50, y + 46);
    }
  }
  const double width = left + wide * static_cast<double>(tensors.size()),
               height = 30 + high * static_cast<double>(memories.size());
  return fmt::format(
             "<figure><svg role=\"img\" xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" "
             "height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" font-size=\"11\">",
             width, height) +
         svg + "</svg><figcaption>" + escaped(e.statement) +
         ": where each tensor lives; coloured, the part of it that one tile holds</figcaption></figure>\n";
}

}  // namespace

std::string explanation_text(const std::vector<CostReport>& statements, const std::optional<RunnerUp>& second) {
  std::string text;
  for (const CostReport& e : statements) {
    text += "\n" + e.statement + "\n";
    for (const std::string& line : e.loops) text += "  " + line + "\n";
    text += "\n" + table(tile_rows(e)) + "\n";
    if (!e.links.empty()) text += table(link_rows(e)) + "\n";
    text += table(term_rows("cycles with perfect overlap", "cycles", e.overlap, 0)) + "\n";
    if (!e.parts.empty()) text += table(term_rows("cycles predicted", "cycles", e.parts, sum_of(e.parts))) + "\n";
    text += table(term_rows("cycles with fill, drain and buffers", "cycles", e.latency, sum_of(e.latency))) + "\n";
    if (!e.energy.empty()) text += table(term_rows("energy", "pJ", e.energy, sum_of(e.energy))) + "\n";
    text += bound_by(e) + "\n";
  }
  if (second)
    for (const std::string& line : second_lines(statements, *second)) text += line + "\n";
  return text;
}

std::string schedule_page(const std::string& title, const std::string& schedule,
                          const std::vector<CostReport>& statements, const std::vector<Timeline>& timelines,
                          const std::optional<RunnerUp>& second) {
  std::string body;
  for (std::size_t s = 0; s < statements.size(); ++s) {
    const CostReport& e = statements[s];
    body += "<h2>" + escaped(e.statement) + "</h2>\n<p>" + escaped(bound_by(e)) + "</p>\n<pre>";
    for (const std::string& line : e.loops) body += escaped(line) + "\n";
    body += "</pre>\n" + tiles_figure(e) + html_table(tile_rows(e));
    if (s < timelines.size()) {
      const SimulatedNest& simulated = timelines[s].simulated;
      body +=
          fmt::format(
              "<h3>Simulated</h3>\n<p>{} cycles: {} until the first call, {} after the last one, {} of "
              "calls.</p>\n",
              figure(simulated.cycles), figure(simulated.fill), figure(simulated.drain), figure(simulated.compute)) +
          utilisation_picture(timelines[s]);
    }
    if (!e.links.empty()) body += "<h3>Links</h3>\n" + html_table(link_rows(e));
    body += "<h3>Cycles</h3>\n" + html_table(term_rows("perfect overlap", "cycles", e.overlap, 0)) +
            (e.parts.empty() ? "" : html_table(term_rows("predicted", "cycles", e.parts, sum_of(e.parts)))) +
            html_table(term_rows("fill, drain and buffers", "cycles", e.latency, sum_of(e.latency)));
    if (!e.energy.empty())
      body += "<h3>Energy</h3>\n" + html_table(term_rows("energy", "pJ", e.energy, sum_of(e.energy)));
  }
  if (second) {
    body += "<h2>The second, and why it lost</h2>\n<pre>";
    for (const std::string& line : second_lines(statements, *second)) body += escaped(line) + "\n";
    body += "</pre>\n<details><summary>its schedule</summary><pre>" + escaped(second->schedule) + "</pre></details>\n";
  }
  body += "<details><summary>schedule</summary><pre>" + escaped(schedule) + "</pre></details>\n";
  return page(title, body);
}

}  // namespace isamap
