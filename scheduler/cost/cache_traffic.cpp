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

constexpr double usable = 0.75;     ///< of a cache, where a description does not say: the rest is other data
constexpr double default_ways = 8;  ///< lines of a set, where a description does not say
/// Descriptions that give no link into a cache: each step outwards passes a quarter. 128 B/cycle of loads then means
/// 32 B/cycle from the second cache and 8 B/cycle from memory, as measured on a current server core.
constexpr double outward = 0.25;

constexpr double page = 4096;
/// Pages whose places in memory a core has at hand, where a description does not say; to begin a row of another one is
/// what costs near by (the same manual on first-level data translation).
constexpr double pages_at_hand = 64;

/// A packed copy that an access reads.
struct Packed {
  std::vector<SplitDigit> digits;  ///< empty: neighbours in use are taken to be neighbours in memory
  int loops = 0;                   ///< it holds the tile below these
};

struct Passing {
  int access = 0;
  int loops = 0;  ///< it passes as often as the tile below these is replaced, not more
  int own = 0;    ///< handed from statement to statement below so many loops, in one place; 0: it is not
  std::optional<Packed> packed;
  double copies = 1;  ///< of each element there
  MemoryId nearest;   ///< cache of the core on that way
  StreamStart begin;
};

/// What a tile spans of an axis of memory, and what lies there, in elements; from one to the next.
struct Axis {
  double along = 1, extent = 1, pitch = 1;
};

/// How an access lies in memory below some loops.
struct Footprint {
  double bytes = 0;    ///< in whole lines, one more where a row does not follow the one before
  double lines = 0;    ///< the same, where rows begin at lines
  double begins = 0;   ///< of rows that do not follow the one before
  double crowded = 0;  ///< lines for each set that it can use
  double pieces = 1;   ///< of rows
  double rows = 0;     ///< on pages of their own
  double pages = 0;
};

struct LineParts {
  double lines = 0, begun = 0;  ///< bytes
};

struct Moved {
  double bytes = 0, of_output = 0, begun = 0;
  double most = 0;  ///< bytes, if nothing that is kept in part were
};

class CacheModel {
 public:
  CacheModel(const ResolvedNest& view, const TileCounts& counts) : view_(view), counts_(counts) {}

  CacheTraffic into(const Memory& cache, const std::vector<Passing>& accesses, double bandwidth,
                    double instances) const {
    CacheTraffic all{0, 0, bandwidth, instances, 0, 0};
    for (const Passing& a : accesses) {
      const Moved moved = of_access(cache, accesses, a);
      all.bytes += moved.bytes;
      all.of_output += moved.of_output;
      all.begun += moved.begun;
      all.most += moved.most;
    }
    return all;
  }

 private:
  /// Each access by itself: lines that conflict in few sets drive one another out, not those that lie elsewhere.
  Moved of_access(const Memory& cache, const std::vector<Passing>& accesses, const Passing& a) const {
    const double capacity =
        cache.usable > 0 ? static_cast<double>(cache.usable) : usable * static_cast<double>(cache.capacity);
    const int all = static_cast<int>(view_.loops.size());
    int loops = 0;
    double missing = 0;  // of what the loop outside would like to keep
    for (; loops < all; ++loops) {
      const double taken = needed(cache, accesses, a, loops);
      if (taken <= capacity) break;
      const double crowding = footprint(cache, a, std::max(loops, a.own)).crowded / ways(cache);
      missing = std::min(1.0, (1 - capacity / taken) * (crowding > 1 && a.begin.crowded > 0 ? 2 : 1));
    }
    const Moved here = moved(cache, accesses, a, loops),
                further_out = moved(cache, accesses, a, std::max(loops - 1, 0));
    const auto between = [&](double with, double without) { return missing * with + (1 - missing) * without; };
    return {between(here.bytes, further_out.bytes), between(here.of_output, further_out.of_output),
            between(here.begun, further_out.begun), missing > 0 ? here.bytes : further_out.bytes};
  }

  /// Capacity that what stands below some loops takes: all lines, or more where many of those of one access fall into
  /// few sets.
  double needed(const Memory& cache, const std::vector<Passing>& accesses, const Passing& one, int loops) const {
    double total = 0, most = 0;
    for (const Passing& a : accesses) {
      if (loops > a.loops) continue;  // it is in registers all the while
      const Footprint f = footprint(cache, a, std::max(loops, a.own));
      total += f.bytes * a.copies;
      if (&a == &one && loops < a.loops)  // else it passes once, and drives out no lines of its own
        most = f.crowded - f.bytes / set_bytes(cache);
    }
    if (most < 1) return total;
    const double lines_of_a_set = most + total / set_bytes(cache);  // the others lie anywhere
    return std::max(total, static_cast<double>(cache.capacity) * lines_of_a_set / ways(cache));
  }

  static double ways(const Memory& cache) { return cache.ways > 0 ? static_cast<double>(cache.ways) : default_ways; }

  /// A line in each set; sets are a power of two.
  static double set_bytes(const Memory& cache) {
    double sets = 1;
    while (sets * 2 * ways(cache) * static_cast<double>(cache.line) <= static_cast<double>(cache.capacity)) sets *= 2;
    return sets * static_cast<double>(std::max<std::int64_t>(1, cache.line));
  }

  /// Bytes of an access into the cache when it keeps what stands below some loops: none if that is everything, since
  /// programs run over and over.
  Moved moved(const Memory& cache, const std::vector<Passing>& accesses, const Passing& a, int loops) const {
    const int at = std::min(loops, a.loops);
    if (loops == 0 || (at <= a.own && a.own > 0)) return {};  // what the cache keeps is that place
    const double elements =
        counts_.moved(a.access, at, {}, true) * (a.access == 0 ? 2 : 1);  // results are written back
    const LineParts parts = part_of_lines(cache, accesses, a, at);
    const double once = elements * element_bytes(a.access) * a.copies, bytes = once * parts.lines;
    return {bytes, a.access == 0 ? bytes : 0, once * parts.begun, bytes};
  }

  const Tensor& tensor(int access) const {
    return view_.kernel->tensors[access_of(view_.statement, access).tensor.index()];
  }
  double element_bytes(int access) const { return bytes(tensor(access).dtype); }

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

  /// Bytes that come for each byte in use, and those for which rows are begun. Lines stay for the next step of the
  /// innermost loop: one that runs along them uses them up.
  LineParts part_of_lines(const Memory& cache, const std::vector<Passing>& accesses, const Passing& a,
                          int loops) const {
    const Memory& nearest = view_.model->memory(a.nearest);
    const bool far = &cache != &nearest;
    const int outer = loops;
    int w = loops - 1;
    while (w >= 0 && !counts_.uses_loop(a.access, w)) --w;
    double anew = 1, lost = 0, crowded = 0;
    const bool goes_on = w >= 0 && runs_along(a, w);
    if (goes_on && far && footprint(cache, a, loops).rows <= row_streams(cache)) {
      loops = w;
    } else if (goes_on && !far) {
      anew = 0, lost = prefetches_evicted(cache, a, loops), crowded = conflict_share(cache, a, loops);
      if (lost == 0) loops = w;
    } else {
      while (w >= 0 && !runs_along(a, w)) --w;
      if (w >= 0) lost = prefetches_evicted(nearest, a, w + 1), crowded = conflict_share(nearest, a, w + 1);
      if (w >= 0 && !far) anew = std::max(0.0, 1 - usable * at_hand(cache) / pages(cache, accesses, w + 1));
    }
    const Footprint f = footprint(cache, a, loops);
    const double all = std::max(1.0, counts_.tile(a.access, loops)) * element_bytes(a.access);
    const double lines = goes_on || prefetches_evicted(cache, a, loops) > 0 ? f.lines : with_neighbours(cache, f);
    const LineParts inner = far ? stream_overflow(cache, a, outer) : LineParts{};
    return {lines / all + std::max(crowded * a.begin.crowded * f.begins / all, inner.lines),
            std::max(a.begin.of(anew, lost) * f.begins / all, inner.begun)};
  }

  /// Where no step goes on along the rows, lines that come with others are not used.
  static double with_neighbours(const Memory& cache, const Footprint& f) {
    const auto together = static_cast<double>(std::max(cache.fetch, cache.line));
    return f.pieces > 1 ? f.pieces * std::ceil(f.lines / f.pieces / together) * together : f.lines;
  }

  static double at_hand(const Memory& cache) {
    return cache.pages > 0 ? static_cast<double>(cache.pages) : pages_at_hand;
  }

  /// Lines that are fetched ahead of the next step lie in sets as crowded as those in use. What part of them is gone
  /// before it is used: none while a set has room for them, everything where it would need half as much again.
  double prefetches_evicted(const Memory& cache, const Passing& a, int loops) const {
    return std::clamp(2 * (footprint(cache, a, loops).crowded / ways(cache) - 1), 0.0, 1.0);
  }

  /// The same, where these sets hold twice as many lines as if all sets held equally many.
  double conflict_share(const Memory& cache, const Passing& a, int loops) const {
    const Footprint f = footprint(cache, a, loops);
    return prefetches_evicted(cache, a, loops) * std::clamp(f.crowded * set_bytes(cache) / f.lines - 1, 0.0, 1.0);
  }

  /// What pieces of rows cost, for each byte in use, that runs over further in take first: of more rows than are
  /// followed, or of rows that crowd sets of the nearest cache.
  LineParts stream_overflow(const Memory& cache, const Passing& a, int loops) const {
    const Memory& nearest = view_.model->memory(a.nearest);
    LineParts most;
    const auto line = static_cast<double>(cache.line);
    for (int inner = loops + 1; inner <= a.loops; ++inner) {
      if (!counts_.uses_loop(a.access, inner - 1)) continue;
      const Footprint f = footprint(cache, a, inner);
      const double piece = std::max(line, counts_.tile(a.access, inner) * element_bytes(a.access) / f.pieces);
      most.lines = std::max(most.lines, conflict_share(nearest, a, inner) * a.begin.crowded / piece);
      if (f.rows > row_streams(cache)) most.begun = std::max(most.begun, a.begin.of(1, 0) / piece);
    }
    return most;
  }

  /// Do the steps of a loop go on along the rows of the tiles below it?
  bool runs_along(const Passing& a, int loop) const {
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

  /// Outermost first.
  std::vector<Axis> axes(const Passing& a, int loops) const {
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

  /// Is a dim in several subscripts? Its steps then move along several axes of memory at once.
  static bool share_dims(const std::vector<AffineExpr>& index) {
    std::set<std::string> seen;
    bool shared = false;
    for (const AffineExpr& e : index) {
      if (!e.is_linear()) return false;
      for (const std::string& name : e.names()) shared = !seen.insert(name).second || shared;
    }
    return shared;
  }

  AffineExpr offset_of(const Passing& a) const {
    return position(access_of(view_.statement, a.access).index, tensor(a.access));
  }

  /// Where subscripts share dims what lies at one distance are the steps of a dim: a diagonal of N x N is N elements,
  /// N + 1 apart.
  std::vector<Axis> axes_of_dims(const Passing& a, const std::vector<std::int64_t>& tiles) const {
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

  double pages(const Memory& cache, const std::vector<Passing>& accesses, int loops) const {
    double total = 0;
    for (const Passing& a : accesses) total += footprint(cache, a, loops).pages;
    return total;
  }

  Footprint footprint(const Memory& cache, const Passing& a, int loops) const {
    const double size = element_bytes(a.access), elements = counts_.tile(a.access, loops);
    Footprint f;
    f.bytes = f.lines = elements * size;
    f.crowded = elements * size / set_bytes(cache);
    f.pages = std::ceil(elements * size / page);
    const std::vector<Axis> lying = axes(a, loops);
    if (lying.empty() || cache.line <= 1) return f;
    const auto line = static_cast<double>(cache.line);
    // A row is what lies in one piece: axes that the tile takes whole, and part of the next.
    double reached = 1, row = 1, sets = 0, farthest = 0, uneven = 1;
    double between = 0,
           apart = 1;  // bytes from first to last, as long as rows are less than a page apart; how many of these
    bool whole = true, aligned = true;
    for (std::size_t axis = lying.size(); axis-- > 0;) {
      const auto [along, extent, pitch] = lying[axis];
      whole = whole && pitch == reached;  // rows of a larger array do not follow each other
      if (whole) {
        row = along * pitch;
        sets = std::min(std::ceil(row * size / line) * line, set_bytes(cache));
      } else {
        const double places = std::min(along, set_bytes(cache) / common(set_bytes(cache), pitch * size));
        sets = std::min(sets * places, set_bytes(cache));
        uneven *= std::ceil(along / places) / (along / places);
      }
      if (!whole && along > 1 && farthest == 0) farthest = pitch;
      if (pitch * size < page)
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
    f.begins = whole ? 0 : elements / row;
    f.crowded = elements / row * lines * line / sets * uneven;
    f.pieces = elements / row;
    f.pages = apart * (1 + between / page);
    if (!whole) f.rows = farthest * size >= page ? f.pieces : std::min(f.pieces, f.pages);
    return f;
  }

  /// The greatest common divisor of a power of two and any whole number.
  static double common(double power, double number) {
    double divisor = 1;
    while (divisor < power && std::fmod(number, 2 * divisor) == 0) divisor *= 2;
    return divisor;
  }

  const ResolvedNest& view_;
  const TileCounts& counts_;
};

/// Digits of the instruction, of which a copy holds several, are not looked into.
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

/// The part of the rows that is asked for ahead: all but what the first steps of each round of the loop need.
double asked_part(const ResolvedNest& view, const TileCounts& counts, int access) {
  double part = 0;
  for (const Prefetch& asked : view.prefetches)
    if (asked.access == access && asked.loops > 0)
      part = std::max(part, 1 - asked.steps / std::max(1.0, static_cast<double>(counts.trip(asked.loops - 1))));
  return std::max(0.0, part);
}

/// An output of which nothing is read, stored over links that no cache stands on.
bool passes_caches(const ResolvedNest& view, const Transfer& t) {
  const auto links = links_of(*view.model, view.via(t.stage), t.to, t.from);
  return t.elements_in <= 0 && !links.empty() &&
         std::all_of(links.begin(), links.end(), [&](LinkId l) { return view.model->link(l).via.empty(); });
}

/// Where operands of calls go to; those of scalar code into registers that loads through caches reach.
MemoryId taken_to(const ResolvedNest& view, const Transfer& t) {
  if (view.instruction) return t.to;
  for (const Link& link : view.model->links())
    if (link.from == view.model->home() && !link.via.empty() && view.model->memory(link.to).is_register())
      return link.to;
  return {};
}

}  // namespace

double StreamStart::of(double anew, double lost) const { return row * (crowded > 0 ? anew : std::max(anew, lost)); }

StreamStart begin_cost(const HardwareModel& model, MemoryId cache, bool nearest) {
  for (const Link& link : model.links())
    if (link.to == cache && link.begin >= 0 && link.bandwidth > 0)
      return {link.begin * link.bandwidth, link.latency / 4 * link.bandwidth};
  const auto line = static_cast<double>(std::max<std::int64_t>(1, model.memory(cache).line));
  return {line * (nearest ? 2 : 8), 0};
}

void add_cache_traffic(const ResolvedNest& view, const TileCounts& counts, Traffic& traffic) {
  std::map<MemoryId, std::vector<Passing>> passing;
  std::map<MemoryId, double> bandwidth;
  const int all = static_cast<int>(view.loops.size());
  for (const Transfer& t : traffic.transfers) {
    const MemoryId to = taken_to(view, t);
    if (!to.valid() || t.from == to) continue;
    if (t.stage >= 0 && t.elements_in + t.elements_out <= 0) continue;  // handed on in registers
    std::optional<Packed> packed;
    int own = 0;
    for (const StagedTile& s : view.stages) {
      if (s.access != t.access || s.memory != t.from) continue;
      if (!s.stage.layout.empty()) packed = packed_copy(s);
      if (!s.stage.from.empty() || !s.stage.then.empty()) own = std::max(own, s.loops);  // others pass from elsewhere
    }
    // An output fetches lines over the links out of memory, and none if the links that it takes into memory pass no
    // cache.
    if (view.instruction && t.access == 0 && passes_caches(view, t)) continue;
    const double asked = asked_part(view, counts, t.access);
    for (LinkId l : links_between(*view.model, t.from, to)) {
      const Link& link = view.model->link(l);
      double passes = link.bandwidth;
      for (std::size_t i = link.via.size(); i-- > 0;) {  // innermost first
        passing[link.via[i]].push_back(
            {t.access, t.stage < 0 ? all : view.stages[static_cast<std::size_t>(t.stage)].loops, own, packed,
             t.copies_at, link.via.back(),
             begin_cost(*view.model, link.via[i], i + 1 == link.via.size()).with_asked(asked)});
        bandwidth[link.via[i]] = std::max(bandwidth[link.via[i]], passes *= outward);
      }
    }
  }
  const CacheModel model(view, counts);
  for (const auto& [cache, accesses] : passing) {
    double passes = bandwidth[cache];
    for (const Link& l : view.model->links())
      if (l.to == cache && l.bandwidth > 0) passes = l.bandwidth;
    traffic.caches[cache] = model.into(view.model->memory(cache), accesses, passes, instances_of(view, counts, cache));
  }
}

}  // namespace isamap
