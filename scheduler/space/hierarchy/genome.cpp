// SPDX-License-Identifier: Apache-2.0
#include "scheduler/space/hierarchy/genome.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "scheduler/cost/hierarchy/evaluate.h"
#include "support/arithmetic.h"

namespace isamap::hierarchy {

namespace {

/// All up to 64; above, n / j rounded up and down, including the divisors of n. Of extents in the millions only the
/// large ones, and powers of two.
std::vector<std::int64_t> step_values(std::int64_t extent) {
  constexpr std::int64_t all_up_to = 64, most = 1 << 16;
  std::set<std::int64_t> values;
  for (std::int64_t v = 1; v <= std::min(extent, all_up_to); ++v) values.insert(v);
  for (std::int64_t j = 1; j <= std::min(extent / all_up_to, most); ++j) {
    values.insert(extent / j);
    values.insert(ceil_div(extent, j));
  }
  for (std::int64_t v = all_up_to; extent / all_up_to > most && v <= extent / 2; v *= 2) values.insert(v);
  return {values.begin(), values.end()};
}

}  // namespace

Genomes::Genomes(const Problem& problem, const SpaceOptions& options) : problem_(&problem), options_(options) {
  for (int l = last(); l > 0; --l) {
    slots_.push_back({l, false});
    if (!problem.levels[at(l - 1)].axes.empty()) slots_.push_back({l - 1, true});
  }
  for (const Dimension& dim : problem.dims) values_.push_back(step_values(dim.extent));
}

Genome Genomes::plain() const {
  Genome genome;
  for (int l = 0; l <= last(); ++l) {
    Genome::At& level = genome.levels[at(l)];
    level.keep = (1U << problem_->operand_count()) - 1;
    if (l > 0 && options_.double_buffered) level.doubled = level.keep;
    for (int d = 0; d < dims(); ++d) {
      level.time[at(d)] = level.units[at(d)] = 1;
      level.place[at(d)] = static_cast<std::uint8_t>(d);
    }
  }
  return genome;
}

std::int64_t Genomes::most_units(int level) const {
  std::int64_t most = 1;
  for (const Axis& axis : problem_->levels[at(level)].axes) most = std::max(most, axis.count);
  return most;
}

std::uint32_t Genomes::may_bypass(int level) const {
  const std::uint32_t all = (1U << problem_->operand_count()) - 1;
  return options_.keep_all || level == 0 ? 0 : all & ~problem_->levels[at(level)].must_keep;
}

std::int64_t Genomes::tile(const Genome& genome, int level, int d) const {
  std::int64_t tile = 1;
  for (const Slot slot : slots_) {
    if (slot.level < level) break;
    tile = std::min(extent(d), tile * steps(genome, slot, d));
  }
  return tile;
}

std::int64_t Genomes::outermost(const Genome& genome, int d) const { return ceil_div(extent(d), tile(genome, 0, d)); }

/// At most `most`; under `dividing` a divisor of the value.
std::int64_t Genomes::reduced(std::int64_t value, std::int64_t most) const {
  std::int64_t less = std::min(value, std::max<std::int64_t>(most, 1));
  while (options_.dividing && value % less != 0) --less;
  return less;
}

void Genomes::clamp(Genome& genome) const {
  for (int d = 0; d < dims(); ++d) {
    std::int64_t tile = 1;
    for (const Slot slot : slots_) {
      std::int64_t& n = steps(genome, slot, d);
      const std::int64_t left = options_.dividing ? extent(d) / tile : ceil_div(extent(d), tile);
      n = std::clamp<std::int64_t>(n, 1, left);
      if (slot.units) n = std::min(n, most_units(slot.level));
      while (options_.dividing && left % n != 0) --n;
      tile = std::min(extent(d), tile * n);
    }
  }
}

/// The first assignment of each dim with several steps to an axis.
bool Genomes::assign(const Genome& genome, int level, std::array<int, max_dims>& axis) const {
  const auto& axes = problem_->levels[at(level)].axes;
  std::array<std::int64_t, max_axes> left{};
  for (std::size_t x = 0; x < axes.size(); ++x) left[x] = axes[x].count;
  const auto place = [&](const auto& self, int d) -> bool {
    while (d < dims() && genome.levels[at(level)].units[at(d)] <= 1) axis[at(d++)] = 0;
    if (d == dims()) return true;
    const std::int64_t n = genome.levels[at(level)].units[at(d)];
    for (std::size_t x = 0; x < axes.size(); ++x) {
      if (n > left[x]) continue;
      const std::int64_t before = left[x];
      left[x] /= n;
      axis[at(d)] = static_cast<int>(x);
      if (self(self, d + 1)) return true;
      left[x] = before;
    }
    return false;
  };
  return place(place, 0);
}

/// If the dims do not fit the axes: best fit, longest first; the last ones get the rest.
void Genomes::pack(Genome& genome, int level) const {
  std::array<int, max_dims> axis{};
  if (assign(genome, level, axis)) return;
  auto& units = genome.levels[at(level)].units;
  std::vector<int> order(at(dims()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return units[at(a)] > units[at(b)]; });
  std::vector<std::int64_t> left;
  for (const Axis& a : problem_->levels[at(level)].axes) left.push_back(a.count);
  for (const int d : order) {
    std::int64_t& n = units[at(d)];
    const auto fits = [n](std::int64_t room) { return room >= n; };
    auto best = std::find_if(left.begin(), left.end(), fits);
    for (auto it = left.begin(); it != left.end(); ++it)
      if (best == left.end() ? false : fits(*it) && *it < *best) best = it;
    if (best == left.end()) best = std::max_element(left.begin(), left.end());
    n = reduced(n, *best);
    *best /= n;
  }
}

std::int64_t Genomes::largest_tile_that_fits(const Genome& genome, int level, int d) const {
  const double capacity = problem_->levels[at(level)].capacity;
  if (capacity <= 0) return extent(d);
  const Genome::At& own = genome.levels[at(level)];
  LevelPoint::Tiles tiles;
  for (int e = 0; e < dims(); ++e) tiles[at(e)] = tile(genome, level, e);
  const auto [one, slope] = bytes_along(*problem_, own.keep, own.doubled, tiles, d);
  if (one > capacity) return 0;
  if (slope <= 0) return extent(d);
  return static_cast<std::int64_t>(
      std::min(static_cast<double>(extent(d)), std::floor((capacity - one) / slope + 1e-9) + 1));
}

void Genomes::fit(Genome& genome, int level) const {
  const double capacity = problem_->levels[at(level)].capacity;
  if (capacity <= 0) return;
  const auto over = [&] {
    LevelPoint::Tiles tiles;
    for (int d = 0; d < dims(); ++d) tiles[at(d)] = tile(genome, level, d);
    return bytes_of(*problem_, genome.levels[at(level)].keep, genome.levels[at(level)].doubled, tiles) > capacity;
  };
  for (std::size_t s = slots_.size(); s-- > 0;) {
    const Slot slot = slots_[s];
    if (slot.level < level) continue;
    while (over()) {
      int longest = -1;
      for (int d = 0; d < dims(); ++d)
        if (steps(genome, slot, d) > 1 && (longest < 0 || steps(genome, slot, d) > steps(genome, slot, longest)))
          longest = d;
      if (longest < 0) break;
      std::int64_t& n = steps(genome, slot, longest);
      const std::int64_t before = n, room = largest_tile_that_fits(genome, level, longest);
      n = 1;
      n = reduced(before, room / tile(genome, level, longest));
    }
  }
  if (over() && !options_.double_buffered) genome.levels[at(level)].doubled = 0;
}

Genome Genomes::repaired(Genome genome) const {
  const std::uint32_t all = (1U << problem_->operand_count()) - 1;
  for (int l = 0; l <= last(); ++l) {
    Genome::At& level = genome.levels[at(l)];
    level.keep = (level.keep & may_bypass(l)) | (all & ~may_bypass(l));
    level.doubled =
        options_.single_buffered || l == 0 ? 0 : level.keep & (options_.double_buffered ? all : level.doubled);
    for (int d = 0; d < dims(); ++d) {
      if (l == 0) level.time[at(d)] = 1;
      if (l == last() || problem_->levels[at(l)].axes.empty()) level.units[at(d)] = 1;
    }
  }
  clamp(genome);
  for (int l = 0; l < last(); ++l) pack(genome, l);
  for (int l = last(); l > 0; --l) fit(genome, l);
  for (int d = 0; d < dims(); ++d)
    for (const Slot slot : slots_)
      if (!slot.units) {
        std::int64_t& n = steps(genome, slot, d);
        n = *(std::upper_bound(values(d).begin(), values(d).end(), n) - 1);
      }
  return of(canonical(*problem_, point(genome)));
}

LevelPoint Genomes::point(const Genome& genome) const {
  LevelPoint result = plain_point(*problem_);
  for (int l = 0; l <= last(); ++l) {
    const Genome::At& from = genome.levels[at(l)];
    LevelPoint::At& to = result.levels[at(l)];
    to.keep = from.keep;
    to.doubled = from.doubled;
    std::array<int, max_dims> order;
    std::iota(order.begin(), order.begin() + dims(), 0);
    if (l < last())
      for (int i = 1; i < dims(); ++i)  // insertion sort of at most eight
        for (int j = i; j > 0 && from.place[at(order[at(j)])] < from.place[at(order[at(j - 1)])]; --j)
          std::swap(order[at(j)], order[at(j - 1)]);
    for (int i = 0; i < dims(); ++i) to.order[at(i)] = static_cast<std::uint8_t>(order[at(i)]);
    if (l == last()) break;
    std::array<int, max_dims> axis{};
    assign(genome, l, axis);
    for (int d = 0; d < dims(); ++d) {
      const std::int64_t inner = tile(genome, l + 1, d);
      const std::int64_t outer = std::min(extent(d), inner * from.units[at(d)]);
      to.time[at(d)] = outer;
      for (int x = 0; x < static_cast<int>(problem_->levels[at(l)].axes.size()); ++x)
        to.axis[at(x)][at(d)] = x < axis[at(d)] ? outer : inner;
    }
  }
  return result;
}

Genome Genomes::of(const LevelPoint& point) const {
  Genome genome = plain();
  for (int d = 0; d < dims(); ++d) {
    std::int64_t around = extent(d);
    for (int l = 0; l <= last(); ++l) {
      const LevelPoint::At& from = point.levels[at(l)];
      Genome::At& to = genome.levels[at(l)];
      to.time[at(d)] = l == 0 ? 1 : ceil_div(around, from.time[at(d)]);
      around = from.time[at(d)];
      for (std::size_t x = 0; x < problem_->levels[at(l)].axes.size() && l < last(); ++x) {
        to.units[at(d)] *= ceil_div(around, from.axis[x][at(d)]);
        around = from.axis[x][at(d)];
      }
    }
  }
  for (int l = 0; l <= last(); ++l) {
    genome.levels[at(l)].keep = point.levels[at(l)].keep;
    genome.levels[at(l)].doubled = point.levels[at(l)].doubled;
    for (int i = 0; i < dims(); ++i)
      genome.levels[at(l)].place[point.levels[at(l)].order[at(i)]] = static_cast<std::uint8_t>(i);
  }
  return genome;
}

}  // namespace isamap::hierarchy
