// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/packing_time.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <set>

#include "hwdesc/model/cache_line.h"
#include "hwdesc/model/parallel_units.h"
#include "hwdesc/model/scalar_timing.h"
#include "hwdesc/model/timing_choice.h"
#include "scheduler/cost/cache_traffic.h"
#include "scheduler/cost/scalar_copies.h"
#include "scheduler/cost/tile_sizes.h"
#include "scheduler/nest/packing_moves.h"
#include "scheduler/nest/staged_tile.h"

namespace isamap {
namespace {

const Tensor& copied_tensor(const ResolvedNest& view, int access) {
  return view.kernel->tensors[access_of(view.statement, access).tensor.index()];
}

std::optional<PackingMove> move_of(const ResolvedNest& view, const StagedTile& s,
                                   const std::vector<std::int64_t>& tile) {
  if (s.parent >= 0 || !s.stage.via.empty() || s.stage.layout.empty() || s.memory != view.model->home())
    return std::nullopt;
  return packing_move({&view.statement.domain, &access_of(view.statement, s.access), &copied_tensor(view, s.access),
                       &s.stage.layout, tile, s.memory, s.access > 0},
                      *view.model);
}

/// Digits in the loop order of the copy, innermost last: all digits of the dim that is contiguous in the tensor move
/// together to the inside, if the last digit is of it or a move handles the digits inside it, part of a line each
/// (scheduler/lowering/block_loops.cpp).
std::vector<SplitDigit> digits_in_copy_order(const StagedTile& s, const AffineExpr& offset, bool parts_of_lines) {
  std::vector<SplitDigit> digits = s.facts->digits;
  for (std::size_t q = digits.size(); q-- > 0;) {
    const auto name = digits[q].form.as_dim();
    if (name && offset.coefficient(*name) == 1) {
      const AffineExpr form = digits[q].form;
      std::stable_partition(digits.begin(), digits.begin() + static_cast<std::ptrdiff_t>(q),
                            [&](const SplitDigit& d) { return !(d.form == form); });
      break;
    }
    if (!parts_of_lines) break;
  }
  return digits;
}

/// Are these dims inside divisions of the place?
bool divides(const AffineExpr& offset, const std::set<std::string>& dims) {
  return std::any_of(offset.terms().begin(), offset.terms().end(), [&](const AffineTerm& term) {
    const FloorDiv* const by = division(term);
    const std::set<std::string> names = by != nullptr ? by->numerator->names() : std::set<std::string>();
    return std::any_of(dims.begin(), dims.end(), [&](const std::string& dim) { return names.contains(dim); });
  });
}

/// Elements of the innermost loop of a copy: 1 along a replicated dim.
std::int64_t row_of(const SplitDigit& innermost, const Tiles& whole) {
  const std::set<std::string> names = innermost.form.names();
  if (!std::all_of(names.begin(), names.end(), [&](const std::string& name) { return whole.contains(name); })) return 1;
  return std::max<std::int64_t>(digit_extent(innermost, range_over(innermost.form, whole).extent), 1);
}

/// Steps in the tensor from one value of the digit to the next: of 2*q + s, one step of 2*q is two of it.
std::int64_t step_of(const LayoutDigit& digit, const AffineExpr& offset) {
  const auto split = split_digit(digit.index);
  std::int64_t most = 0;
  for (const std::string& name : digit.index.names()) {
    const std::int64_t step = split ? std::max<std::int64_t>(1, std::abs(split->form.coefficient(name))) : 1;
    most = std::max(most, std::abs(offset.coefficient(name)) / step);
  }
  return most;
}

/// `[c/8, h, w, c%8]` of images: a store of 8 neighbours, from 8 rows that the loop around it follows. So are panels of
/// several of these stores, `[i/14, k/4, i%14, k%4]`.
bool is_interleaved(const std::vector<LayoutDigit>& layout, const AffineExpr& offset, const ElementCycles& each) {
  if (layout.size() < 2 || !offset.is_linear()) return false;
  const LayoutDigit &inner = layout.back(), &around = layout[layout.size() - 2];
  const auto rows = split_digit(inner.index), along = split_digit(around.index);
  if (!rows || !along || rows->divide != 1 || rows->modulo < 2 || along->divide != 1) return false;
  const double trips =
      along->modulo == 0 ? std::numeric_limits<double>::infinity() : static_cast<double>(along->modulo);
  return is_interleaved({{1, rows->modulo}, {step_of(inner, offset), step_of(around, offset)}},
                        static_cast<double>(rows->modulo), trips, each);
}

/// Does the test whether an element lies in the tensor divide dims of the innermost digit? Of a border in fused dims,
/// `b[(k.l)/24 - 2,(k.l)%24 - 2]`, it does at each element, though the place has a stride.
bool tests_divide(const Access& access, const Tensor& tensor, const Ranges& ranges, const std::set<std::string>& dims) {
  for (std::size_t axis = 0; axis < access.index.size(); ++axis) {
    const AffineExpr e = simplify(access.index[axis], ranges);
    const auto range = bounds(e, ranges);
    if ((!range || range->low < 0 || range->high >= tensor.shape[axis]) && divides(e, dims)) return true;
  }
  return false;
}

/// Cycles per element of a scalar loop that makes the copy, times the replication in the layout. Divisions by dims of
/// outer loops are done once for each row of the innermost digit: of `[c, q]`, `X[c/4 + 34*(c%4),q]` is contiguous.
/// Where dims of the innermost digit are divided, the loops that lowering makes say whether a division is left: `made`.
double cycles_by_element(const ResolvedNest& view, const StagedTile& s,
                         const std::function<const std::optional<ScalarCopy>&()>& made) {
  const Access& access = access_of(view.statement, s.access);
  const AffineExpr offset =
      simplify(position(access.index, copied_tensor(view, s.access)), ranges_of(view.statement.domain));
  const TimingParameters& timing = view.model->timing;
  const auto divided = [&] {
    const std::optional<ScalarCopy>& copy = made();
    return copy ? copy->each.value_or(timing.copy_divided) : timing.copy_divided;
  };
  if (s.stage.layout.empty()) return offset.is_linear() ? timing.copy_contiguous : divided();
  Tiles whole;
  for (const Dim& dim : view.statement.domain.dims)
    whole[dim.name] = {AffineExpr(0), std::max<std::int64_t>(dim.extent, 1)};
  double copied = 1, natural = 1;
  std::vector<AffineExpr> forms;
  for (const LayoutDigit& digit : s.stage.layout) {
    const auto split = split_digit(digit.index);
    if (!split || std::find(forms.begin(), forms.end(), split->form) != forms.end()) continue;
    const auto name = split->form.as_dim();
    if (name && name->front() == '$') {  // a replicated or virtual dim multiplies the elements
      const int m = view.instruction ? view.instruction->statement().domain.find(name->substr(1)) : -1;
      if (m >= 0) copied *= static_cast<double>(full_extent(*view.instruction, static_cast<std::size_t>(m)));
      continue;
    }
    forms.push_back(split->form);
    copied *= static_cast<double>(range_over(split->form, whole).extent);
  }
  for (const AffineExpr& e : access.index)
    if (const auto range = bounds(e, ranges_of(view.statement.domain)))
      natural *= static_cast<double>(range->high - range->low + 1);
  double each = 0;
  const auto split = split_digit(s.stage.layout.back().index);
  const std::set<std::string> innermost = s.stage.layout.back().index.names();
  const bool tested = tests_divide(access, copied_tensor(view, s.access), ranges_of(view.statement.domain), innermost);
  if (!tested && (offset.is_linear() || (split && !divides(offset, innermost)))) {
    each = step_of(s.stage.layout.back(), offset) == 1                         ? timing.copy_contiguous
           : is_interleaved(s.stage.layout, offset, element_cycles_of(timing)) ? timing.copy_interleaved
                                                                               : timing.copy_strided;
    if (!offset.is_linear()) each += timing.copy_divided / static_cast<double>(row_of(*split, whole));
  } else {
    each = divided();
  }
  return each * std::max(1.0, copied / std::max(natural, 1.0));
}

/// Loops of the copy with constant strides in the tensor.
void add_loops(const ResolvedNest& view, const StagedTile& s, bool parts_of_lines, PackedCopyFacts& copy) {
  const AffineExpr offset = position(access_of(view.statement, s.access).index, copied_tensor(view, s.access));
  const std::vector<SplitDigit> digits =
      offset.is_linear() ? digits_in_copy_order(s, offset, parts_of_lines) : std::vector<SplitDigit>{};
  copy.regular = !digits.empty();
  for (auto split = digits.rbegin(); split != digits.rend(); ++split) {
    const auto name = split->form.as_dim();
    const int d = name ? view.statement.domain.find(*name) : -1;
    copy.regular = d >= 0;
    if (d < 0) return;
    copy.loops.push_back({static_cast<double>(digit_extent(*split, copy.tile[static_cast<std::size_t>(d)])),
                          static_cast<double>(offset.coefficient(*name) * split->divide)});
  }
}

/// Of a tile of these extents.
const PackedCopyFacts& copy_facts(const ResolvedNest& view, const StagedTile& s,
                                  const std::vector<std::int64_t>& tile) {
  auto& all = s.facts->packed;
  const auto known = std::find_if(all.begin(), all.end(), [&](const auto& one) {
    return one->access == s.access && one->of_tensor == (s.parent < 0) && one->tile == tile;
  });
  if (known != all.end()) {
    std::iter_swap(all.begin(), known);  // mostly asked for again
    return *all.front();
  }
  const auto move = move_of(view, s, tile);
  std::optional<std::optional<ScalarCopy>> lowered;
  const auto made = [&]() -> const std::optional<ScalarCopy>& {
    return lowered ? *lowered : lowered.emplace(scalar_copy(view, s, tile));
  };
  PackedCopyFacts copy{s.access, s.parent < 0, tile, move ? move->cycles : cycles_by_element(view, s, made), {}};
  const std::int64_t size = bytes(copied_tensor(view, s.access).dtype);
  add_loops(view, s, move && move->run * size < cache_line(*view.model), copy);
  if (!move && executes_a_stream(*view.model))
    if (const auto& by_elements = made()) copy.filled = by_elements->filled, copy.drained = by_elements->drained;
  return *all.emplace_back(std::make_unique<const PackedCopyFacts>(std::move(copy)));
}

/// Of a full tile.
const PackedCopyFacts& copy_facts(const ResolvedNest& view, const StagedTile& s) {
  return copy_facts(view, s, view.tiles(s.loops));
}

/// Elements read contiguously before the copy continues with another row, when it interleaves more rows than the
/// hardware prefetcher tracks. 0: everything, or unknown.
double run_of(const ResolvedNest& view, const StagedTile& s, const Memory& cache) {
  const PackedCopyFacts& copy = copy_facts(view, s);
  double run = 1, rows = 1;
  for (const auto& [extent, stride] : copy.loops) {
    if (stride != run) {
      rows *= extent;
      continue;
    }
    if (rows > prefetch_streams(cache, view.model->timing))
      return run > 1 ? run
                     : std::min(extent, static_cast<double>(cache.line) / bytes(copied_tensor(view, s.access).dtype));
    run *= extent;
  }
  return copy.regular ? run : 0;
}

/// Threads that share a copy: those over which the loops around it are distributed, otherwise those of its own loops.
double threads_around(const ResolvedNest& view, const TileCounts& counts, const StagedTile& s) {
  double threads = 1;
  for (int w = 0; w < s.loops; ++w)
    if (const UnitId unit = view.loops[static_cast<std::size_t>(w)].unit;
        unit.valid() && !view.model->unit(unit).threads.loop.empty())
      threads *= static_cast<double>(counts.trip(w));
  return threads;
}

double elements_of_copy(const TileCounts& counts, const Transfer& t, const StagedTile& s) {
  return counts.padded_tile(t.access, s.loops) * t.copies_in;
}

double threads_of(const ResolvedNest& view, const TileCounts& counts, const Transfer& t) {
  const StagedTile& s = view.stages[static_cast<std::size_t>(t.stage)];
  const double around = threads_around(view, counts, s);
  return around > 1 || s.stage.ahead_of_time ? around : threads_of_copy(*view.model, elements_of_copy(counts, t, s));
}

/// Starts of the threads of loops of copies, for each time they are made.
double starts_of_copies(const ResolvedNest& view, const TileCounts& counts, const Transfer& t) {
  const StagedTile& s = view.stages[static_cast<std::size_t>(t.stage)];
  const auto unit = threads_of_programs(*view.model);
  if (!unit || threads_around(view, counts, s) > 1 || threads_of(view, counts, t) < 2) return 0;
  const double times = (t.elements_in + t.elements_out) * t.copies_in / std::max(1.0, elements_of_copy(counts, t, s));
  return std::max(1.0, times) * view.model->unit(*unit).threads.start;
}

/// A copy streams through every cache smaller than its source or destination: reads once, writes twice (write-allocate
/// and write-back). Short runs pay stream starts.
double cycles_through_caches(const ResolvedNest& view, const TileCounts& counts, const Transfer& t) {
  const HardwareModel& model = *view.model;
  const Tensor& tensor = copied_tensor(view, t.access);
  const double size = bytes(tensor.dtype), elements = t.elements_in + t.elements_out;
  const StagedTile& s = view.stages[static_cast<std::size_t>(t.stage)];
  const double threads = threads_of(view, counts, t);
  double whole = size, most = 0, nearest = 0;
  for (const std::int64_t extent : tensor.shape) whole *= static_cast<double>(extent);
  const double tile = counts.padded_tile(t.access, s.loops) * size * t.copies_in;
  for (const Memory& m : model.memories())
    if (m.kind == MemoryKind::cache && (nearest == 0 || static_cast<double>(m.capacity) < nearest))
      nearest = static_cast<double>(m.capacity);
  for (const Link& link : model.links()) {
    const Memory& cache = model.memory(link.to);
    if (cache.kind != MemoryKind::cache || link.bandwidth <= 0) continue;
    const auto capacity = static_cast<double>(cache.capacity);
    const double of_tensor = whole > capacity ? (t.access == 0 ? 2 : 1) : 0;
    const double of_tile = tile > capacity ? (t.access == 0 ? 1 : 2) * t.copies_in : 0;
    const double run = of_tensor > 0 && capacity > nearest ? run_of(view, s, cache) : 0;
    const double starts = run > 0 ? elements / run * stream_start(model, link.to, false).row : 0;
    const double at_once = std::min(threads, static_cast<double>(model.instances(cache.per)));
    most = std::max(most, (elements * size * (of_tensor + of_tile) + starts) / link.bandwidth / at_once);
  }
  return most;
}

/// Elements of the buffer of a copy, padding included.
double count_buffer(const ResolvedNest& view, const StagedTile& s) {
  Tiles tiles;
  const std::vector<std::int64_t> sizes = view.tiles(s.loops);
  for (std::size_t d = 0; d < sizes.size(); ++d)
    tiles[view.statement.domain.dims[d].name] = {AffineExpr(0), std::max<std::int64_t>(sizes[d], 1)};
  double elements = 1;
  for (const LayoutDigit& digit : s.stage.layout) {
    const auto split = split_digit(digit.index);
    if (!split) return 0;
    const auto name = split->form.as_dim();
    const int m = name && name->front() == '$' && view.instruction
                      ? view.instruction->statement().domain.find(name->substr(1))
                      : -1;
    const std::int64_t values =
        m >= 0 ? full_extent(*view.instruction, static_cast<std::size_t>(m)) : range_over(split->form, tiles).extent;
    const bool is_innermost = split->modulo > 0 && split->divide == 1;
    elements *= static_cast<double>((is_innermost ? split->modulo : digit_extent(*split, values)) + digit.pad);
  }
  return elements;
}

double elements_of_buffer(const ResolvedNest& view, const StagedTile& s) {
  const PackedCopyFacts& copy = copy_facts(view, s);
  if (!copy.buffer) copy.buffer = count_buffer(view, s);
  return *copy.buffer;
}

/// Cycles of copies by the scalar unit of a command stream, with their padding, of whole and short tiles; nothing:
/// other copies.
std::optional<double> stream_copy_cycles(const ResolvedNest& view, const TileCounts& counts, const Transfer& t) {
  const StagedTile& s = view.stages[static_cast<std::size_t>(t.stage)];
  if (!copy_facts(view, s).filled) return std::nullopt;
  const double copies = counts.refills(t.access, s.loops);
  const double mean_filled =
      mean_of_tiles(counts, s.loops, [&](const auto& sizes) { return copy_facts(view, s, sizes).filled.value_or(0); });
  if (t.access > 0) return t.elements_in > 0 ? copies * mean_filled : 0;
  const double mean_drained =
      mean_of_tiles(counts, s.loops, [&](const auto& sizes) { return copy_facts(view, s, sizes).drained.value_or(0); });
  return copies * (mean_filled * t.elements_in / std::max(1.0, t.elements_out) + mean_drained);
}

/// Padding is set before the elements are copied: all of the buffer where reads may be out of bounds.
double padding_cycles(const ResolvedNest& view, const TileCounts& counts, const Transfer& t) {
  const StagedTile& s = view.stages[static_cast<std::size_t>(t.stage)];
  if (t.access == 0 || s.stage.ahead_of_time || s.stage.layout.empty() || copy_facts(view, s).filled) return 0;
  const double copied = counts.tile(t.access, s.loops) * t.copies_in, buffer = elements_of_buffer(view, s);
  const bool outside =
      outside_of(view.statement, access_of(view.statement, t.access).tensor, view.kernel->tensors).has_value();
  const double set = outside ? buffer : std::max(0.0, buffer - copied);
  const double times = std::max(1.0, t.elements_in * t.copies_in / std::max(1.0, copied));
  return set * times * view.model->timing.copy_contiguous;
}

/// LLC misses of packing. The tensor and its copy occupy a share of the LLC together, and of what fits into it other
/// data have evicted that share since the last run: it is read again, or fetched and written back where the copy is
/// written, and nothing overlaps it. The buffer of an output was just written by the calls, which overlapped that.
double llc_miss_cycles(const ResolvedNest& view, const TileCounts& counts, const Transfer& t) {
  const HardwareModel& model = *view.model;
  const Tensor& tensor = copied_tensor(view, t.access);
  const Link* outermost = nullptr;
  for (const Link& link : model.links())
    if (model.memory(link.to).kind == MemoryKind::cache && link.bandwidth > 0 &&
        (outermost == nullptr || model.memory(link.to).capacity > model.memory(outermost->to).capacity))
      outermost = &link;
  if (outermost == nullptr) return 0;
  const double size = bytes(tensor.dtype);
  double whole = size;
  for (const std::int64_t extent : tensor.shape) whole *= static_cast<double>(extent);
  const double tile =
      counts.padded_tile(t.access, view.stages[static_cast<std::size_t>(t.stage)].loops) * size * t.copies_in;
  const auto capacity = static_cast<double>(model.memory(outermost->to).capacity);
  // Larger ones pass the cache at each copy (cycles_through_caches). A tile that is renewed stays where it was written.
  const double moved = (t.elements_in + t.elements_out) * size;
  const double of_tensor = whole > capacity ? 0 : std::min(whole, moved) * (t.access == 0 ? 2 : 1);
  const double of_tile = tile > capacity || t.access == 0 ? 0 : std::min(tile, moved * t.copies_in) * 2;
  return std::min(1.0, (whole + tile) / capacity) * (of_tensor + of_tile) / outermost->bandwidth;
}

}  // namespace

double copy_cycles(const ResolvedNest& view, const StagedTile& s) { return copy_facts(view, s).cycles; }

void append_packing_times(const ResolvedNest& view, const TileCounts& counts, const Traffic& traffic,
                          std::vector<TermTime>& times) {
  for (const Transfer& t : traffic.transfers) {
    if (t.stage < 0 || t.from != t.to) continue;
    const StagedTile& s = view.stages[static_cast<std::size_t>(t.stage)];
    const auto in_stream = stream_copy_cycles(view, counts, t);
    const double moving =
        in_stream ? *in_stream : (t.elements_in + t.elements_out) * t.copies_in * copy_cycles(view, s);
    times.push_back({"packed copy of", copied_tensor(view, t.access).name,
                     std::max(moving / threads_of(view, counts, t), cycles_through_caches(view, counts, t)) +
                         llc_miss_cycles(view, counts, t) + starts_of_copies(view, counts, t)});
  }
}

double copying_cycles(const ResolvedNest& view, const TileCounts& counts, const Traffic& traffic) {
  std::vector<TermTime> copies;
  append_packing_times(view, counts, traffic, copies);
  double total = 0;
  for (const TermTime& copy : copies) total += copy.cycles;
  for (const Transfer& t : traffic.transfers)
    if (t.stage >= 0 && t.from == t.to) total += padding_cycles(view, counts, t);
  return total;
}

}  // namespace isamap
