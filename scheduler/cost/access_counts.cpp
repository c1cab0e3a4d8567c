// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/access_counts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "support/arithmetic.h"

namespace isamap {

namespace {

/// Bound on combinations of tile sizes (at most two a loop and dim): beyond it each dim counts with its largest size.
constexpr double max_cases = 4096;

void add_size(auto& sizes, std::int64_t extent, double count) {
  if (extent <= 0 || count <= 0) return;
  for (auto& s : sizes)
    if (s.extent == extent) {
      s.count += count;
      return;
    }
  sizes.push_back({extent, count});
}

/// Subscripts that differ by a constant are one coordinate: A[i,i], and A[i,i+1], have the footprint of A[i].
bool has_axis_of(const std::vector<TileCounts::Axis>& axes, const AffineExpr& e) {
  return std::any_of(axes.begin(), axes.end(), [&](const TileCounts::Axis& axis) {
    return axis.expr - axis.expr.constant() == e - e.constant();
  });
}

/// The matrix of a group's subscripts over the dims with more than one point.
using Row = std::vector<std::int64_t>;

void divide_by_common(Row& row) {
  std::int64_t common = 0;
  for (const std::int64_t c : row) common = std::gcd(common, c);
  if (common > 1)
    for (std::int64_t& c : row) c /= common;
}

/// Reduced echelon form with whole numbers; the pivot column of each row that is left.
std::vector<std::size_t> reduce(std::vector<Row>& rows, std::size_t columns) {
  std::vector<std::size_t> pivots;
  for (std::size_t c = 0; c < columns && pivots.size() < rows.size(); ++c) {
    const std::size_t top = pivots.size();
    std::size_t r = top;
    while (r < rows.size() && rows[r][c] == 0) ++r;
    if (r == rows.size()) continue;
    std::swap(rows[top], rows[r]);
    for (std::size_t other = 0; other < rows.size(); ++other) {
      if (other == top || rows[other][c] == 0) continue;
      const std::int64_t a = rows[top][c], b = rows[other][c];
      for (std::size_t k = 0; k < columns; ++k) rows[other][k] = rows[other][k] * a - rows[top][k] * b;
      divide_by_common(rows[other]);
    }
    pivots.push_back(c);
  }
  return pivots;
}

/// Distinct values of linear subscripts over a box of points. Injective subscripts: as many as points. Where the kernel
/// of the map is spanned by one vector v, points a multiple of v apart coincide and each line along v counts once, at
/// the point without a predecessor: points - product of max(0, extent - |v|) over the dims. Nothing: a kernel of more
/// dimensions.
std::optional<double> different_values(std::vector<Row> rows, const Row& extents) {
  double points = 1;
  for (const std::int64_t e : extents) points *= static_cast<double>(e);
  for (Row& row : rows) divide_by_common(row);
  const std::vector<std::size_t> pivots = reduce(rows, extents.size());
  if (pivots.size() == extents.size()) return points;
  if (pivots.size() + 1 < extents.size()) return std::nullopt;
  std::size_t free = 0;
  while (free < pivots.size() && pivots[free] == free) ++free;
  std::int64_t scale = 1;
  for (std::size_t r = 0; r < pivots.size(); ++r)
    scale = std::lcm(scale, rows[r][pivots[r]] / std::gcd(rows[r][pivots[r]], rows[r][free]));
  Row line(extents.size(), scale);
  for (std::size_t r = 0; r < pivots.size(); ++r) line[pivots[r]] = scale * rows[r][free] / rows[r][pivots[r]];
  divide_by_common(line);
  double repeated = 1;
  for (std::size_t d = 0; d < extents.size(); ++d)
    repeated *= static_cast<double>(std::max<std::int64_t>(0, extents[d] - std::abs(line[d])));
  return points - repeated;
}

}  // namespace

TileCounts::TileCounts(const ResolvedNest& view) : view_(view) {
  std::vector<std::int64_t> extent;
  for (const Dim& d : view.statement.domain.dims) extent.push_back(d.extent);
  tiles_.push_back(extent);
  for (const LoopLevel& w : view.loops) {
    std::int64_t& e = extent[static_cast<std::size_t>(w.dim)];
    trips_.push_back(ceil_div(e, w.tile));
    e = std::min(e, w.tile);
    tiles_.push_back(extent);
  }
  for (int a = 0; a < access_count(view.statement); ++a) {
    const Access& access = access_of(view.statement, a);
    std::vector<bool> used;
    for (const Dim& d : view.statement.domain.dims) used.push_back(uses(access, d.name));
    uses_.push_back(used);
    std::vector<Group> groups;
    for (const AffineExpr& e : access.index) {
      Group merged;
      Axis axis;
      axis.linear = merged.linear = e.is_linear();
      axis.expr = e;
      for (const std::string& name : e.names()) {
        const int d = view.statement.domain.find(name);
        if (d < 0) continue;
        merged.dims.push_back(d);
        axis.terms.push_back({d, std::abs(e.coefficient(name))});
      }
      merged.axes.push_back(axis);
      std::vector<Group> rest;
      for (Group& g : groups) {
        const bool shared = std::any_of(g.dims.begin(), g.dims.end(), [&](int d) {
          return std::find(merged.dims.begin(), merged.dims.end(), d) != merged.dims.end();
        });
        if (!shared) {
          rest.push_back(std::move(g));
          continue;
        }
        for (int d : g.dims)
          if (std::find(merged.dims.begin(), merged.dims.end(), d) == merged.dims.end()) merged.dims.push_back(d);
        for (const Axis& one : g.axes)
          if (!has_axis_of(merged.axes, one.expr)) merged.axes.push_back(one);
        merged.linear = merged.linear && g.linear;
      }
      if (!merged.dims.empty()) rest.push_back(std::move(merged));
      groups = std::move(rest);
    }
    groups_.push_back(std::move(groups));
  }
  for (int a = 0; a < access_count(view.statement); ++a)
    for (int loops = 0; loops <= static_cast<int>(view.loops.size()); ++loops) tile_.push_back(full_tile(a, loops));
}

TileCounts::Sizes TileCounts::sizes(int dim, int loops, const Modes& modes) const {
  Sizes now;
  add_size(now, view_.statement.domain.dims[static_cast<std::size_t>(dim)].extent, 1);
  for (int w = 0; w < loops; ++w) {
    if (dim_of(w) != dim) continue;
    const std::int64_t tile = view_.loops[static_cast<std::size_t>(w)].tile;
    Sizes next;
    for (const Size& s : now) {
      const std::int64_t full = s.extent / tile, rest = s.extent % tile;
      switch (modes[static_cast<std::size_t>(w)]) {
        case Mode::free:
          add_size(next, tile, static_cast<double>(full) * s.count);
          add_size(next, rest, s.count);
          break;
        case Mode::first:
          add_size(next, std::min(tile, s.extent), s.count);
          break;
        case Mode::later:
          add_size(next, tile, static_cast<double>(full - 1) * s.count);
          if (full > 0) add_size(next, rest, s.count);
          break;
        case Mode::single:
          for (const Size& lone : lone_sizes(dim, w, loops, modes, s)) add_size(next, lone.extent, lone.count);
          break;
      }
    }
    now = std::move(next);
    if (modes[static_cast<std::size_t>(w)] == Mode::single) break;  // lone_sizes went to the end
  }
  return now;
}

/// From loop `from` on, an instance must have exactly one step in time. With tails that differs between instances, so
/// they are kept in classes with equal steps.
TileCounts::Sizes TileCounts::lone_sizes(int dim, int from, int loops, const Modes& modes, const Size& outer) const {
  struct Class {
    double weight = 1;
    Sizes steps;
  };
  std::vector<Class> classes{{1, {{outer.extent, 1}}}};
  for (int w = from; w < loops; ++w) {
    if (dim_of(w) != dim) continue;
    const std::int64_t tile = view_.loops[static_cast<std::size_t>(w)].tile;
    std::vector<Class> next;
    for (const Class& c : classes) {
      if (in_time(w)) {
        Class split{c.weight, {}};
        for (const Size& s : c.steps) {
          add_size(split.steps, tile, static_cast<double>(s.extent / tile) * s.count);
          add_size(split.steps, s.extent % tile, s.count);
        }
        next.push_back(std::move(split));
        continue;
      }
      boost::container::small_vector<std::int64_t, 8>
          ends;  // classes of instances: cut where the last full or tail tile of a step ends
      for (const Size& s : c.steps) ends.insert(ends.end(), {s.extent / tile, ceil_div(s.extent, tile)});
      if (modes[static_cast<std::size_t>(w)] == Mode::first) ends = {1};
      std::sort(ends.begin(), ends.end());
      std::int64_t begin = 0;
      for (const std::int64_t end : ends) {
        if (end <= begin) continue;
        Class some{c.weight * static_cast<double>(end - begin), {}};
        for (const Size& s : c.steps) add_size(some.steps, std::min(tile, s.extent - begin * tile), s.count);
        next.push_back(std::move(some));
        begin = end;
      }
    }
    classes = std::move(next);
  }
  Sizes result;
  for (const Class& c : classes)
    if (c.steps.size() == 1 && c.steps.front().count == 1)
      add_size(result, c.steps.front().extent, c.weight * outer.count);
  return result;
}

namespace {

/// Bounding box of the subscripts: each from its first to its last value, in every combination.
double box(const ResolvedNest& view, const TileCounts::Group& group, const std::vector<std::int64_t>& extents,
           const TileCounts::Step* step) {
  const auto extent_of = [&](int dim) {
    const auto at = std::find(group.dims.begin(), group.dims.end(), dim) - group.dims.begin();
    return extents[static_cast<std::size_t>(at)];
  };
  double elements = 1, points = 1;
  for (std::int64_t e : extents) points *= static_cast<double>(e);
  for (const TileCounts::Axis& axis : group.axes) {
    double width = 1, before = 1, shift = 0;
    if (axis.linear) {
      for (const auto& [dim, coefficient] : axis.terms) {
        const double reach = static_cast<double>(coefficient) * static_cast<double>(extent_of(dim) - 1);
        width += reach;
        const bool moved = step && step->dim == dim;
        before += moved ? static_cast<double>(coefficient) * static_cast<double>(step->before - 1) : reach;
        if (moved) shift = static_cast<double>(coefficient) * static_cast<double>(step->shift);
      }
      if (shift > 0) width = std::min(width, std::max(0.0, shift + width - before));
    } else {
      Ranges ranges;
      for (const auto& [dim, coefficient] : axis.terms)
        ranges[view.statement.domain.dims[static_cast<std::size_t>(dim)].name] = {0, extent_of(dim) - 1};
      const auto hull = bounds(axis.expr, ranges);
      width = hull ? static_cast<double>(hull->high) - static_cast<double>(hull->low) + 1 : points;
    }
    elements *= width;
  }
  return group.linear ? elements : std::min(elements, points);
}

/// Footprint of subscripts that share dims, A[i,i+j]: part of their bounding box.
double touched_by(const ResolvedNest& view, const TileCounts::Group& group, const std::vector<std::int64_t>& extents) {
  std::vector<Row> rows(group.axes.size());
  Row wide;
  for (std::size_t d = 0; d < group.dims.size(); ++d) {
    if (extents[d] <= 1) continue;
    wide.push_back(extents[d]);
    const std::string& name = view.statement.domain.dims[static_cast<std::size_t>(group.dims[d])].name;
    for (std::size_t r = 0; r < rows.size(); ++r) rows[r].push_back(group.axes[r].expr.coefficient(name));
  }
  return different_values(std::move(rows), wide).value_or(std::numeric_limits<double>::infinity());
}

}  // namespace

double TileCounts::footprint(const Group& group, const std::vector<std::int64_t>& extents, const Step* step) const {
  const double spanned = box(view_, group, extents, step);
  std::size_t terms = 0;
  for (const Axis& axis : group.axes) terms += axis.terms.size();
  const bool share_dims = group.axes.size() > 1 && terms > group.dims.size();
  return group.linear && share_dims ? std::min(spanned, touched_by(view_, group, extents)) : spanned;
}

double TileCounts::group_sum(const Group& group, DimSizes sizes, const Step* step, bool elements) const {
  double cases = 1;
  for (const Sizes& s : sizes) cases *= static_cast<double>(s.size());
  if (cases == 0) return 0;
  if (cases > max_cases)
    for (Sizes& s : sizes) {
      Size all = s.front();
      for (std::size_t i = 1; i < s.size(); ++i) all = {std::max(all.extent, s[i].extent), all.count + s[i].count};
      s.assign(1, all);
    }
  double total = 0;
  boost::container::small_vector<std::size_t, 8> at(sizes.size(), 0);
  std::vector<std::int64_t> extents(sizes.size());
  while (true) {
    double count = 1;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      extents[i] = sizes[i][at[i]].extent;
      count *= sizes[i][at[i]].count;
    }
    total += elements ? count * footprint(group, extents, step) : count;
    std::size_t i = 0;
    while (i < at.size() && ++at[i] == sizes[i].size()) at[i++] = 0;
    if (i == at.size()) return total;
  }
}

double TileCounts::sum(int access, int loops, const Modes& modes, const Step* step, bool elements) const {
  double product = 1;
  for (int d = 0; d < view_.dim_count(); ++d) {
    if (uses_dim(access, d)) continue;
    double count = 0;
    for (const Size& s : sizes(d, loops, modes)) count += s.count;
    product *= count;
  }
  if (product == 0) return 0;
  for (const Group& group : groups_[static_cast<std::size_t>(access)]) {
    DimSizes all;
    for (int d : group.dims) all.push_back(sizes(d, loops, modes));
    product *= group_sum(group, std::move(all), step, elements);
  }
  return product;
}

TileCounts::Modes TileCounts::modes_at(int access, int loops, Sharing sharing) const {
  Modes modes(static_cast<std::size_t>(loops), Mode::free);
  for (int w = 0; w < loops; ++w)
    if (!in_time(w) && (sharing.one_instance || (w >= sharing.shared_from && !uses_loop(access, w))))
      modes[static_cast<std::size_t>(w)] = Mode::first;
  return modes;
}

/// Loop `loop` advanced: time loops inside it are at their first step, and those that the tensor uses have only that
/// one.
TileCounts::Modes TileCounts::advanced(int access, int loops, int loop, const Modes& base) const {
  Modes modes = base;
  modes[static_cast<std::size_t>(loop)] = Mode::later;
  for (int w = loop + 1; w < loops; ++w)
    if (in_time(w)) modes[static_cast<std::size_t>(w)] = uses_loop(access, w) ? Mode::single : Mode::first;
  return modes;
}

/// Does this loop slide a window: its dim in exactly one axis, a sum, and no loop inside it over the same dim in time
/// or distributed unevenly?
bool TileCounts::slides(int access, int loops, int loop) const {
  std::int64_t tile = view_.loops[static_cast<std::size_t>(loop)].tile;
  for (int w = loop + 1; w < loops; ++w) {
    if (dim_of(w) != dim_of(loop)) continue;
    const std::int64_t inner = view_.loops[static_cast<std::size_t>(w)].tile;
    if (in_time(w) ? trip(w) > 1 : tile % inner != 0) return false;
    tile = inner;
  }
  int axes = 0;
  bool window = false;
  for (const Group& group : groups_[static_cast<std::size_t>(access)])
    for (const Axis& axis : group.axes)
      for (const auto& term : axis.terms)
        if (term.first == dim_of(loop)) {
          ++axes;
          window = axis.linear && axis.terms.size() > 1;
        }
  return axes == 1 && window;
}

double TileCounts::moved(int access, int loops, Sharing sharing, bool slide) const {
  const Modes all = modes_at(access, loops, sharing);
  double total = sum(access, loops, all, nullptr, true);
  for (int w = 0; w < loops; ++w) {
    if (!in_time(w) || trip(w) == 1) continue;
    const Modes modes = advanced(access, loops, w, all);
    if (!uses_loop(access, w)) {
      total -= sum(access, loops, modes, nullptr, true);
    } else if (slide && slides(access, loops, w)) {
      const int d = dim_of(w);
      const Step step{d, view_.loops[static_cast<std::size_t>(w)].tile, extents(loops)[static_cast<std::size_t>(d)]};
      total -= sum(access, loops, modes, nullptr, true) - sum(access, loops, modes, &step, true);
    }
  }
  return total;
}

double TileCounts::touched(int access, int loops, Sharing sharing) const {
  return sum(access, loops, modes_at(access, loops, sharing), nullptr, true);
}

double TileCounts::first_visits(int access, int loops) const {
  Modes modes(static_cast<std::size_t>(loops), Mode::free);
  for (int w = 0; w < loops; ++w)
    if (in_time(w) && !uses_loop(access, w)) modes[static_cast<std::size_t>(w)] = Mode::first;
  return sum(access, loops, modes, nullptr, true);
}

double TileCounts::refills(int access, int loops) const {
  const Modes all = modes_at(access, loops, {});
  double total = sum(access, loops, all, nullptr, false);
  for (int w = 0; w < loops; ++w)
    if (in_time(w) && trip(w) > 1 && !uses_loop(access, w))
      total -= sum(access, loops, advanced(access, loops, w, all), nullptr, false);
  return total;
}

double TileCounts::full_tile(int access, int loops) const {
  const std::vector<std::int64_t>& extents = tiles_[static_cast<std::size_t>(loops)];
  double product = 1;
  for (const Group& group : groups_[static_cast<std::size_t>(access)]) {
    std::vector<std::int64_t> own;
    for (int d : group.dims) own.push_back(extents[static_cast<std::size_t>(d)]);
    product *= footprint(group, own, nullptr);
  }
  return product;
}

/// The extent of a buffer along a dim is a multiple of this.
std::int64_t TileCounts::padding_unit(int access, int dim) const {
  const int m = view_.instruction_dim[static_cast<std::size_t>(dim)],
            operand = instruction_access(view_.mapping, access);
  if (m >= 0 && operand >= 0 && any_stride(*view_.instruction, operand, static_cast<std::size_t>(m))) return 1;
  return view_.block[static_cast<std::size_t>(dim)];
}

double TileCounts::padded_tile(int access, int loops) const {
  const std::vector<std::int64_t>& extents = tiles_[static_cast<std::size_t>(loops)];
  double product = 1;
  for (const Group& group : groups_[static_cast<std::size_t>(access)]) {
    std::vector<std::int64_t> own;
    for (int d : group.dims) own.push_back(round_up(extents[static_cast<std::size_t>(d)], padding_unit(access, d)));
    product *= box(view_, group, own, nullptr);
  }
  return product;
}

double TileCounts::slots(int access, int loops) const {
  const std::vector<std::int64_t>& extents = tiles_[static_cast<std::size_t>(loops)];
  double product = 1;
  for (int d = 0; d < view_.dim_count(); ++d)
    if (uses_dim(access, d))
      product *=
          static_cast<double>(ceil_div(extents[static_cast<std::size_t>(d)], view_.block[static_cast<std::size_t>(d)]));
  return product;
}

double TileCounts::points(int loops, const Modes& modes) const {
  double product = 1;
  for (int d = 0; d < view_.dim_count(); ++d) {
    double count = 0;
    for (const Size& s : sizes(d, loops, modes)) count += s.count;
    product *= count;
  }
  return product;
}

double TileCounts::steps(int loops) const {
  Modes modes;
  for (int w = 0; w < loops; ++w) modes.push_back(in_time(w) ? Mode::free : Mode::first);
  return points(loops, modes);
}

double TileCounts::visits(int loops) const { return points(loops, Modes(static_cast<std::size_t>(loops), Mode::free)); }

double TileCounts::code_calls() const {
  double product = 1;
  for (int d = 0; d < view_.dim_count(); ++d) {
    Sizes now;  // here `count` is calls printed
    add_size(now, view_.statement.domain.dims[static_cast<std::size_t>(d)].extent, 1);
    for (const LoopLevel& w : view_.loops) {
      if (w.dim != d) continue;
      Sizes next;
      for (const Size& s : now) {
        const std::int64_t full = s.extent / w.tile;
        add_size(next, w.tile, s.count * static_cast<double>(w.unroll ? full : std::min<std::int64_t>(full, 1)));
        add_size(next, s.extent % w.tile, s.count);
      }
      now = std::move(next);
    }
    double calls = 0;
    for (const Size& s : now) calls += s.count;
    product *= std::max(calls, 1.0);
  }
  return product;
}

}  // namespace isamap
