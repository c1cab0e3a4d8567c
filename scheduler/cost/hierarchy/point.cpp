// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/hierarchy/point.h"

#include <algorithm>
#include <numeric>

#include "support/hash.h"

namespace isamap::hierarchy {

namespace {

/// Can two loops of one level be interchanged for every operand? Only loops of the dims of operands matter: when one
/// advances, an operand that does not use it depends on whether the inner loops that it uses have one step.
bool alike(const Problem& problem, int a, int b) {
  return std::all_of(problem.operands.begin(), problem.operands.end(),
                     [&](const Operand& o) { return !o.window && o.uses(a) == o.uses(b); });
}

}  // namespace

LevelPoint plain_point(const Problem& problem) {
  LevelPoint point;
  for (int l = 0; l < problem.level_count(); ++l) {
    LevelPoint::At& level = point.levels[at(l)];
    level.keep = (1U << problem.operands.size()) - 1;
    for (int d = 0; d < problem.dim_count(); ++d) {
      const bool innermost = l + 1 == problem.level_count();
      level.time[at(d)] = innermost ? problem.dims[at(d)].block : problem.dims[at(d)].extent;
      for (std::size_t x = 0; x < problem.levels[at(l)].axes.size(); ++x) level.axis[x][at(d)] = level.time[at(d)];
      level.order[at(d)] = static_cast<std::uint8_t>(d);
    }
  }
  return point;
}

LevelPoint canonical(const Problem& problem, const LevelPoint& point) {
  LevelPoint result;
  std::array<std::int64_t, max_dims> tile{};
  for (int d = 0; d < problem.dim_count(); ++d) tile[at(d)] = problem.dims[at(d)].extent;
  for (int l = 0; l < problem.level_count(); ++l) {
    const LevelPoint::At& from = point.levels[at(l)];
    LevelPoint::At& to = result.levels[at(l)];
    const std::uint32_t all = (1U << problem.operands.size()) - 1;
    to.keep = l == 0 ? all : from.keep & all;
    to.doubled = l == 0 ? 0 : from.doubled & to.keep;
    std::uint32_t loops = 0;
    for (int d = 0; d < problem.dim_count(); ++d) {
      to.time[at(d)] = std::min(tile[at(d)], from.time[at(d)]);
      loops |= to.time[at(d)] < tile[at(d)] ? 1U << d : 0;
      tile[at(d)] = to.time[at(d)];
      for (std::size_t x = 0; x < problem.levels[at(l)].axes.size(); ++x)
        tile[at(d)] = to.axis[x][at(d)] = std::min(tile[at(d)], from.axis[x][at(d)]);
    }
    int n = 0;
    for (int d = 0; d < problem.dim_count(); ++d)  // absent loops first, in the order of the dims
      if ((loops >> d & 1U) == 0) to.order[at(n++)] = static_cast<std::uint8_t>(d);
    const int first = n;
    for (int i = 0; i < problem.dim_count(); ++i)
      if (const int d = from.order[at(i)]; (loops >> d & 1U) != 0) to.order[at(n++)] = static_cast<std::uint8_t>(d);
    for (bool moved = true; moved;) {
      moved = false;
      for (int i = first; i + 1 < n; ++i)
        if (to.order[at(i)] > to.order[at(i + 1)] && alike(problem, to.order[at(i)], to.order[at(i + 1)])) {
          std::swap(to.order[at(i)], to.order[at(i + 1)]);
          moved = true;
        }
    }
  }
  return result;
}

std::uint64_t hash(const Problem& problem, const LevelPoint& point) {
  const LevelPoint c = canonical(problem, point);
  std::uint64_t h = fnv1a_start;
  const auto mix = [&h](std::uint64_t value) {
    for (int byte = 0; byte < 8; ++byte) h = fnv1a_step(h, value >> (8 * byte) & 0xff);
  };
  for (int l = 0; l < problem.level_count(); ++l) {
    const LevelPoint::At& level = c.levels[at(l)];
    mix(level.keep);
    mix(level.doubled);
    for (int d = 0; d < problem.dim_count(); ++d) {
      mix(static_cast<std::uint64_t>(level.time[at(d)]));
      mix(level.order[at(d)]);
      for (std::size_t x = 0; x < problem.levels[at(l)].axes.size(); ++x)
        mix(static_cast<std::uint64_t>(level.axis[x][at(d)]));
    }
  }
  return h;
}

Nest nest_of(const Problem& problem, const LevelPoint& point, const Do& call) {
  const LevelPoint c = canonical(problem, point);
  std::array<std::int64_t, max_dims> tile{};
  for (int d = 0; d < problem.dim_count(); ++d) tile[at(d)] = problem.dims[at(d)].extent;
  Nest nest;
  const auto loop = [&](int d, std::int64_t inner, const std::string& unit) {
    if (inner == tile[at(d)]) return;
    tile[at(d)] = inner;
    For line;
    line.loops = {{problem.dims[at(d)].name, inner}};
    line.unit = unit;
    nest.lines.push_back({line});
  };
  for (int l = 0; l < problem.level_count(); ++l) {
    const LevelPoint::At& level = c.levels[at(l)];
    for (int a = 0; a < problem.operand_count() && l > 0; ++a) {
      if ((level.keep >> a & 1U) == 0) continue;
      Stage stage;
      stage.tensor = problem.operands[at(a)].name;
      stage.memory = problem.levels[at(l)].name;
      stage.buffers = (level.doubled >> a & 1U) != 0 ? 2 : 1;
      stage.slide = a > 0 && problem.operands[at(a)].window;
      nest.lines.push_back({stage});
    }
    for (int i = 0; i < problem.dim_count(); ++i) loop(level.order[at(i)], level.time[at(level.order[at(i)])], "");
    for (std::size_t x = 0; x < problem.levels[at(l)].axes.size(); ++x)
      for (int d = 0; d < problem.dim_count(); ++d) loop(d, level.axis[x][at(d)], problem.levels[at(l)].axes[x].unit);
  }
  nest.lines.push_back({call});
  return nest;
}

}  // namespace isamap::hierarchy
