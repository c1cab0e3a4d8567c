// SPDX-License-Identifier: Apache-2.0
#pragma once
// Line and point figures for reports: one SVG, no scripts.

#include <string>
#include <utility>
#include <vector>

namespace isamap {

struct Series {
  std::string name;  ///< in the legend
  std::size_t colour = 0;
  std::vector<std::pair<double, double>> points;
  std::vector<std::pair<double, double>> band;  ///< (low, high) at each point; empty: none
  bool steps = false;                           ///< a distribution: constant between points
  bool dots = false;                            ///< scatter plot
  std::vector<std::string> labels = {};         ///< tooltips of dots
};

struct PlotAxis {
  std::string label;
  bool logarithmic = false;
  double low = 0, high = 1;
};

/// A figure with caption; the legend is on the right.
std::string line_figure(const std::vector<Series>& series, const PlotAxis& x, const PlotAxis& y,
                        const std::string& caption);

}  // namespace isamap
