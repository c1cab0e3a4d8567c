// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/memory_footprint.h"

#include <algorithm>
#include <cmath>

namespace isamap {

namespace {

/// The greatest common divisor of a power of two and a whole number.
double power_of_two_gcd(double power, double number) {
  const auto whole = static_cast<std::int64_t>(number);
  return whole == 0 ? power : std::min(power, static_cast<double>(whole & -whole));
}

}  // namespace

FootprintModel::FootprintModel(const ResolvedNest& view, const TileCounts& counts)
    : view_(view), counts_(counts), timing_(view.model->timing) {
  for (const Memory& cache : view.model->memories()) {
    CacheSets sets{cache.ways > 0 ? static_cast<double>(cache.ways) : timing_.ways, 1, cache_count_};
    const auto line = static_cast<double>(std::max<std::int64_t>(1, cache.line));
    if (cache.kind == MemoryKind::cache)
      while (sets.set_bytes * 2 * sets.ways * static_cast<double>(cache.line) <= static_cast<double>(cache.capacity))
        sets.set_bytes *= 2;
    sets.set_bytes *= line;
    if (cache.kind == MemoryKind::cache) ++cache_count_;
    caches_.push_back(sets);
  }
  known_.reserve(view.facts->accesses.size() * cache_count_ * (view.loops.size() + 1));
}

int FootprintModel::add(int access, const std::optional<PackedLayout>& packed) {
  Form& form = forms_.emplace_back(Form{access, packed, {}});
  const std::size_t places = view_.loops.size() + 1;
  if (!packed)
    for (const MemoryAxis& axis : facts(access).memory.axes)
      form.axes.push_back({&axis.terms, axis.extent, axis.pitch, nullptr});
  else if (packed->analysed())
    add_digits(form);
  form.along.assign(places * form.axes.size(), -1);
  known_.resize(forms_.size() * cache_count_ * places);
  return static_cast<int>(forms_.size()) - 1;
}

/// Elements of one subscript that a tile spans.
double FootprintModel::reach(const AxisTerms& terms, std::span<const std::int64_t> tiles) const {
  double width = 1;
  for (const auto& [d, step] : terms)
    width += step * static_cast<double>(std::max<std::int64_t>(0, tiles[static_cast<std::size_t>(d)] - 1));
  return width;
}

void FootprintModel::add_digits(Form& form) const {
  const std::span<const std::int64_t> whole = counts_.extents(form.packed->loops);
  const StageFacts& stage = *form.packed->stage;
  for (std::size_t q = 0; q < stage.digits.size(); ++q) {
    const auto extent = static_cast<std::int64_t>(reach(stage.terms[q], whole));
    form.axes.push_back(
        {&stage.terms[q], static_cast<double>(digit_extent(stage.digits[q], extent)), 1, &stage.digits[q]});
  }
  for (std::size_t axis = form.axes.size(); axis-- > 1;)
    form.axes[axis - 1].pitch = form.axes[axis].pitch * form.axes[axis].extent;
}

/// Elements of an axis that the tile below some loops spans.
double FootprintModel::elements_along(const Form& form, int loops, std::size_t number) const {
  double& known = form.along[static_cast<std::size_t>(loops) * form.axes.size() + number];
  if (known >= 0) return known;
  const AxisForm& axis = form.axes[number];
  known = reach(*axis.terms, counts_.extents(loops));
  if (axis.digit != nullptr)
    known = static_cast<double>(digit_extent(*axis.digit, static_cast<std::int64_t>(known)));
  else if (!facts(form.access).memory.by_dim)
    known = std::min(known, axis.extent);
  return known;
}

const Footprint& FootprintModel::footprint(MemoryId cache, int form, int loops) {
  std::optional<Footprint>& known =
      known_[(static_cast<std::size_t>(form) * cache_count_ + caches_[cache.index()].number) *
                 (view_.loops.size() + 1) +
             static_cast<std::size_t>(loops)];
  if (!known) known = compute(cache, forms_[static_cast<std::size_t>(form)], loops);
  return *known;
}

Footprint FootprintModel::compute(MemoryId id, const Form& form, int loops) const {
  const Memory& cache = view_.model->memory(id);
  const double size = facts(form.access).element_bytes, elements = counts_.tile(form.access, loops);
  const double of_sets = set_bytes(id);
  Footprint f;
  f.bytes = f.lines = elements * size;
  f.lines_per_set = elements * size / of_sets;
  f.pages = std::ceil(elements * size / timing_.page);
  if (form.axes.empty() || cache.line <= 1) return f;
  const auto line = static_cast<double>(cache.line);
  // A row is a contiguous run: axes that the tile covers whole, and part of the next.
  double reached = 1, row = 1, sets = 0, farthest = 0, uneven = 1;
  // Bytes from the first to the last row of a group of rows less than a page apart; number of such groups.
  double between = 0, apart = 1;
  bool whole = true, aligned = true;
  for (std::size_t axis = form.axes.size(); axis-- > 0;) {
    const double along = elements_along(form, loops, axis), extent = form.axes[axis].extent,
                 pitch = form.axes[axis].pitch;
    whole = whole && pitch == reached;  // rows of a larger array are not contiguous
    if (whole) {
      row = along * pitch;
      sets = std::min(std::ceil(row * size / line) * line, of_sets);
    } else {
      const double places = std::min(along, of_sets / power_of_two_gcd(of_sets, pitch * size));
      sets = std::min(sets * places, of_sets);
      uneven *= std::ceil(along / places) / (along / places);
    }
    if (!whole && along > 1 && farthest == 0) farthest = pitch;
    if (pitch * size < timing_.page)
      between += (along - 1) * pitch * size;
    else
      apart *= along;
    if (!whole && along > 1) aligned = aligned && static_cast<std::int64_t>(pitch * size) % cache.line == 0;
    whole = whole && along == extent;
    reached = pitch * extent;
  }
  row = std::max(1.0, std::min(row, elements));
  const double lines = std::ceil(row * size / line);
  f.bytes = elements / row * (lines + (row < elements && !aligned ? 1 : 0)) * line;
  f.lines = elements / row * lines * line;
  f.stream_starts = whole ? 0 : elements / row;
  f.lines_per_set = elements / row * lines * line / sets * uneven;
  f.segments = elements / row;
  f.pages = apart * (1 + between / timing_.page);
  if (!whole) f.streams = farthest * size >= timing_.page ? f.segments : std::min(f.segments, f.pages);
  return f;
}

bool FootprintModel::runs_along(int number, int loop) const {
  const Form& form = forms_[static_cast<std::size_t>(number)];
  const MemoryAxes& memory = facts(form.access).memory;
  const int d = view_.loops[static_cast<std::size_t>(loop)].dim;
  if (access_of(view_.statement, form.access).index.empty() || !counts_.uses_loop(form.access, loop)) return false;
  const auto moves = [&](const AxisTerms& terms) {
    return std::any_of(terms.begin(), terms.end(), [&](const auto& term) { return term.first == d; });
  };
  if (form.packed && !form.packed->analysed()) return moves(memory.last);
  if (!form.packed && memory.by_dim) return memory.steps[static_cast<std::size_t>(d)] == 1;
  if (!form.packed) return moves(memory.last);
  std::size_t last = form.axes.size() - 1;
  while (last > 0 && elements_along(form, loop + 1, last) == form.axes[last].extent) --last;
  return moves(*form.axes[last].terms);
}

}  // namespace isamap
