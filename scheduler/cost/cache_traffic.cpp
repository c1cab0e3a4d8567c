// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/cache_traffic.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>

#include "scheduler/cost/memory_footprint.h"
#include "scheduler/cost/scalar_work.h"
#include "scheduler/cost/tile_uses.h"
#include "scheduler/nest/instruction_timing.h"

namespace isamap {

namespace {

/// One access on its way through a cache.
struct AccessStream {
  int access = 0;
  int loops = 0;        ///< reloaded when the tile below these loops is replaced: below them it is in registers
  int fused_loops = 0;  ///< loops above the buffer that fused statements share; 0: not fused
  int form = 0;         ///< in the footprint model: packed or not
  double copies = 1;    ///< of each element (replicated layouts)
  MemoryId nearest;     ///< innermost cache on the path
  StreamStart start;
};

using AccessStreams = boost::container::small_vector<AccessStream, 4>;

/// Per useful byte: bytes fetched in lines, and stream starts in bytes of bandwidth.
struct LineCost {
  double lines = 0, stream_starts = 0;
};

struct Moved {
  double bytes = 0, of_output = 0, stream_starts = 0;
  double worst = 0;  ///< bytes without the partly resident tile
};

/// Which tiles stay resident in a cache, and what the others cost to fetch again.
class CacheModel {
 public:
  CacheModel(const ResolvedNest& view, const TileCounts& counts, FootprintModel& layout)
      : view_(view), counts_(counts), timing_(view.model->timing), layout_(layout) {}

  CacheTraffic into(MemoryId cache, const AccessStreams& accesses, double bandwidth, double instances) const {
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
  /// rest, `conflict_growth` times that where the tile itself conflicts.
  Moved of_access(MemoryId cache, const AccessStreams& accesses, const AccessStream& a) const {
    const Memory& memory = view_.model->memory(cache);
    const double capacity =
        memory.usable > 0 ? static_cast<double>(memory.usable) : timing_.usable * static_cast<double>(memory.capacity);
    const int all = static_cast<int>(view_.loops.size());
    int loops = 0;
    double missing = 0;  // share of the next outer tile that is not resident
    for (; loops < all; ++loops) {
      const double used = occupied(cache, accesses, a, loops);
      if (used <= capacity) break;
      const double pressure =
          layout_.footprint(cache, a.form, std::max(loops, a.fused_loops)).lines_per_set / layout_.ways(cache);
      missing =
          std::min(1.0, (1 - capacity / used) * (pressure > 1 && a.start.conflict > 0 ? timing_.conflict_growth : 1));
    }
    const Moved here = moved(cache, accesses, a, loops),
                further_out = moved(cache, accesses, a, std::max(loops - 1, 0));
    const auto between = [&](double with, double without) { return missing * with + (1 - missing) * without; };
    return {between(here.bytes, further_out.bytes), between(here.of_output, further_out.of_output),
            between(here.stream_starts, further_out.stream_starts), missing > 0 ? here.bytes : further_out.bytes};
  }

  /// Capacity occupied by the tiles below some loops: all lines, or lines per set / ways of the cache where the lines
  /// of one access conflict.
  double occupied(MemoryId cache, const AccessStreams& accesses, const AccessStream& one, int loops) const {
    double total = 0, most = 0;
    for (const AccessStream& a : accesses) {
      if (loops > a.loops) continue;  // it stays in registers
      const Footprint& f = layout_.footprint(cache, a.form, std::max(loops, a.fused_loops));
      total += f.bytes * a.copies;
      if (&a == &one && loops < a.loops)  // else it streams through once and evicts no lines of its own
        most = f.lines_per_set - f.bytes / layout_.set_bytes(cache);
    }
    if (most < 1) return total;
    const double lines_of_a_set = most + total / layout_.set_bytes(cache);  // other accesses are spread over all sets
    return std::max(total,
                    static_cast<double>(view_.model->memory(cache).capacity) * lines_of_a_set / layout_.ways(cache));
  }

  /// Constants that others have evicted since the last run.
  bool is_cold(MemoryId cache, int access) const {
    return view_.kernel->tensors[access_of(view_.statement, access).tensor.index()].constant &&
           timing_.between_runs > static_cast<double>(view_.model->memory(cache).capacity);
  }

  /// Bytes into the cache if it holds the tiles below some loops; none if that is the whole nest, since programs run
  /// repeatedly (warm cache), but for constants that are cold.
  Moved moved(MemoryId cache, const AccessStreams& accesses, const AccessStream& a, int loops) const {
    const int at = std::min(loops, a.loops);
    // resident: the buffer of fused statements
    if ((loops == 0 && !is_cold(cache, a.access)) || (at <= a.fused_loops && a.fused_loops > 0)) return {};
    const double elements =
        counts_.moved(a.access, at, {}, true) * (a.access == 0 ? 2 : 1);  // write-allocate, then write-back
    const LineCost parts = line_cost(cache, accesses, a, at);
    const double once = elements * layout_.element_bytes(a.access) * a.copies, bytes = once * parts.lines;
    return {bytes, a.access == 0 ? bytes : 0, once * parts.stream_starts, bytes};
  }

  /// Bytes fetched and stream starts per useful byte. Lines stay resident for the next step of the innermost loop: a
  /// loop along the row uses them up.
  LineCost line_cost(MemoryId cache, const AccessStreams& accesses, const AccessStream& a, int loops) const {
    const MemoryId nearest = a.nearest;
    const bool far = cache != nearest;
    const int outer = loops;
    int w = loops - 1;
    while (w >= 0 && !counts_.uses_loop(a.access, w)) --w;
    double started = 1, evicted = 0, conflicts = 0;
    const bool continues = w >= 0 && layout_.runs_along(a.form, w);
    if (continues && far &&
        layout_.footprint(cache, a.form, loops).streams <= prefetch_streams(view_.model->memory(cache), timing_)) {
      loops = w;
    } else if (continues && !far) {
      started = 0, evicted = prefetches_evicted(cache, a, loops), conflicts = conflict_share(cache, a, loops);
      if (evicted == 0) loops = w;
    } else {
      while (w >= 0 && !layout_.runs_along(a.form, w)) --w;
      if (w >= 0) evicted = prefetches_evicted(nearest, a, w + 1), conflicts = conflict_share(nearest, a, w + 1);
      if (w >= 0 && !far)
        started = std::max(0.0, 1 - timing_.usable * tlb_entries(cache) / pages(cache, accesses, w + 1));
    }
    const Footprint& f = layout_.footprint(cache, a.form, loops);
    const double all = std::max(1.0, counts_.tile(a.access, loops)) * layout_.element_bytes(a.access);
    const double lines = continues || prefetches_evicted(cache, a, loops) > 0 ? f.lines : fetched_lines(cache, f);
    const LineCost inner = far ? stream_overflow(cache, a, outer) : LineCost{};
    return {lines / all + std::max(conflicts * a.start.conflict * f.stream_starts / all, inner.lines),
            std::max(a.start.penalty(started, evicted) * f.stream_starts / all, inner.stream_starts)};
  }

  /// Without a loop along the row, the lines fetched with each other (`fetch`: adjacent-line prefetch) are not used.
  double fetched_lines(MemoryId id, const Footprint& f) const {
    const Memory& cache = view_.model->memory(id);
    const auto together = static_cast<double>(std::max(cache.fetch, cache.line));
    return f.segments > 1 ? f.segments * std::ceil(f.lines / f.segments / together) * together : f.lines;
  }

  double pages(MemoryId cache, const AccessStreams& accesses, int loops) const {
    double total = 0;
    for (const AccessStream& a : accesses) total += layout_.footprint(cache, a.form, loops).pages;
    return total;
  }

  double tlb_entries(MemoryId id) const {
    const Memory& cache = view_.model->memory(id);
    return cache.pages > 0 ? static_cast<double>(cache.pages) : timing_.tlb_entries;
  }

  /// Share of prefetched lines evicted by set conflicts before use: eviction x (lines per set / ways - 1), so none
  /// while a set has room. Prefetched lines map to the same sets as those in use.
  double prefetches_evicted(MemoryId cache, const AccessStream& a, int loops) const {
    return std::clamp(
        timing_.eviction * (layout_.footprint(cache, a.form, loops).lines_per_set / layout_.ways(cache) - 1), 0.0, 1.0);
  }

  /// The same, weighted by how unevenly sets are used: 0 for an even spread, 1 where the sets in use hold twice the
  /// average.
  double conflict_share(MemoryId cache, const AccessStream& a, int loops) const {
    const Footprint& f = layout_.footprint(cache, a.form, loops);
    return prefetches_evicted(cache, a, loops) *
           std::clamp(f.lines_per_set * layout_.set_bytes(cache) / f.lines - 1, 0.0, 1.0);
  }

  /// Cost per useful byte of segments read by an inner loop: more streams than the hardware prefetcher tracks, or
  /// conflict misses in the nearest cache.
  LineCost stream_overflow(MemoryId cache, const AccessStream& a, int loops) const {
    const MemoryId nearest = a.nearest;
    LineCost most;
    const auto line = static_cast<double>(view_.model->memory(cache).line);
    for (int inner = loops + 1; inner <= a.loops; ++inner) {
      if (!counts_.uses_loop(a.access, inner - 1)) continue;
      const Footprint& f = layout_.footprint(cache, a.form, inner);
      const double segment =
          std::max(line, counts_.tile(a.access, inner) * layout_.element_bytes(a.access) / f.segments);
      most.lines = std::max(most.lines, conflict_share(nearest, a, inner) * a.start.conflict / segment);
      if (f.streams > prefetch_streams(view_.model->memory(cache), timing_))
        most.stream_starts = std::max(most.stream_starts, a.start.penalty(1, 0) / segment);
    }
    return most;
  }

  const ResolvedNest& view_;
  const TileCounts& counts_;
  const TimingParameters& timing_;
  FootprintModel& layout_;
};

/// Share of the rows covered by software prefetch: all but the prefetch distance at the start of each trip of the loop.
double prefetched_share(const ResolvedNest& view, const TileCounts& counts, int access) {
  double share = 0;
  for (const Prefetch& prefetch : view.prefetches)
    if (prefetch.access == access && prefetch.loops > 0 && !prefetch.spread)
      share = std::max(share, 1 - prefetch.steps / std::max(1.0, static_cast<double>(counts.trip(prefetch.loops - 1))));
  return std::max(0.0, share);
}

/// A write-only output with non-temporal stores: its links bypass every cache.
bool bypasses_caches(const ResolvedNest& view, const Transfer& t) {
  const auto links = links_of(view, t.stage, t.to, t.from);
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

/// Of one executed point of a scatter: a line at most for each access, elements of it where rows are contiguous.
double bytes_of_scattered_point(const ResolvedNest& view, const TileCounts& counts, double line) {
  const int inner = innermost_scalar_loop(view, scatter_of(view.statement));
  const double steps = inner < 0 ? 1 : std::max(1.0, static_cast<double>(counts.trip(inner)));
  double sum = 0;
  for (int a = 0; a < access_count(view.statement); ++a) {
    const Access& access = access_of(view.statement, a);
    const Tensor& tensor = view.kernel->tensors[access.tensor.index()];
    double bytes_between = line;
    if (inner >= 0) {
      const auto dim = static_cast<std::size_t>(view.loops[static_cast<std::size_t>(inner)].dim);
      const AffineExpr from = position(access.index, tensor);
      const std::string& name = view.statement.domain.dims[dim].name;
      if (from.is_linear()) bytes_between = std::abs(from.coefficient(name)) * static_cast<double>(bytes(tensor.dtype));
    }
    sum += std::min(line, bytes_between + line / steps);
  }
  return sum;
}

}  // namespace

double StreamStart::penalty(double started, double evicted) const {
  return row * (conflict > 0 ? started : std::max(started, evicted));
}

StreamStart stream_start(const HardwareModel& model, MemoryId cache, bool nearest) {
  for (const Link& link : model.links())
    if (link.to == cache && link.begin >= 0 && link.bandwidth > 0)
      return {link.begin * link.bandwidth, link.latency * model.timing.conflict_latency * link.bandwidth};
  const auto line = static_cast<double>(std::max<std::int64_t>(1, model.memory(cache).line));
  return {line * (nearest ? model.timing.start_nearest : model.timing.start_farther), 0};
}

void add_cache_traffic(const ResolvedNest& view, const TileCounts& counts, Traffic& traffic) {
  const TimingParameters& timing = view.model->timing;
  Traffic::ById<MemoryId, AccessStreams> streams;
  Traffic::ById<MemoryId, double> bandwidth;
  FootprintModel layout(view, counts);
  const int all = static_cast<int>(view.loops.size());
  for (const Transfer& t : traffic.transfers) {
    const MemoryId to = destination_of(view, t);
    if (!to.valid() || t.from == to) continue;
    if (t.stage >= 0 && t.elements_in + t.elements_out <= 0) continue;  // fused in registers
    std::optional<PackedLayout> packed;
    int fused_loops = 0;
    for (const StagedTile& s : view.stages) {
      if (s.access != t.access || s.memory != t.from) continue;
      if (!s.stage.layout.empty()) packed = PackedLayout{s.facts.get(), s.loops};
      // other accesses have their own source
      if (!s.stage.from.empty() || !s.stage.then.empty()) fused_loops = std::max(fused_loops, s.loops);
    }
    // An output is write-allocated over the links out of memory, and not at all if its stores bypass the caches.
    if (view.instruction && t.access == 0 && bypasses_caches(view, t)) continue;
    const double prefetched = prefetched_share(view, counts, t.access);
    int form = -1;
    for (LinkId l : links_between(*view.model, t.from, to)) {
      const Link& link = view.model->link(l);
      double rate = link.bandwidth;
      for (std::size_t i = link.via.size(); i-- > 0;) {  // innermost first
        if (form < 0) form = layout.add(t.access, packed);
        streams[link.via[i]].push_back(
            {t.access, t.stage < 0 ? all : view.stages[static_cast<std::size_t>(t.stage)].loops, fused_loops, form,
             t.copies_at, link.via.back(),
             stream_start(*view.model, link.via[i], i + 1 == link.via.size()).with_prefetch(prefetched, timing)});
        bandwidth[link.via[i]] = std::max(bandwidth[link.via[i]], rate *= timing.outward_bandwidth);
      }
    }
  }
  const CacheModel model(view, counts, layout);
  const double executed = executed_share(view, counts);
  for (const auto& [cache, accesses] : streams) {
    double rate = bandwidth[cache];
    for (const Link& l : view.model->links())
      if (l.to == cache && l.bandwidth > 0) rate = l.bandwidth;
    CacheTraffic& into = traffic.caches[cache];
    into = model.into(cache, accesses, rate, instances_of(view, counts, cache));
    if (executed == 1 || into.bytes == 0) continue;
    const auto line = static_cast<double>(std::max<std::int64_t>(1, view.model->memory(cache).line));
    const double share =
        std::min(1.0, counts.visits(all) * executed * bytes_of_scattered_point(view, counts, line) / into.bytes);
    for (double* part : {&into.bytes, &into.of_output, &into.stream_starts, &into.worst}) *part *= share;
  }
}

}  // namespace isamap
