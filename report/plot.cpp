// SPDX-License-Identifier: Apache-2.0
#include "report/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/html.h"

namespace isamap {
namespace {

constexpr double plot_width = 420, plot_height = 260, plot_left = 52, plot_bottom = 38, plot_top = 8, plot_legend = 190;
constexpr const char* line_colours[] = {"#4878a8", "#d08770", "#6a9f58", "#a978b0", "#c2a33a", "#5aa7a7",
                                        "#b3405a", "#7a7a7a", "#2f4b7c", "#e0a100", "#3d7a3d", "#8c564b"};
constexpr std::size_t line_colour_count = sizeof(line_colours) / sizeof(line_colours[0]);

/// Position of a value on the axis, 0 to 1.
double share(const PlotAxis& axis, double value) {
  const double v = std::clamp(value, axis.low, axis.high);
  if (axis.high <= axis.low) return 0;
  return axis.logarithmic ? (std::log(v) - std::log(axis.low)) / (std::log(axis.high) - std::log(axis.low))
                          : (v - axis.low) / (axis.high - axis.low);
}

struct Canvas {
  PlotAxis x, y;
  double at_x(double value) const { return plot_left + share(x, value) * (plot_width - plot_left - 8); }
  double at_y(double value) const {
    return plot_height - plot_bottom - share(y, value) * (plot_height - plot_bottom - plot_top);
  }
  std::string at(double px, double py) const { return fmt::format("{:.1f},{:.1f} ", at_x(px), at_y(py)); }
};

std::vector<double> ticks(const PlotAxis& axis) {
  std::vector<double> list;
  if (axis.logarithmic) {
    const bool few = axis.high / axis.low < 30;
    for (double decade = std::pow(10, std::floor(std::log10(axis.low))); decade <= axis.high; decade *= 10)
      for (const double digit : few ? std::vector<double>{1, 1.1, 1.2, 1.5, 2, 3, 5} : std::vector<double>{1})
        if (digit * decade >= axis.low * 0.999 && digit * decade <= axis.high * 1.001) list.push_back(digit * decade);
  } else {
    for (int i = 0; i <= 5; ++i) list.push_back(axis.low + (axis.high - axis.low) * i / 5);
  }
  return list;
}

std::string frame(const Canvas& c) {
  std::string svg;
  for (const double value : ticks(c.x))
    svg += fmt::format(
        "<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\" stroke=\"#e4e8ee\"/><text x=\"{0:.1f}\" "
        "y=\"{3:.1f}\" text-anchor=\"middle\">{4:g}</text>",
        c.at_x(value), plot_top, plot_height - plot_bottom, plot_height - plot_bottom + 14, value);
  for (const double value : ticks(c.y))
    svg += fmt::format(
        "<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{2:.1f}\" y2=\"{1:.1f}\" stroke=\"#e4e8ee\"/><text x=\"{3:.1f}\" "
        "y=\"{4:.1f}\" text-anchor=\"end\">{5:g}</text>",
        plot_left, c.at_y(value), plot_width - 8, plot_left - 4, c.at_y(value) + 4, value);
  svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>", (plot_left + plot_width) / 2,
                     plot_height - 6, escaped(c.x.label));
  svg += fmt::format("<text transform=\"translate(11,{:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
                     (plot_height - plot_bottom + plot_top) / 2, escaped(c.y.label));
  return svg;
}

std::string band_of(const Canvas& c, const Series& s, const char* colour) {
  if (s.band.size() != s.points.size() || s.band.empty()) return "";
  std::string path;
  for (std::size_t i = 0; i < s.points.size(); ++i) path += c.at(s.points[i].first, s.band[i].second);
  for (std::size_t i = s.points.size(); i-- > 0;) path += c.at(s.points[i].first, s.band[i].first);
  return fmt::format("<polygon points=\"{}\" fill=\"{}\" fill-opacity=\"0.12\"/>", path, colour);
}

std::string line_of(const Canvas& c, const Series& s, const char* colour) {
  std::string path;
  for (std::size_t i = 0; i < s.points.size(); ++i) {
    if (s.steps && i > 0) path += c.at(s.points[i].first, s.points[i - 1].second);
    path += c.at(s.points[i].first, s.points[i].second);
  }
  return fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\"/>", path, colour);
}

std::string dots_of(const Canvas& c, const Series& s, const char* colour) {
  std::string svg;
  for (std::size_t i = 0; i < s.points.size(); ++i)
    svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\" fill-opacity=\"0.8\">{}</circle>",
                       c.at_x(s.points[i].first), c.at_y(s.points[i].second), colour,
                       i < s.labels.size() ? "<title>" + escaped(s.labels[i]) + "</title>" : "");
  return svg;
}

}  // namespace

std::string line_figure(const std::vector<Series>& series, const PlotAxis& x, const PlotAxis& y,
                        const std::string& caption) {
  const Canvas canvas{x, y};
  std::string svg = frame(canvas);
  double row = plot_top + 10;
  for (const Series& s : series) svg += band_of(canvas, s, line_colours[s.colour % line_colour_count]);
  for (const Series& s : series) {
    const char* colour = line_colours[s.colour % line_colour_count];
    svg += s.dots ? dots_of(canvas, s, colour) : line_of(canvas, s, colour);
    svg += fmt::format(
        "<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"12\" height=\"3\" fill=\"{}\"/><text x=\"{:.0f}\" "
        "y=\"{:.0f}\">{}</text>",
        plot_width + 6, row - 5, colour, plot_width + 22, row, escaped(s.name));
    row += 15;
  }
  return fmt::format(
      "<figure><svg width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "xmlns=\"http://www.w3.org/2000/svg\">{2}</svg><figcaption>{3}</figcaption></figure>\n",
      plot_width + plot_legend, std::max(plot_height, row), svg, escaped(caption));
}

}  // namespace isamap
