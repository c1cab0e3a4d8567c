// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/access_counts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "hwdesc/model/timing_choice.h"
#include "scheduler/nest/digit_room.h"
#include "support/arithmetic.h"

namespace isamap {

namespace {

/// Bound on combinations of tile sizes (at most two a loop and dim): beyond it each dim counts with its largest size.
constexpr double max_cases = 4096;
/// A key of 64 bits: a leading 1, two bits for the mode of each loop over the dim, the dim.
constexpr int dim_bits = 16, most_known_loops = (63 - dim_bits) / 2;

void add_size(auto& sizes, std::int64_t extent, double count) {
  if (extent <= 0 || count <= 0) return;
  for (auto& s : sizes)
    if (s.extent == extent) {
      s.count += count;
      return;
    }
  sizes.push_back({extent, count});
}

/// The steps of a loop within tiles of one extent.
void add_steps(auto& sizes, const auto& outer, std::int64_t tile) {
  add_size(sizes, tile, static_cast<double>(outer.extent / tile) * outer.count);
  add_size(sizes, outer.extent % tile, outer.count);
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

TileCounts::TileCounts(const ResolvedNest& view) : view_(view), dims_(view.statement.domain.dims.size()) {
  const std::size_t loops = view.loops.size();
  tiles_.reserve((loops + 1) * dims_);
  for (const Dim& d : view.statement.domain.dims) tiles_.push_back(d.extent);
  trips_.reserve(loops);
  loops_of_.resize(dims_);
  for (const LoopLevel& w : view.loops) {
    loops_of_[static_cast<std::size_t>(w.dim)].push_back(static_cast<int>(trips_.size()));
    for (std::size_t d = 0; d < dims_; ++d) tiles_.push_back(tiles_[tiles_.size() - dims_]);
    std::int64_t& e = tiles_[tiles_.size() - dims_ + static_cast<std::size_t>(w.dim)];
    trips_.push_back(ceil_div(e, w.tile));
    e = std::min(e, w.tile);
  }
  add_all_steps();
  repeats_ = repeated_loops();
  const int accesses = access_count(view.statement);
  for (int access = 0; access < accesses; ++access) held_.push_back(held_groups(access));
  tile_.reserve(static_cast<std::size_t>(accesses) * (loops + 1));
  for (int a = 0; a < accesses; ++a) add_full_tiles(a);
  counted_.resize(tile_.size());
  steps_.reserve(expected_steps);
}

/// Elements of a full tile below each number of loops: a loop changes the subscripts with its dim only.
void TileCounts::add_full_tiles(int access) {
  boost::container::small_vector<double, 8> parts;  // by group
  const auto part = [&](const Group& group, int loops) {
    const std::span<const std::int64_t> all = extents(loops);
    if (group.plain) return static_cast<double>(all[static_cast<std::size_t>(group.dims.front())]);
    Extents own;
    for (const int d : group.dims) own.push_back(all[static_cast<std::size_t>(d)]);
    return footprint(group, {own.data(), own.size()}, nullptr);
  };
  const auto product = [&] {
    double elements = 1;
    for (const double elements_of : parts) elements *= elements_of;
    return elements;
  };
  const std::vector<Group>& all = groups(access);
  for (const Group& group : all) parts.push_back(part(group, 0));
  tile_.push_back(product());
  for (int loop = 0; loop < static_cast<int>(trips_.size()); ++loop) {
    for (std::size_t g = 0; g < all.size(); ++g)
      if (std::find(all[g].dims.begin(), all[g].dims.end(), dim_of(loop)) != all[g].dims.end())
        parts[g] = part(all[g], loop + 1);
    tile_.push_back(uses_loop(access, loop) ? product() : tile_.back());
  }
}

/// Of a loop in time, if no tile around it, whole or short, is a single step. Not if a loop inside it distributes the
/// dim, as the last instance may be left without some of the steps.
std::vector<bool> TileCounts::repeated_loops() const {
  std::vector<bool> repeated(view_.loops.size(), false);
  for (int w = 0; w < static_cast<int>(repeated.size()); ++w) {
    if (!in_time(w)) {
      for (const int outer : loops_of_[static_cast<std::size_t>(dim_of(w))])
        if (outer < w) repeated[static_cast<std::size_t>(outer)] = false;
      continue;
    }
    const Sizes& around = tiles_along(dim_of(w), w);
    const auto is_one_step = [&](const Size& s) { return s.extent <= view_.loops[static_cast<std::size_t>(w)].tile; };
    repeated[static_cast<std::size_t>(w)] = !around.empty() && std::none_of(around.begin(), around.end(), is_one_step);
  }
  return repeated;
}

/// All steps along each dim, below each number of loops.
void TileCounts::add_all_steps() {
  all_.reserve(dims_ + trips_.size());
  all_below_.reserve((trips_.size() + 1) * dims_);
  for (const Dim& d : view_.statement.domain.dims) {
    all_below_.push_back(static_cast<std::uint32_t>(all_.size()));
    DimSteps& steps = all_.emplace_back();
    add_size(steps.sizes, d.extent, 1);
    steps.add_up();
  }
  for (int w = 0; w < static_cast<int>(trips_.size()); ++w) {
    DimSteps& steps = all_.emplace_back();
    for (const Size& s : tiles_along(dim_of(w), w))
      add_steps(steps.sizes, s, view_.loops[static_cast<std::size_t>(w)].tile);
    steps.add_up();
    for (std::size_t d = 0; d < dims_; ++d) all_below_.push_back(all_below_[all_below_.size() - dims_]);
    all_below_[all_below_.size() - dims_ + static_cast<std::size_t>(dim_of(w))] =
        static_cast<std::uint32_t>(all_.size() - 1);
  }
}

/// 0: too many loops or dims for a key; such steps are counted anew each time.
std::uint64_t TileCounts::key_of(int dim, int loops, const Modes& modes) const {
  std::uint64_t key = 1;
  int count = 0;
  for (const int w : loops_of_[static_cast<std::size_t>(dim)]) {
    if (w >= loops) break;
    key = key << 2 | static_cast<std::uint64_t>(modes[w]);
    ++count;
  }
  return count > most_known_loops || dim >> dim_bits != 0 ? 0 : key << dim_bits | static_cast<std::uint64_t>(dim);
}

std::size_t TileCounts::number_of_steps(int dim, int loops, const Modes& modes) const {
  if (modes.all) return all_below_[static_cast<std::size_t>(loops) * dims_ + static_cast<std::size_t>(dim)];
  return all_.size() + number_of_some_steps(dim, loops, modes);
}

std::size_t TileCounts::number_of_some_steps(int dim, int loops, const Modes& modes) const {
  const std::uint64_t key = key_of(dim, loops, modes);
  std::uint32_t& place = places_[(key * 0x9E3779B97F4A7C15) >> (64 - place_bits)];  // Knuth, TAOCP 6.4: multiplicative
  if (place < keys_.size() && keys_[place] == key && key != 0) return place;
  const auto known = std::find(keys_.begin(), keys_.end(), key);
  place = static_cast<std::uint32_t>(known - keys_.begin());
  if (known != keys_.end() && key != 0) return place;
  place = static_cast<std::uint32_t>(keys_.size());
  keys_.push_back(key);
  DimSteps& found = steps_.emplace_back(DimSteps{sizes(dim, loops, modes)});
  found.add_up();
  return place;
}

TileCounts::Sizes TileCounts::sizes(int dim, int loops, const Modes& modes) const {
  Sizes now;
  add_size(now, view_.statement.domain.dims[static_cast<std::size_t>(dim)].extent, 1);
  for (const int w : loops_of_[static_cast<std::size_t>(dim)]) {
    if (w >= loops) break;
    const std::int64_t tile = view_.loops[static_cast<std::size_t>(w)].tile;
    Sizes next;
    for (const Size& s : now) {
      const std::int64_t full = s.extent / tile, remainder = s.extent % tile;
      switch (modes[w]) {
        case Mode::free:
          add_steps(next, s, tile);
          break;
        case Mode::first:
          add_size(next, std::min(tile, s.extent), s.count);
          break;
        case Mode::later:
          add_size(next, tile, static_cast<double>(full - 1) * s.count);
          if (full > 0) add_size(next, remainder, s.count);
          break;
        case Mode::single:
          for (const Size& lone : lone_sizes(dim, w, loops, modes, s)) add_size(next, lone.extent, lone.count);
          break;
      }
    }
    now = std::move(next);
    if (modes[w] == Mode::single) break;  // lone_sizes went to the end
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
  boost::container::small_vector<Class, 4> classes{{1, {{outer.extent, 1}}}};
  for (int w = from; w < loops; ++w) {
    if (dim_of(w) != dim) continue;
    const std::int64_t tile = view_.loops[static_cast<std::size_t>(w)].tile;
    boost::container::small_vector<Class, 4> next;
    for (const Class& c : classes) {
      if (in_time(w)) {
        Class split{c.weight, {}};
        for (const Size& s : c.steps) add_steps(split.steps, s, tile);
        next.push_back(std::move(split));
        continue;
      }
      boost::container::small_vector<std::int64_t, 8>
          ends;  // classes of instances: cut where the last full or tail tile of a step ends
      for (const Size& s : c.steps) ends.insert(ends.end(), {s.extent / tile, ceil_div(s.extent, tile)});
      if (modes[w] == Mode::first) ends = {1};
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

/// Values of a subscript that is not linear, from its first to its last; nothing: it has no bounds.
std::optional<double> values_of(const ResolvedNest& view, const FootprintAxis& axis,
                                std::span<const std::int64_t> extents) {
  Ranges ranges;
  for (const FootprintAxis::Term& term : axis.terms)
    ranges[view.statement.domain.dims[static_cast<std::size_t>(term.dim)].name] = {0, extents[term.position] - 1};
  const auto hull = bounds(axis.expr, ranges);
  if (!hull) return std::nullopt;
  return static_cast<double>(hull->high) - static_cast<double>(hull->low) + 1;
}

/// The same; without bounds, `points`.
double width_of(const ResolvedNest& view, const FootprintAxis& axis, std::span<const std::int64_t> extents,
                double points) {
  constexpr std::size_t most_known = 4096;  // then they are forgotten
  auto& widths = axis.widths->by_extents;
  KnownWidths::Extents own;
  for (const FootprintAxis::Term& term : axis.terms) own.push_back(extents[term.position]);
  const auto known = widths.find(own);
  if (known != widths.end()) return known->second < 0 ? points : known->second;
  if (widths.size() >= most_known) widths.clear();
  const double width = widths[own] = values_of(view, axis, extents).value_or(-1);
  return width < 0 ? points : width;
}

/// Bounding box of the subscripts: each from its first to its last value, in every combination.
double box(const ResolvedNest& view, const TileCounts::Group& group, std::span<const std::int64_t> extents,
           const TileCounts::Step* step) {
  double elements = 1, points = 1;
  if (!group.linear)
    for (std::int64_t e : extents) points *= static_cast<double>(e);
  for (const FootprintAxis& axis : group.axes) {
    if (!axis.linear) {
      elements *= width_of(view, axis, extents, points);
      continue;
    }
    double width = 1, before = 1, shift = 0;
    for (const auto& [dim, position, coefficient] : axis.terms) {
      const double reach = static_cast<double>(coefficient) * static_cast<double>(extents[position] - 1);
      width += reach;
      const bool moved = step && step->dim == dim;
      before += moved ? static_cast<double>(coefficient) * static_cast<double>(step->before - 1) : reach;
      if (moved) shift = static_cast<double>(coefficient) * static_cast<double>(step->shift);
    }
    if (shift > 0) width = std::min(width, std::max(0.0, shift + width - before));
    elements *= width;
  }
  return group.linear ? elements : std::min(elements, points);
}

/// Footprint of subscripts that share dims, A[i,i+j]: part of their bounding box.
double touched_by(const ResolvedNest& view, const TileCounts::Group& group, std::span<const std::int64_t> extents) {
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

double TileCounts::footprint(const Group& group, std::span<const std::int64_t> extents, const Step* step) const {
  const double spanned = box(view_, group, extents, step);
  return group.linear && group.share_dims ? std::min(spanned, touched_by(view_, group, extents)) : spanned;
}

double TileCounts::measure(const Group& group, std::span<const std::int64_t> extents, const Step* step, Of of) const {
  const double elements = footprint(group, extents, step);
  return of == Of::touched && group.linear && group.strided ? std::min(elements, touched_by(view_, group, extents))
                                                            : elements;
}

namespace {

using Forms = boost::container::small_vector<const AffineExpr*, 16>;  ///< in the facts of stages

/// Is the expression this dim? Without a copy of its name.
bool is_dim(const AffineExpr& e, const std::string& name) {
  if (e.terms().size() != 1 || e.constant() != 0 || e.terms().front().coefficient != 1) return false;
  const auto* const own = std::get_if<std::string>(&e.terms().front().atom);
  return own != nullptr && *own == name;
}

/// What the digits of a buffer are of; empty: of what no call loops over, or not supported.
Forms forms_of(const ResolvedNest& view, const StagedTile& s) {
  Forms forms;
  for (const SplitDigit& digit : s.facts->digits) forms.push_back(&digit.form);
  const auto is_looped = [&](int d) { return view.instruction_dim[static_cast<std::size_t>(d)] >= 0; };
  const std::vector<FootprintGroup>& groups = view.facts->accesses[static_cast<std::size_t>(s.access)].groups;
  if (!s.stage.layout.empty() || std::none_of(groups.begin(), groups.end(), [&](const FootprintGroup& group) {
        return !group.plain && std::any_of(group.dims.begin(), group.dims.end(), is_looped);
      }))
    return forms;
  for (const auto& split : s.facts->splits_of(s.access))
    if (split) forms.push_back(&split->form);
  return forms;
}

/// Does a layout hold an element for each point of the group, as im2col a window p + r by p and r?
bool is_replicated(const ResolvedNest& view, const FootprintGroup& group, const Forms& forms) {
  if (group.plain || group.dims.size() < 2) return false;
  return std::all_of(group.dims.begin(), group.dims.end(), [&](int d) {
    const std::string& name = view.statement.domain.dims[static_cast<std::size_t>(d)].name;
    return std::any_of(forms.begin(), forms.end(), [&](const AffineExpr* form) { return is_dim(*form, name); });
  });
}

/// As many elements as points of one dim.
FootprintGroup points_of(const ResolvedNest& view, int dim) {
  FootprintGroup group;
  group.dims = {dim};
  group.axes.push_back(
      {{{dim, 0, 1}}, true, AffineExpr::dim(view.statement.domain.dims[static_cast<std::size_t>(dim)].name)});
  group.plain = true;
  return group;
}

/// Where the layouts of all buffers in memory are by p, a subscript `10*p` leaves no room for what the stride passes
/// over, and moves fetch rows of p only. A layout by `10*p` holds all between. Where they are by p and r, a window p +
/// r is held, and moved by commands, once for each pair. `stages`: the buffers in memory.
HeldGroups points_only(const ResolvedNest& view, const std::vector<FootprintGroup>& groups, bool in_stream,
                       std::span<const StagedTile* const> stages) {
  Forms forms;
  std::vector<bool> replicated(groups.size(), in_stream);
  for (const StagedTile* s : stages) {
    const Forms own = forms_of(view, *s);
    if (own.empty()) return {};
    forms.insert(forms.end(), own.begin(), own.end());
    for (std::size_t g = 0; g < groups.size(); ++g)
      replicated[g] = replicated[g] && is_replicated(view, groups[g], own);
  }
  if (forms.empty()) return {};
  HeldGroups found{groups, {}};
  for (FootprintGroup& group : found.held) {
    if (!group.linear || group.axes.size() != 1 || group.axes.front().terms.size() != 1) continue;
    FootprintAxis& axis = group.axes.front();
    const AffineExpr linear = axis.expr - axis.expr.constant();
    if (std::any_of(forms.begin(), forms.end(), [&](const AffineExpr* form) { return *form == linear; })) continue;
    axis.terms.front().coefficient = 1;
    group.plain = true;
  }
  if (std::none_of(replicated.begin(), replicated.end(), [](bool is) { return is; })) return found;
  for (std::size_t g = 0; g < found.held.size(); ++g) {
    if (!replicated[g]) {
      found.replicated.push_back(found.held[g]);
      continue;
    }
    for (const int d : found.held[g].dims) found.replicated.push_back(points_of(view, d));
  }
  return found;
}

}  // namespace

/// Found once for the same stages.
std::shared_ptr<const HeldGroups> TileCounts::held_groups(int access) const {
  constexpr std::size_t most_known = 4096;  // then they are forgotten
  const std::vector<Group>& groups = facts(access).groups;
  const bool in_stream = view_.instruction && executes_a_stream(*view_.model);
  if (std::none_of(groups.begin(), groups.end(), [&](const Group& group) {
        return group.strided || (in_stream && !group.plain && group.dims.size() > 1);
      }))
    return nullptr;
  boost::container::small_vector<const StagedTile*, 8> stages;
  std::vector<std::int64_t> numbers;
  for (const StagedTile& s : view_.stages)
    if (s.access == access && !view_.model->memory(s.memory).is_register()) {
      stages.push_back(&s);
      numbers.push_back(s.facts->number);
    }
  auto& known = facts(access).held_groups;
  if (const auto found = known.find(numbers); found != known.end()) return found->second;
  if (known.size() >= most_known) known.clear();
  auto held = std::make_shared<const HeldGroups>(points_only(view_, groups, in_stream, {stages.data(), stages.size()}));
  return known[std::move(numbers)] = std::move(held);
}

/// Sum over the combinations of tile sizes of the dims of a group.
double TileCounts::group_sum(const Group& group, int loops, const Modes& modes, const Step* step, Of of) const {
  double total = 0;
  if (group.dims.size() == 1) {
    const DimSteps& steps = steps_along(group.dims.front(), loops, modes);
    if (of == Of::tiles) return steps.count;
    if (group.plain && step == nullptr) return steps.points;
    for (const Size& s : steps.sizes) total += s.count * measure(group, {&s.extent, 1}, step, of);
    return total;
  }
  boost::container::small_vector<std::size_t, 4> steps;
  for (const int d : group.dims) steps.push_back(number_of_steps(d, loops, modes));
  boost::container::small_vector<std::span<const Size>, 4> sizes;  // of all these steps, which stay where they are
  double cases = 1;
  for (const std::size_t number : steps) {
    const Sizes& all = steps_of(number).sizes;
    sizes.emplace_back(all.data(), all.size());
    cases *= static_cast<double>(all.size());
  }
  if (cases == 0) return 0;
  boost::container::small_vector<Size, 4> largest(sizes.size());
  if (cases > max_cases)
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      for (const Size& s : sizes[i]) largest[i] = {std::max(largest[i].extent, s.extent), largest[i].count + s.count};
      sizes[i] = {&largest[i], 1};
    }
  boost::container::small_vector<std::size_t, 8> at(sizes.size(), 0);
  Extents extents(sizes.size());
  while (true) {
    double count = 1;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      extents[i] = sizes[i][at[i]].extent;
      count *= sizes[i][at[i]].count;
    }
    total += of == Of::tiles ? count : count * measure(group, {extents.data(), extents.size()}, step, of);
    std::size_t i = 0;
    while (i < at.size() && ++at[i] == sizes[i].size()) at[i++] = 0;
    if (i == at.size()) return total;
  }
}

double TileCounts::sum(int access, int loops, const Modes& modes, const Step* step, Of of) const {
  double product = 1;
  for (int d = 0; d < view_.dim_count(); ++d)
    if (!uses_dim(access, d)) product *= steps_along(d, loops, modes).count;
  if (product == 0) return 0;
  for (const Group& group : groups(access)) product *= group_sum(group, loops, modes, step, of);
  return product;
}

/// A sum over all steps, and those over the steps at which one loop advanced: factors of dims without a loop from that
/// one on are the same.
class TileCounts::Sums {
 public:
  Sums(const TileCounts& counts, int access, int loops, Modes modes, Of of)
      : counts_(counts), access_(access), loops_(loops), all_(std::move(modes)), of_(of) {
    for (int d = 0; d < counts.view_.dim_count(); ++d)
      if (!counts.uses_dim(access, d)) total_ *= counts.steps_along(d, loops, all_).count;
    if (total_ == 0) return;
    for (const Group& group : counts.groups(access)) {
      groups_.push_back(counts.group_sum(group, loops, all_, nullptr, of));
      total_ *= groups_.back();
    }
  }

  double total() const { return total_; }

  double where_advanced(int loop, const Step* step = nullptr) const {
    const Modes modes = counts_.advanced(access_, loops_, loop, all_);
    double product = 1;
    for (int d = 0; d < counts_.view_.dim_count(); ++d)
      if (!counts_.uses_dim(access_, d))
        product *= counts_.steps_along(d, loops_, changes(d, loop) ? modes : all_).count;
    if (product == 0) return 0;
    std::size_t number = 0;
    for (const Group& group : counts_.groups(access_)) {
      const bool same = number < groups_.size() &&
                        std::none_of(group.dims.begin(), group.dims.end(), [&](int d) { return changes(d, loop); });
      product *= same ? groups_[number] : counts_.group_sum(group, loops_, modes, step, of_);
      ++number;
    }
    return product;
  }

 private:
  bool changes(int dim, int loop) const {
    const auto& own = counts_.loops_of_[static_cast<std::size_t>(dim)];
    return std::any_of(own.begin(), own.end(), [&](int w) { return w >= loop && w < loops_; });
  }

  const TileCounts& counts_;
  int access_ = 0, loops_ = 0;
  Modes all_;
  Of of_;
  double total_ = 1;
  boost::container::small_vector<double, 8> groups_;  ///< factors
};

TileCounts::Modes TileCounts::modes_at(int access, int loops, Sharing sharing) const {
  Modes modes(loops);
  for (int w = 0; w < loops; ++w)
    if (!in_time(w) && (sharing.one_instance || (w >= sharing.shared_from && !uses_loop(access, w))))
      modes.set(w, Mode::first);
  return modes;
}

/// Loop `loop` advanced: time loops inside it are at their first step, and those that the tensor uses have only that
/// one.
TileCounts::Modes TileCounts::advanced(int access, int loops, int loop, const Modes& base) const {
  Modes modes = base;
  modes.set(loop, Mode::later);
  for (int w = loop + 1; w < loops; ++w)
    if (in_time(w)) modes.set(w, uses_loop(access, w) ? Mode::single : Mode::first);
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
  for (const Group& group : groups(access))
    for (const FootprintAxis& axis : group.axes)
      for (const FootprintAxis::Term& term : axis.terms)
        if (term.dim == dim_of(loop)) {
          ++axes;
          window = axis.linear && axis.terms.size() > 1;
        }
  return axes == 1 && window;
}

double TileCounts::moved(int access, int loops, Sharing sharing, bool slide) const {
  if (is_shared(access, loops, sharing)) return count_moved(access, loops, sharing, slide);
  Counted& counted = counted_[at(access, loops)];
  double& known = slide ? counted.slid : counted.moved;
  if (known < 0) known = count_moved(access, loops, sharing, slide);
  return known;
}

double TileCounts::refills(int access, int loops) const {
  double& known = counted_[at(access, loops)].refills;
  if (known < 0) known = count_refills(access, loops);
  return known;
}

/// Do instances of a unit count once?
bool TileCounts::is_shared(int access, int loops, Sharing sharing) const {
  for (int w = 0; w < loops; ++w)
    if (!in_time(w) && (sharing.one_instance || (w >= sharing.shared_from && !uses_loop(access, w)))) return true;
  return false;
}

/// The outermost loop that can advance while loops of the tensor inside it have a single step: further out each step
/// renews the tile.
int TileCounts::outermost_kept(int access, int loops) const {
  int w = loops;
  while (w > 0 && !(repeats_[static_cast<std::size_t>(w - 1)] && uses_loop(access, w - 1))) --w;
  return std::max(w - 1, 0);
}

double TileCounts::count_moved(int access, int loops, Sharing sharing, bool slide) const {
  const Sums sums(*this, access, loops, modes_at(access, loops, sharing), Of::elements);
  double total = sums.total();
  for (int w = outermost_kept(access, loops); w < loops; ++w) {
    if (!in_time(w) || trip(w) == 1) continue;
    if (!uses_loop(access, w)) {
      total -= sums.where_advanced(w);
    } else if (slide && slides(access, loops, w)) {
      const int d = dim_of(w);
      const Step step{d, view_.loops[static_cast<std::size_t>(w)].tile, extents(loops)[static_cast<std::size_t>(d)]};
      total -= sums.where_advanced(w) - sums.where_advanced(w, &step);
    }
  }
  return total;
}

double TileCounts::touched(int access, int loops, Sharing sharing) const {
  return sum(access, loops, modes_at(access, loops, sharing), nullptr, access == 0 ? Of::elements : Of::touched);
}

double TileCounts::first_visits(int access, int loops) const {
  Modes modes(loops);
  for (int w = 0; w < loops; ++w)
    if (in_time(w) && !uses_loop(access, w)) modes.set(w, Mode::first);
  return sum(access, loops, modes, nullptr, Of::elements);
}

double TileCounts::count_refills(int access, int loops) const {
  const Sums sums(*this, access, loops, modes_at(access, loops, {}), Of::tiles);
  double total = sums.total();
  for (int w = outermost_kept(access, loops); w < loops; ++w)
    if (in_time(w) && trip(w) > 1 && !uses_loop(access, w)) total -= sums.where_advanced(w);
  return total;
}

namespace {

/// Do calls take any number of points along a dim, so that they fill no padding?
bool takes_any_extent(const ResolvedNest& view, int dim) {
  const int m = view.instruction_dim[static_cast<std::size_t>(dim)];
  if (m < 0) return false;
  const DimRange& range = view.instruction->ranges[static_cast<std::size_t>(m)];
  return !range.fixed() && range.min <= 1 && range.multiple_of <= 1;
}

/// Does the layout hold each dim of a window by itself, as im2col does? Then the tile has a place for each step of each
/// dim, also where they read one element.
bool holds_apart(const std::vector<int>& dims, const DigitsByDim* layout) {
  return layout != nullptr && dims.size() > 1 &&
         std::all_of(dims.begin(), dims.end(), [&](int d) { return !(*layout)[static_cast<std::size_t>(d)].empty(); });
}

}  // namespace

double TileCounts::padded_tile(int access, int loops, const DigitsByDim* layout) const {
  const auto known = std::find_if(padded_.begin(), padded_.end(), [&](const Padded& one) {
    return one.access == access && one.loops == loops && one.layout == layout;
  });
  if (known != padded_.end()) return known->elements;
  return padded_.emplace_back(Padded{access, loops, layout, count_padded(access, loops, layout)}).elements;
}

double TileCounts::count_padded(int access, int loops, const DigitsByDim* layout) const {
  const std::span<const std::int64_t> all = extents(loops);
  const std::vector<std::int64_t>& padding = facts(access).padding;
  double product = 1;
  Extents own;
  for (const Group& group : boxes(access)) {
    own.clear();
    for (int d : group.dims) {
      const auto at = static_cast<std::size_t>(d);
      own.push_back(round_up(all[at], layout != nullptr && takes_any_extent(view_, d) ? 1 : padding[at]));
      if (layout != nullptr) own.back() = room_of((*layout)[at], own.back()).room;
    }
    if (holds_apart(group.dims, layout))
      for (const std::int64_t extent : own) product *= static_cast<double>(extent);
    else
      product *= box(view_, group, {own.data(), own.size()}, nullptr);
  }
  return product;
}

double TileCounts::slots(int access, int loops) const {
  const std::span<const std::int64_t> all = extents(loops);
  double product = 1;
  for (int d = 0; d < view_.dim_count(); ++d)
    if (uses_dim(access, d))
      product *=
          static_cast<double>(ceil_div(all[static_cast<std::size_t>(d)], view_.block[static_cast<std::size_t>(d)]));
  return product;
}

double TileCounts::points(int loops, const Modes& modes) const {
  double product = 1;
  for (int d = 0; d < view_.dim_count(); ++d) product *= steps_along(d, loops, modes).count;
  return product;
}

double TileCounts::steps(int loops) const {
  Modes modes(loops);
  for (int w = 0; w < loops; ++w)
    if (!in_time(w)) modes.set(w, Mode::first);
  return points(loops, modes);
}

double TileCounts::visits(int loops) const { return points(loops, Modes(loops)); }

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
