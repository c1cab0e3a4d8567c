// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/hierarchy/levels_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "support/arithmetic.h"

namespace isamap::hierarchy {

std::string levels_text(const Problem& problem, const LevelPoint& point, const Schedule& schedule) {
  const auto at = [](int i) { return static_cast<std::size_t>(i); };
  const LevelPoint c = canonical(problem, point);
  std::vector<std::int64_t> tile;
  for (const Dimension& dim : problem.dims) tile.push_back(dim.extent);
  std::string text = "schedule: " + schedule.name + "\n";
  if (!schedule.kernel.empty()) text += "kernel: " + schedule.kernel + "\n";
  if (!schedule.target.empty()) text += "target: " + schedule.target + "\n";
  text += "levels:\n";
  for (int l = 0; l < problem.level_count(); ++l) {
    const LevelPoint::At& level = c.levels[at(l)];
    std::vector<std::string> loops, spatial, keep, buffers;
    const auto step = [&](int d, std::int64_t inner, std::vector<std::string>& to, const std::string& axis) {
      const std::int64_t steps = ceil_div(tile[at(d)], inner);
      tile[at(d)] = inner;
      if (steps > 1)
        to.push_back(fmt::format("{} {}{}{}", problem.dims[at(d)].name, steps, axis.empty() ? "" : " ", axis));
    };
    for (int i = 0; i < problem.dim_count(); ++i)
      step(level.order[at(i)], level.time[at(level.order[at(i)])], loops, "");
    for (std::size_t x = 0; x < problem.levels[at(l)].axes.size(); ++x) {
      const std::string& unit = problem.levels[at(l)].axes[x].unit;
      const auto dot = unit.find('.');
      for (int d = 0; d < problem.dim_count(); ++d)
        step(d, level.axis[x][at(d)], spatial, dot == std::string::npos ? "" : unit.substr(dot + 1));
    }
    for (int a = 0; a < problem.operand_count() && l > 0; ++a) {
      if ((level.keep >> a & 1U) != 0) keep.push_back(problem.operands[at(a)].name);
      if ((level.doubled >> a & 1U) != 0) buffers.push_back(problem.operands[at(a)].name + ": 2");
    }
    text += fmt::format("  - {{memory: {}, loops: [{}]", problem.levels[at(l)].name, fmt::join(loops, ", "));
    if (!spatial.empty()) text += fmt::format(", spatial: [{}]", fmt::join(spatial, ", "));
    if (l > 0 && static_cast<int>(keep.size()) < problem.operand_count())
      text += fmt::format(", keep: [{}]", fmt::join(keep, ", "));
    if (!buffers.empty()) text += fmt::format(", buffers: {{{}}}", fmt::join(buffers, ", "));
    text += "}\n";
  }
  return text;
}

}  // namespace isamap::hierarchy
