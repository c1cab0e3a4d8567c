#include "scheduler/cache_traffic.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "scheduler/machine_costs.h"

namespace isamap {

namespace {

constexpr double usable = 0.75;     ///< of a cache: the rest is other data
constexpr double default_ways = 8;  ///< lines of a set, where a description does not say
/// Descriptions that give no link into a cache: each step outwards passes a quarter. 128 B/cycle of loads then means
/// 32 B/cycle from the second cache and 8 B/cycle from memory, as measured on a current server core.
constexpr double outward = 0.25;

constexpr double page = 4096;
/// Pages whose places in memory a core has at hand; to begin a row of another one is what costs near by (the same
/// manual on first-level data translation).
constexpr double pages_at_hand = 64;

struct Passing {
  int access = 0;
  int walks = 0;       ///< it passes as often as the tile below these is replaced, not more
  int own = 0;         ///< handed from statement to statement below so many walks, in one place; 0: it is not
  bool dense = false;  ///< from a packed copy: neighbours in use are neighbours in memory
  double copies = 1;   ///< of each element there
  double begins = 0;   ///< lines
};

/// How an access lies in memory below some walks.
struct Footprint {
  double bytes = 0;    ///< in whole lines, one more where a row does not follow the one before
  double lines = 0;    ///< the same, where rows begin at lines
  double begun = 0;    ///< what it costs to begin its rows, in bytes
  double crowded = 0;  ///< lines for each set that it can use
  double rows = 0;     ///< on pages of their own
  double pages = 0;
};

struct LineParts {
  double lines = 0, begun = 0;
};

struct Moved {
  double bytes = 0, of_output = 0, begun = 0;
};

class CacheModel {
 public:
  CacheModel(const NestView& view, const TileCounts& counts) : view_(view), counts_(counts) {}

  CacheTraffic into(const Memory& cache, const std::vector<Passing>& accesses, double bandwidth,
                    double instances) const {
    const double capacity = usable * static_cast<double>(cache.capacity);
    const int all = static_cast<int>(view_.walks.size());
    int walks = 0;
    double missing = 0;  // of what the walk outside would like to keep
    for (; walks < all; ++walks) {
      const double taken = needed(cache, accesses, walks);
      if (taken <= capacity) break;
      missing = 1 - capacity / taken;
    }
    const Moved here = moved(cache, accesses, walks), further_out = moved(cache, accesses, std::max(walks - 1, 0));
    const auto between = [&](double with, double without) { return missing * with + (1 - missing) * without; };
    return {between(here.bytes, further_out.bytes), between(here.of_output, further_out.of_output), bandwidth,
            instances, between(here.begun, further_out.begun)};
  }

 private:
  /// Capacity that what stands below some walks takes: its lines, or more where many of them fall into few sets.
  double needed(const Memory& cache, const std::vector<Passing>& accesses, int walks) const {
    double total = 0, most = 0;
    for (const Passing& a : accesses) {
      if (walks > a.walks) continue;  // it is in registers all the while
      const Footprint f = footprint(cache, a, std::max(walks, a.own));
      total += f.bytes * a.copies;
      if (walks == a.walks) continue;  // it passes once, and drives out no lines of its own
      most = std::max(most, f.crowded - f.bytes / set_bytes(cache));
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

  /// Bytes into the cache when it keeps what stands below some walks: none if that is everything, since programs run
  /// over and over.
  Moved moved(const Memory& cache, const std::vector<Passing>& accesses, int walks) const {
    Moved total;
    if (walks == 0) return total;
    for (const Passing& a : accesses) {
      const int at = std::min(walks, a.walks);
      if (at <= a.own && a.own > 0) continue;  // what the cache keeps is that place
      const double elements =
          counts_.moved(a.access, at, {}, true) * (a.access == 0 ? 2 : 1);  // results are written back
      const LineParts parts = part_of_lines(cache, accesses, a, at);
      const double once = elements * element_bytes(a.access) * a.copies, bytes = once * parts.lines;
      total.bytes += bytes;
      total.begun += once * parts.begun;
      if (a.access == 0) total.of_output += bytes;
    }
    return total;
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
  /// innermost walk: one that runs along them uses them up.
  LineParts part_of_lines(const Memory& cache, const std::vector<Passing>& accesses, const Passing& a,
                          int walks) const {
    const bool far = a.begins >= begins_far;
    int w = walks - 1;
    while (w >= 0 && !counts_.uses_walk(a.access, w)) --w;
    double anew = 1;
    if (w >= 0 && runs_along(a.access, w) && (!far || footprint(cache, a, walks).rows <= row_streams)) {
      walks = w;
    } else if (!far) {
      while (w >= 0 && !runs_along(a.access, w)) --w;
      if (w >= 0) anew = std::max(0.0, 1 - usable * pages_at_hand / pages(cache, accesses, w + 1));
    }
    const Footprint f = footprint(cache, a, walks);
    const double all = std::max(1.0, counts_.tile(a.access, walks)) * element_bytes(a.access);
    return {f.lines / all, anew * f.begun / all};
  }

  bool runs_along(int access, int walk) const {
    const std::vector<AffineExpr>& index = access_of(view_.statement, access).index;
    const auto d = static_cast<std::size_t>(view_.walks[static_cast<std::size_t>(walk)].dim);
    return !index.empty() && counts_.uses_walk(access, walk) &&
           index.back().names().contains(view_.statement.domain.dims[d].name);
  }

  double pages(const Memory& cache, const std::vector<Passing>& accesses, int walks) const {
    double total = 0;
    for (const Passing& a : accesses) total += footprint(cache, a, walks).pages;
    return total;
  }

  Footprint footprint(const Memory& cache, const Passing& a, int walks) const {
    const double size = element_bytes(a.access), elements = counts_.tile(a.access, walks);
    const Access& access = access_of(view_.statement, a.access);
    Footprint f{
        elements * size, elements * size, 0, elements * size / set_bytes(cache), 0, std::ceil(elements * size / page)};
    if (a.dense || cache.line <= 1 || access.index.empty()) return f;
    const std::vector<std::int64_t>& shape = tensor(a.access).shape;
    const std::vector<std::int64_t> tiles = view_.tiles(walks);
    const auto line = static_cast<double>(cache.line);
    // A row is what lies in one piece: axes that the tile takes whole, and part of the next.
    double pitch = 1, row = 1, sets = 0, farthest = 0, uneven = 1;
    double between = 0,
           apart = 1;  // bytes from first to last, as long as rows are less than a page apart; how many of these
    bool whole = true, aligned = true;
    for (std::size_t axis = access.index.size(); axis-- > 0;) {
      const auto extent = static_cast<double>(std::max<std::int64_t>(1, shape[axis]));
      const double along = std::min(span(access.index[axis], tiles), extent);
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
      pitch *= extent;
    }
    row = std::max(1.0, std::min(row, elements));
    const double lines = std::ceil(row * size / line);
    f.bytes = elements / row * (lines + (row < elements && !aligned ? 1 : 0)) * line;
    f.lines = elements / row * lines * line;
    f.begun = whole ? 0 : elements / row * a.begins * line;
    f.crowded = elements / row * lines * line / sets * uneven;
    if (farthest * size >= page) f.rows = elements / row;
    f.pages = apart * (1 + between / page);
    return f;
  }

  /// The greatest common divisor of a power of two and any whole number.
  static double common(double power, double number) {
    double divisor = 1;
    while (divisor < power && std::fmod(number, 2 * divisor) == 0) divisor *= 2;
    return divisor;
  }

  const NestView& view_;
  const TileCounts& counts_;
};

/// An output of which nothing is read, stored over links that no cache stands on.
bool passes_caches(const NestView& view, const Transfer& t) {
  const auto links = links_of(*view.model, view.via(t.stage), t.to, t.from);
  return t.elements_in <= 0 && !links.empty() &&
         std::all_of(links.begin(), links.end(), [&](LinkId l) { return view.model->link(l).via.empty(); });
}

}  // namespace

void add_cache_traffic(const NestView& view, const TileCounts& counts, Traffic& traffic) {
  std::map<MemoryId, std::vector<Passing>> passing;
  std::map<MemoryId, double> bandwidth;
  const int all = static_cast<int>(view.walks.size());
  for (const Transfer& t : traffic.transfers) {
    if (!t.to.valid() || t.from == t.to) continue;
    if (t.stage >= 0 && t.elements_in + t.elements_out <= 0) continue;  // handed on in registers
    bool dense = false;
    int own = 0;
    for (const StageView& s : view.stages) {
      if (s.access != t.access || s.memory != t.from) continue;
      dense |= !s.stage.layout.empty();
      if (!s.stage.from.empty() || !s.stage.then.empty()) own = std::max(own, s.walks);  // others pass from elsewhere
    }
    // An output fetches lines over the links out of memory, and none if the links that it takes into memory pass no
    // cache.
    if (t.access == 0 && passes_caches(view, t)) continue;
    for (LinkId l : links_between(*view.model, t.from, t.to)) {
      const Link& link = view.model->link(l);
      double passes = link.bandwidth;
      for (std::size_t i = link.via.size(); i-- > 0;) {  // innermost first
        passing[link.via[i]].push_back({t.access,
                                        t.stage < 0 ? all : view.stages[static_cast<std::size_t>(t.stage)].walks, own,
                                        dense, t.copies_at, i + 1 == link.via.size() ? begins_near : begins_far});
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
