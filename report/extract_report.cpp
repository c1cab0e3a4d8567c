// SPDX-License-Identifier: Apache-2.0
#include "report/extract_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "isamap/hardware.h"
#include "mapper/mapping_names.h"
#include "report/html.h"
#include "support/table.h"

namespace isamap {
namespace {

std::string verdict_cells(const LayerResult& layer) {
  if (!layer.checked) return "<td></td><td></td><td></td><td></td>";
  const Checked& c = *layer.checked;
  if (const std::string why = why_not_run(c); !why.empty())
    return cell(std::string(name(c.executed)), false) + cell(why, false) + "<td></td><td></td>";
  const bool timed = c.seconds > 0;
  return cell(std::string(name(c.executed)), false) +
         fmt::format("<td class={}>{}</td>", c.correct ? "good" : "bad", c.correct ? "yes" : "no") +
         cell(timed ? fmt::format("{:.3g}", c.seconds) : "", true) +
         cell(timed ? fmt::format("{:.3g}", c.gflops) : "", true);
}

std::string row(const LayerResult& layer, const HardwareModel& model) {
  const auto& mm = layer.matmul;
  std::string html = "<tr>" + cell(layer.name, false) + cell(layer.op, false);
  for (const std::int64_t* size : {mm ? &mm->m : nullptr, mm ? &mm->n : nullptr, mm ? &mm->k : nullptr})
    html += cell(size ? std::to_string(*size) : "", true);
  if (!layer.mapped)
    return html + "<td colspan=9><small>" + escaped(layer.reasons.empty() ? "not mapped" : layer.reasons.front()) +
           "</small></td></tr>\n";
  html += cell(layer.instruction.empty() ? "scalar code" : layer.instruction, false) +
          cell(layer.mapping ? digits_text(*layer.mapping, model) : "", false) +
          cell(std::to_string(layer.mappings), true) + cell(short_number(layer.cost.cycles), true) +
          cell(short_number(layer.cost.bytes), true) + verdict_cells(layer);
  return html + "</tr>\n";
}

std::string layer_table(const std::vector<LayerResult>& layers, const HardwareModel& model) {
  std::string html = "<div class=wide><table><tr>";
  for (const char* title : {"layer", "op", "m", "n", "k", "instruction", "mapping", "mappings", "cycles", "bytes",
                            "executed", "correct", "seconds", "GFLOP/s"})
    html += fmt::format("<th>{}</th>", title);
  html += "</tr>\n";
  for (const LayerResult& layer : layers) html += row(layer, model);
  return html + "</table></div>\n";
}

struct PictureAxis {
  std::string dim;
  std::int64_t extent = 1;
  std::vector<std::int64_t> tiles;  ///< outermost first
};

/// A loop over the fused dim `n.p` spans the product of its parts.
std::int64_t extent_of(const std::string& fused, const Computation& statement) {
  std::int64_t extent = 1;
  std::size_t begin = 0;
  while (begin <= fused.size()) {
    const std::size_t end = std::min(fused.find('.', begin), fused.size());
    const int dim = statement.domain.find(fused.substr(begin, end - begin));
    if (dim >= 0) extent *= statement.domain.dims[static_cast<std::size_t>(dim)].extent;
    begin = end + 1;
  }
  return extent;
}

bool is_parallel(const std::string& fused, const Computation& statement) {
  const int dim = statement.domain.find(fused.substr(0, fused.find('.')));
  return dim < 0 || statement.domain.dims[static_cast<std::size_t>(dim)].kind == DimKind::parallel;
}

/// The two largest parallel dims of the schedule's loops: the output plane in the picture.
std::vector<PictureAxis> picture_axes(const LayerResult& layer) {
  const Computation& statement = layer.kernel.statements.front();
  std::vector<PictureAxis> axes;
  for (const auto& [dim, tiles] : layer.tiles)
    if (is_parallel(dim, statement)) axes.push_back({dim, extent_of(dim, statement), tiles});
  std::stable_sort(axes.begin(), axes.end(),
                   [](const PictureAxis& a, const PictureAxis& b) { return a.extent > b.extent; });
  axes.resize(2);
  for (PictureAxis& axis : axes)
    if (axis.dim.empty()) axis.dim = "1";
  return axes;
}

/// Grid lines at multiples of each tile size; the finest are thin. Above 64 lines they are omitted.
std::string grid_lines(const PictureAxis& axis, double length, bool vertical, double other) {
  std::string svg;
  double width = 1.8;
  for (const std::int64_t tile : axis.tiles) {
    const double count = static_cast<double>(axis.extent) / static_cast<double>(std::max<std::int64_t>(1, tile));
    if (count <= 64)
      for (double at = 1; at < count; ++at) {
        const double x = at * length / count;
        svg += vertical ? fmt::format("<path d=\"M{0:.1f} 0V{1:.1f}\" stroke=\"#4878a8\" stroke-width=\"{2:.1f}\"/>", x,
                                      other, width)
                        : fmt::format("<path d=\"M0 {0:.1f}H{1:.1f}\" stroke=\"#4878a8\" stroke-width=\"{2:.1f}\"/>", x,
                                      other, width);
      }
    width = std::max(0.4, width / 2);
  }
  return svg;
}

std::string tiles_picture(const LayerResult& layer) {
  const std::vector<PictureAxis> axes = picture_axes(layer);
  const double largest = static_cast<double>(std::max<std::int64_t>(1, axes[0].extent));
  // Square-root scale, so that a 3136 x 64 plane remains visible.
  const double across = 300,
               down = std::max(
                   12.0, 300 * std::sqrt(static_cast<double>(std::max<std::int64_t>(1, axes[1].extent)) / largest));
  const auto innermost = [](const PictureAxis& axis) {
    return axis.tiles.empty() ? axis.extent : std::min(axis.tiles.back(), axis.extent);
  };
  const auto share = [&](const PictureAxis& axis) {
    return static_cast<double>(innermost(axis)) / static_cast<double>(std::max<std::int64_t>(1, axis.extent));
  };
  std::string svg = fmt::format(
      "<figure><svg role=\"img\" width=\"360\" height=\"{:.0f}\" viewBox=\"-4 -16 360 {:.0f}\">", down + 24, down + 24);
  svg += fmt::format("<rect width=\"{:.1f}\" height=\"{:.1f}\" fill=\"#eef2f7\" stroke=\"#1c2430\"/>", across, down);
  svg += fmt::format("<rect width=\"{:.1f}\" height=\"{:.1f}\" fill=\"#d08770\"/>", across * share(axes[0]),
                     down * share(axes[1]));
  svg += grid_lines(axes[0], across, true, down) + grid_lines(axes[1], down, false, across);
  svg += fmt::format("<text x=\"0\" y=\"-5\">{} = {}</text><text x=\"304\" y=\"12\">{} = {}</text></svg>",
                     escaped(axes[0].dim), axes[0].extent, escaped(axes[1].dim), axes[1].extent);
  return svg + fmt::format(
                   "<figcaption>{}: tiles of the output; coloured, what one innermost tile covers ({} x "
                   "{})</figcaption></figure>\n",
                   escaped(layer.name), innermost(axes[0]), innermost(axes[1]));
}

std::string traffic_picture(const LayerResult& layer) {
  struct Bar {
    std::string label;
    double words;
    std::size_t colour;
  };
  std::vector<Bar> bars;
  std::size_t colour = 0;
  for (const auto& [memory, tensors] : layer.cost.memories) {
    for (const auto& [tensor, t] : tensors)
      bars.push_back({memory + " " + tensor,
                      static_cast<double>(t.instances) * static_cast<double>(t.reads + t.fills + t.updates), colour});
    colour = (colour + 1) % colour_count;
  }
  double most = 1;
  for (const Bar& bar : bars) most = std::max(most, bar.words);
  if (bars.empty()) return "";
  std::string svg = fmt::format("<figure><svg role=\"img\" width=\"420\" height=\"{0}\" viewBox=\"0 0 420 {0}\">",
                                18 * bars.size() + 4);
  for (std::size_t b = 0; b < bars.size(); ++b) {
    // Logarithmic scale: register traffic is thousands of times that of the outermost memory.
    const double length = bars[b].words > 1 ? 200 * std::log(bars[b].words) / std::log(std::max(2.0, most)) : 1;
    svg += fmt::format(
        "<text x=\"0\" y=\"{0}\">{1}</text><rect x=\"130\" y=\"{2}\" width=\"{3:.1f}\" height=\"12\" fill=\"{4}\"/>"
        "<text x=\"{5:.1f}\" y=\"{0}\">{6}</text>",
        18 * b + 13, escaped(bars[b].label), 18 * b + 3, length, colours[bars[b].colour], 136 + length,
        short_number(bars[b].words));
  }
  return svg + fmt::format(
                   "</svg><figcaption>{}: words read, filled and updated in each memory "
                   "(logarithmic)</figcaption></figure>\n",
                   escaped(layer.name));
}

std::string pictures(const std::vector<LayerResult>& layers) {
  std::string html;
  for (const LayerResult& layer : layers) {
    if (!layer.mapped || !layer.same_as.empty() || layer.schedule.nests.empty()) continue;
    html +=
        fmt::format("<h3>{}</h3>\n", escaped(layer.name)) + tiles_picture(layer) + traffic_picture(layer) +
        fmt::format("<details><summary>schedule</summary><pre>{}</pre></details>\n", escaped(print(layer.schedule)));
  }
  return html;
}

std::string factorings_section(const Extraction& extraction, const HardwareModel& model) {
  if (extraction.factorings.empty()) return "";
  std::string html = "<h2>Factorings</h2>\n<p>" + escaped(extraction.verdict) + "</p>\n";
  for (const FactoringResult& factoring : extraction.factorings)
    html += fmt::format("<h3>{}</h3>\n<p>{} cycles, {} multiplications, {} bytes moved</p>\n",
                        escaped(factoring.description), short_number(factoring.cycles),
                        short_number(factoring.multiplications), short_number(factoring.bytes)) +
            layer_table(factoring.layers, model) + pictures(factoring.layers);
  return html;
}

}  // namespace

std::string html_report(const Extraction& extraction, const HardwareModel& model) {
  std::string body = "<h2>Machine</h2>\n" + svg(model) + "\n<h2>Layers</h2>\n";
  body += layer_table(extraction.layers, model) + factorings_section(extraction, model);
  body += "<h2>Tiles and traffic</h2>\n" + pictures(extraction.layers);
  return page(extraction.model + " on " + extraction.target, body);
}

}  // namespace isamap
