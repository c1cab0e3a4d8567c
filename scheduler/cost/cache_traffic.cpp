// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/cache_traffic.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>

#include "scheduler/nest/instruction_timing.h"
#include "scheduler/nest/tile_layout.h"

namespace isamap {

namespace {

/// usable share of a capacity where `usable` is not stated: the rest is other data
constexpr double default_usable = 0.75;
constexpr double default_ways = 8;  ///< associativity where `ways` is not stated
/// Bandwidth share per cache level outwards where no fill link is described: 128 B/cycle of loads then gives 32 B/cycle
/// from L2 and 8 B/cycle from memory, as measured on a current server core.
constexpr double outward_share = 0.25;

constexpr double page_bytes = 4096;
/// First-level data TLB entries where `pages` is not stated: beyond these a new row of the nearest cache costs (Intel
/// optimization reference manual, data TLB).
constexpr double default_tlb_entries = 64;

/// A packed tensor that an access reads.
struct Packed {
  std::vector<SplitDigit> digits;  ///< empty: layout not analysed, elements used as contiguous
  int loops = 0;                   ///< its tile is that below these loops
};

/// One access on its way through a cache.
struct AccessStream {
  int access = 0;
  int loops = 0;        ///< reloaded when the tile below these loops is replaced: below them it is in registers
  int fused_loops = 0;  ///< loops above the buffer that fused statements share; 0: not fused
  std::optional<Packed> packed;
  double copies = 1;  ///< of each element (replicated layouts)
  MemoryId nearest;   ///< innermost cache on the path
  StreamStart start;
};

/// One axis of memory, in elements: extent of the tile, extent of the array, distance of neighbours.
struct Axis {
  double along = 1, extent = 1, pitch = 1;
};

/// Memory footprint of an access below some loops.
struct Footprint {
  double bytes = 0;          ///< in whole lines, one more for each unaligned segment
  double lines = 0;          ///< the same with aligned segments
  double stream_starts = 0;  ///< segments that do not continue the one before
  double lines_per_set = 0;  ///< in the sets that its addresses map to
  double segments = 1;       ///< contiguous runs
  double streams = 0;        ///< segments on different pages
  double pages = 0;
};

/// Per useful byte: bytes fetched in lines, and stream starts in bytes of bandwidth.
struct LineCost {
  double lines = 0, stream_starts = 0;
};

struct Moved {
  double bytes = 0, of_output = 0, stream_starts = 0;
  double worst = 0;  ///< bytes without the partly resident tile
};

/// Where the tiles of accesses lie in memory: runs, lines, sets and pages, from subscripts and strides.
class FootprintModel {
 public:
  FootprintModel(const ResolvedNest& view, const TileCounts& counts) : view_(view), counts_(counts) {}

  Footprint footprint(const Memory& cache, const AccessStream& a, int loops) const {
    const double size = element_bytes(a.access), elements = counts_.tile(a.access, loops);
    Footprint f;
    f.bytes = f.lines = elements * size;
    f.lines_per_set = elements * size / set_bytes(cache);
    f.pages = std::ceil(elements * size / page_bytes);
    const std::vector<Axis> memory_axes = axes(a, loops);
    if (memory_axes.empty() || cache.line <= 1) return f;
    const auto line = static_cast<double>(cache.line);
    // A row is a contiguous run: axes that the tile covers whole, and part of the next.
    double reached = 1, row = 1, sets = 0, farthest = 0, uneven = 1;
    // Bytes from the first to the last row of a group of rows less than a page apart; number of such groups.
    double between = 0, apart = 1;
    bool whole = true, aligned = true;
    for (std::size_t axis = memory_axes.size(); axis-- > 0;) {
      const auto [along, extent, pitch] = memory_axes[axis];
      whole = whole && pitch == reached;  // rows of a larger array are not contiguous
      if (whole) {
        row = along * pitch;
        sets = std::min(std::ceil(row * size / line) * line, set_bytes(cache));
      } else {
        const double places = std::min(along, set_bytes(cache) / power_of_two_gcd(set_bytes(cache), pitch * size));
        sets = std::min(sets * places, set_bytes(cache));
        uneven *= std::ceil(along / places) / (along / places);
      }
      if (!whole && along > 1 && farthest == 0) farthest = pitch;
      if (pitch * size < page_bytes)
        between += (along - 1) * pitch * size;
      else
        apart *= along;
      if (!whole && along > 1) aligned = aligned && std::fmod(pitch * size, line) == 0;
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
    f.pages = apart * (1 + between / page_bytes);
    if (!whole) f.streams = farthest * size >= page_bytes ? f.segments : std::min(f.segments, f.pages);
    return f;
  }

  double pages(const Memory& cache, const std::vector<AccessStream>& accesses, int loops) const {
    double total = 0;
    for (const AccessStream& a : accesses) total += footprint(cache, a, loops).pages;
    return total;
  }

  /// Do the steps of a loop continue along the rows of the tiles below it?
  bool runs_along(const AccessStream& a, int loop) const {
    const std::vector<AffineExpr>& index = access_of(view_.statement, a.access).index;
    const auto d = static_cast<std::size_t>(view_.loops[static_cast<std::size_t>(loop)].dim);
    if (index.empty() || !counts_.uses_loop(a.access, loop)) return false;
    if (!a.packed && share_dims(index))
      return std::abs(offset_of(a).coefficient(view_.statement.domain.dims[d].name)) == 1;
    const AffineExpr* row = &index.back();
    if (a.packed && !a.packed->digits.empty()) {
      const std::vector<Axis> all = axes(a, loop + 1);
      std::size_t last = all.size() - 1;
      while (last > 0 && all[last].along == all[last].extent) --last;
      row = &a.packed->digits[last].form;
    }
    return row->names().contains(view_.statement.domain.dims[d].name);
  }

  double element_bytes(int access) const { return bytes(tensor(access).dtype); }

  static double ways(const Memory& cache) { return cache.ways > 0 ? static_cast<double>(cache.ways) : default_ways; }

  /// Bytes of one way: a line in each set. The number of sets is a power of two.
  static double set_bytes(const Memory& cache) {
    double sets = 1;
    while (sets * 2 * ways(cache) * static_cast<double>(cache.line) <= static_cast<double>(cache.capacity)) sets *= 2;
    return sets * static_cast<double>(std::max<std::int64_t>(1, cache.line));
  }

 private:
  const Tensor& tensor(int access) const {
    return view_.kernel->tensors[access_of(view_.statement, access).tensor.index()];
  }

  /// Elements of one subscript that a tile spans.
  double span(const AffineExpr& e, const std::vector<std::int64_t>& tiles) const {
    double width = 1;
    for (const std::string& name : e.names()) {
      const int d = view_.statement.domain.find(name);
      const auto step = static_cast<double>(std::max<std::int64_t>(1, std::abs(e.coefficient(name))));
      if (d >= 0)
        width += step * static_cast<double>(std::max<std::int64_t>(0, tiles[static_cast<std::size_t>(d)] - 1));
    }
    return width;
  }

  /// Outermost first.
  std::vector<Axis> axes(const AccessStream& a, int loops) const {
    std::vector<Axis> result;
    const std::vector<std::int64_t> tiles = view_.tiles(loops);
    if (a.packed) {
      const std::vector<std::int64_t> whole = view_.tiles(a.packed->loops);
      for (const SplitDigit& digit : a.packed->digits) {
        const auto extent = [&](const std::vector<std::int64_t>& of) {
          return static_cast<double>(digit_extent(digit, static_cast<std::int64_t>(span(digit.form, of))));
        };
        result.push_back({extent(tiles), extent(whole), 1});
      }
      for (std::size_t axis = result.size(); axis-- > 1;)
        result[axis - 1].pitch = result[axis].pitch * result[axis].extent;
      return result;
    }
    const std::vector<AffineExpr>& index = access_of(view_.statement, a.access).index;
    if (share_dims(index)) return axes_of_dims(a, tiles);
    const std::vector<std::int64_t>& shape = tensor(a.access).shape;
    const std::vector<std::int64_t> strides = strides_of(tensor(a.access));
    for (std::size_t axis = 0; axis < index.size(); ++axis) {
      const auto extent = static_cast<double>(std::max<std::int64_t>(1, shape[axis]));
      result.push_back({std::min(span(index[axis], tiles), extent), extent, static_cast<double>(strides[axis])});
    }
    return result;
  }

  /// Does a dim occur in several subscripts? Its steps then move along several axes of memory at once.
  static bool share_dims(const std::vector<AffineExpr>& index) {
    std::set<std::string> seen;
    bool shared = false;
    for (const AffineExpr& e : index) {
      if (!e.is_linear()) return false;
      for (const std::string& name : e.names()) shared = !seen.insert(name).second || shared;
    }
    return shared;
  }

  AffineExpr offset_of(const AccessStream& a) const {
    return position(access_of(view_.statement, a.access).index, tensor(a.access));
  }

  /// Axes of subscripts that share dims: one for each dim. A diagonal of N x N is N elements at a pitch of N + 1.
  std::vector<Axis> axes_of_dims(const AccessStream& a, const std::vector<std::int64_t>& tiles) const {
    const AffineExpr offset = offset_of(a);
    std::vector<Axis> result;
    for (std::size_t d = 0; d < tiles.size(); ++d) {
      const Dim& dim = view_.statement.domain.dims[d];
      const auto pitch = static_cast<double>(std::abs(offset.coefficient(dim.name)));
      if (pitch > 0)
        result.push_back({static_cast<double>(std::max<std::int64_t>(1, tiles[d])),
                          static_cast<double>(std::max<std::int64_t>(1, dim.extent)), pitch});
    }
    std::stable_sort(result.begin(), result.end(), [](const Axis& x, const Axis& y) { return x.pitch > y.pitch; });
    if (result.empty() || result.back().pitch != 1) result.push_back({});
    return result;
  }

  /// The greatest common divisor of a power of two and any whole number.
  static double power_of_two_gcd(double power, double number) {
    double divisor = 1;
    while (divisor < power && std::fmod(number, 2 * divisor) == 0) divisor *= 2;
    return divisor;
  }

  const ResolvedNest& view_;
  const TileCounts& counts_;
};

/// Which tiles stay resident in a cache, and what the others cost to fetch again.
class CacheModel {
 public:
  CacheModel(const ResolvedNest& view, const TileCounts& counts)
      : view_(view), counts_(counts), layout_(view, counts) {}

  CacheTraffic into(const Memory& cache, const std::vector<AccessStream>& accesses, double bandwidth,
                    double instances) const {
    CacheTraffic all{0, 0, bandwidth, instances, 0, 0};
    for (const AccessStream& a : accesses) {
      const Moved moved = of_access(cache, accesses, a);
      all.bytes += moved.bytes;
      all.of_output += moved.of_output;
      all.stream_starts += moved.stream_starts;
      all.worst += moved.worst;
    }
    return all;
  }

 private:
  /// Conflict misses are counted per access: accesses do not evict each other out of their sets.
  /// Of a tile of the next outer loop with footprint F > capacity C the share C / F stays resident; `missing` is the
  /// rest, twice that where the tile itself conflicts.
  Moved of_access(const Memory& cache, const std::vector<AccessStream>& accesses, const AccessStream& a) const {
    const double capacity =
        cache.usable > 0 ? static_cast<double>(cache.usable) : default_usable * static_cast<double>(cache.capacity);
    const int all = static_cast<int>(view_.loops.size());
    int loops = 0;
    double missing = 0;  // share of the next outer tile that is not resident
    for (; loops < all; ++loops) {
      const double used = occupied(cache, accesses, a, loops);
      if (used <= capacity) break;
      const double pressure =
          layout_.footprint(cache, a, std::max(loops, a.fused_loops)).lines_per_set / layout_.ways(cache);
      missing = std::min(1.0, (1 - capacity / used) * (pressure > 1 && a.start.conflict > 0 ? 2 : 1));
    }
    const Moved here = moved(cache, accesses, a, loops),
                further_out = moved(cache, accesses, a, std::max(loops - 1, 0));
    const auto between = [&](double with, double without) { return missing * with + (1 - missing) * without; };
    return {between(here.bytes, further_out.bytes), between(here.of_output, further_out.of_output),
            between(here.stream_starts, further_out.stream_starts), missing > 0 ? here.bytes : further_out.bytes};
  }

  /// Capacity occupied by the tiles below some loops: all lines, or lines per set / ways of the cache where the lines
  /// of one access conflict.
  double occupied(const Memory& cache, const std::vector<AccessStream>& accesses, const AccessStream& one,
                  int loops) const {
    double total = 0, most = 0;
    for (const AccessStream& a : accesses) {
      if (loops > a.loops) continue;  // it stays in registers
      const Footprint f = layout_.footprint(cache, a, std::max(loops, a.fused_loops));
      total += f.bytes * a.copies;
      if (&a == &one && loops < a.loops)  // else it streams through once and evicts no lines of its own
        most = f.lines_per_set - f.bytes / layout_.set_bytes(cache);
    }
    if (most < 1) return total;
    const double lines_of_a_set = most + total / layout_.set_bytes(cache);  // other accesses are spread over all sets
    return std::max(total, static_cast<double>(cache.capacity) * lines_of_a_set / layout_.ways(cache));
  }

  /// Bytes into the cache if it holds the tiles below some loops; none if that is the whole nest, since programs run
  /// repeatedly (warm cache).
  Moved moved(const Memory& cache, const std::vector<AccessStream>& accesses, const AccessStream& a, int loops) const {
    const int at = std::min(loops, a.loops);
    // resident: the buffer of fused statements
    if (loops == 0 || (at <= a.fused_loops && a.fused_loops > 0)) return {};
    const double elements =
        counts_.moved(a.access, at, {}, true) * (a.access == 0 ? 2 : 1);  // write-allocate, then write-back
    const LineCost parts = line_cost(cache, accesses, a, at);
    const double once = elements * layout_.element_bytes(a.access) * a.copies, bytes = once * parts.lines;
    return {bytes, a.access == 0 ? bytes : 0, once * parts.stream_starts, bytes};
  }

  /// Bytes fetched and stream starts per useful byte. Lines stay resident for the next step of the innermost loop: a
  /// loop along the row uses them up.
  LineCost line_cost(const Memory& cache, const std::vector<AccessStream>& accesses, const AccessStream& a,
                     int loops) const {
    const Memory& nearest = view_.model->memory(a.nearest);
    const bool far = &cache != &nearest;
    const int outer = loops;
    int w = loops - 1;
    while (w >= 0 && !counts_.uses_loop(a.access, w)) --w;
    double started = 1, evicted = 0, conflicts = 0;
    const bool continues = w >= 0 && layout_.runs_along(a, w);
    if (continues && far && layout_.footprint(cache, a, loops).streams <= prefetch_streams(cache)) {
      loops = w;
    } else if (continues && !far) {
      started = 0, evicted = prefetches_evicted(cache, a, loops), conflicts = conflict_share(cache, a, loops);
      if (evicted == 0) loops = w;
    } else {
      while (w >= 0 && !layout_.runs_along(a, w)) --w;
      if (w >= 0) evicted = prefetches_evicted(nearest, a, w + 1), conflicts = conflict_share(nearest, a, w + 1);
      if (w >= 0 && !far)
        started = std::max(0.0, 1 - default_usable * tlb_entries(cache) / layout_.pages(cache, accesses, w + 1));
    }
    const Footprint f = layout_.footprint(cache, a, loops);
    const double all = std::max(1.0, counts_.tile(a.access, loops)) * layout_.element_bytes(a.access);
    const double lines = continues || prefetches_evicted(cache, a, loops) > 0 ? f.lines : fetched_lines(cache, f);
    const LineCost inner = far ? stream_overflow(cache, a, outer) : LineCost{};
    return {lines / all + std::max(conflicts * a.start.conflict * f.stream_starts / all, inner.lines),
            std::max(a.start.penalty(started, evicted) * f.stream_starts / all, inner.stream_starts)};
  }

  /// Without a loop along the row, the lines fetched with each other (`fetch`: adjacent-line prefetch) are not used.
  static double fetched_lines(const Memory& cache, const Footprint& f) {
    const auto together = static_cast<double>(std::max(cache.fetch, cache.line));
    return f.segments > 1 ? f.segments * std::ceil(f.lines / f.segments / together) * together : f.lines;
  }

  static double tlb_entries(const Memory& cache) {
    return cache.pages > 0 ? static_cast<double>(cache.pages) : default_tlb_entries;
  }

  /// Share of prefetched lines evicted by set conflicts before use: 2 (lines per set / ways - 1), so none while a set
  /// has room, all at 1.5 times its ways. Prefetched lines map to the same sets as those in use.
  double prefetches_evicted(const Memory& cache, const AccessStream& a, int loops) const {
    return std::clamp(2 * (layout_.footprint(cache, a, loops).lines_per_set / layout_.ways(cache) - 1), 0.0, 1.0);
  }

  /// The same, weighted by how unevenly sets are used: 0 for an even spread, 1 where the sets in use hold twice the
  /// average.
  double conflict_share(const Memory& cache, const AccessStream& a, int loops) const {
    const Footprint f = layout_.footprint(cache, a, loops);
    return prefetches_evicted(cache, a, loops) *
           std::clamp(f.lines_per_set * layout_.set_bytes(cache) / f.lines - 1, 0.0, 1.0);
  }

  /// Cost per useful byte of segments read by an inner loop: more streams than the hardware prefetcher tracks, or
  /// conflict misses in the nearest cache.
  LineCost stream_overflow(const Memory& cache, const AccessStream& a, int loops) const {
    const Memory& nearest = view_.model->memory(a.nearest);
    LineCost most;
    const auto line = static_cast<double>(cache.line);
    for (int inner = loops + 1; inner <= a.loops; ++inner) {
      if (!counts_.uses_loop(a.access, inner - 1)) continue;
      const Footprint f = layout_.footprint(cache, a, inner);
      const double segment =
          std::max(line, counts_.tile(a.access, inner) * layout_.element_bytes(a.access) / f.segments);
      most.lines = std::max(most.lines, conflict_share(nearest, a, inner) * a.start.conflict / segment);
      if (f.streams > prefetch_streams(cache))
        most.stream_starts = std::max(most.stream_starts, a.start.penalty(1, 0) / segment);
    }
    return most;
  }

  const ResolvedNest& view_;
  const TileCounts& counts_;
  const FootprintModel layout_;
};

/// Layouts with digits of the instruction, which replicate elements, are not analysed.
Packed packed_copy(const StagedTile& s) {
  Packed copy{{}, s.loops};
  for (const LayoutDigit& digit : s.stage.layout) {
    const auto split = split_digit(digit.index);
    const auto name = split ? split->form.as_dim() : std::nullopt;
    if (!split || (name && name->front() == '$')) return {{}, s.loops};
    copy.digits.push_back(*split);
  }
  return copy;
}

/// Share of the rows covered by software prefetch: all but the prefetch distance at the start of each trip of the loop.
double prefetched_share(const ResolvedNest& view, const TileCounts& counts, int access) {
  double share = 0;
  for (const Prefetch& prefetch : view.prefetches)
    if (prefetch.access == access && prefetch.loops > 0)
      share = std::max(share, 1 - prefetch.steps / std::max(1.0, static_cast<double>(counts.trip(prefetch.loops - 1))));
  return std::max(0.0, share);
}

/// A write-only output with non-temporal stores: its links bypass every cache.
bool bypasses_caches(const ResolvedNest& view, const Transfer& t) {
  const auto links = links_of(*view.model, view.via(t.stage), t.to, t.from);
  return t.elements_in <= 0 && !links.empty() &&
         std::all_of(links.begin(), links.end(), [&](LinkId l) { return view.model->link(l).via.empty(); });
}

/// Destination of an operand: for scalar code the registers that loads reach through caches.
MemoryId destination_of(const ResolvedNest& view, const Transfer& t) {
  if (view.instruction) return t.to;
  for (const Link& link : view.model->links())
    if (link.from == view.model->home() && !link.via.empty() && view.model->memory(link.to).is_register())
      return link.to;
  return {};
}

}  // namespace

double StreamStart::penalty(double started, double evicted) const {
  return row * (conflict > 0 ? started : std::max(started, evicted));
}

StreamStart stream_start(const HardwareModel& model, MemoryId cache, bool nearest) {
  for (const Link& link : model.links())
    if (link.to == cache && link.begin >= 0 && link.bandwidth > 0)
      return {link.begin * link.bandwidth, link.latency / 4 * link.bandwidth};
  const auto line = static_cast<double>(std::max<std::int64_t>(1, model.memory(cache).line));
  return {line * (nearest ? 2 : 8), 0};
}

void add_cache_traffic(const ResolvedNest& view, const TileCounts& counts, Traffic& traffic) {
  std::map<MemoryId, std::vector<AccessStream>> streams;
  std::map<MemoryId, double> bandwidth;
  const int all = static_cast<int>(view.loops.size());
  for (const Transfer& t : traffic.transfers) {
    const MemoryId to = destination_of(view, t);
    if (!to.valid() || t.from == to) continue;
    if (t.stage >= 0 && t.elements_in + t.elements_out <= 0) continue;  // fused in registers
    std::optional<Packed> packed;
    int fused_loops = 0;
    for (const StagedTile& s : view.stages) {
      if (s.access != t.access || s.memory != t.from) continue;
      if (!s.stage.layout.empty()) packed = packed_copy(s);
      // other accesses have their own source
      if (!s.stage.from.empty() || !s.stage.then.empty()) fused_loops = std::max(fused_loops, s.loops);
    }
    // An output is write-allocated over the links out of memory, and not at all if its stores bypass the caches.
    if (view.instruction && t.access == 0 && bypasses_caches(view, t)) continue;
    const double prefetched = prefetched_share(view, counts, t.access);
    for (LinkId l : links_between(*view.model, t.from, to)) {
      const Link& link = view.model->link(l);
      double rate = link.bandwidth;
      for (std::size_t i = link.via.size(); i-- > 0;) {  // innermost first
        streams[link.via[i]].push_back(
            {t.access, t.stage < 0 ? all : view.stages[static_cast<std::size_t>(t.stage)].loops, fused_loops, packed,
             t.copies_at, link.via.back(),
             stream_start(*view.model, link.via[i], i + 1 == link.via.size()).with_prefetch(prefetched)});
        bandwidth[link.via[i]] = std::max(bandwidth[link.via[i]], rate *= outward_share);
      }
    }
  }
  const CacheModel model(view, counts);
  for (const auto& [cache, accesses] : streams) {
    double rate = bandwidth[cache];
    for (const Link& l : view.model->links())
      if (l.to == cache && l.bandwidth > 0) rate = l.bandwidth;
    traffic.caches[cache] = model.into(view.model->memory(cache), accesses, rate, instances_of(view, counts, cache));
  }
}

}  // namespace isamap
