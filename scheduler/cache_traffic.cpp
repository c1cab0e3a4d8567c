#include "scheduler/cache_traffic.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "scheduler/machine_costs.h"

namespace isamap {

namespace {

constexpr double usable = 0.75;         ///< of a cache: the rest is other data
constexpr std::int64_t least_ways = 8;  ///< descriptions do not say; sets are a power of two
/// Descriptions that give no link into a cache: each step outwards passes a quarter. 128 B/cycle of loads then means
/// 32 B/cycle from the second cache and 8 B/cycle from memory, as measured on a current server core.
constexpr double outward = 0.25;

struct Passing {
  int access = 0;
  int walks = 0;       ///< it passes as often as the tile below these is replaced, not more
  bool dense = false;  ///< from a packed copy: neighbours in use are neighbours in memory
  double copies = 1;   ///< of each element there
};

/// How an access lies in memory below some walks.
struct Footprint {
  double bytes = 0;  ///< in whole lines
  double room = 0;   ///< that these lines take in a cache with few ways
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
      const double needed = room(cache, accesses, walks);
      if (needed <= capacity) break;
      missing = 1 - capacity / needed;
    }
    CacheTraffic result{moved(cache, accesses, walks), bandwidth, instances};
    if (walks > 0) result.bytes = missing * result.bytes + (1 - missing) * moved(cache, accesses, walks - 1);
    return result;
  }

 private:
  double room(const Memory& cache, const std::vector<Passing>& accesses, int walks) const {
    double total = 0;
    for (const Passing& a : accesses)
      if (walks <= a.walks)
        total += footprint(cache, a, walks).room * a.copies;  // else it is in registers all the while
    return total;
  }

  /// Bytes into the cache when it keeps what stands below some walks.
  double moved(const Memory& cache, const std::vector<Passing>& accesses, int walks) const {
    double total = 0;
    for (const Passing& a : accesses) {
      const int at = std::min(walks, a.walks);
      const double elements =
          counts_.moved(a.access, at, {}, true) * (a.access == 0 ? 2 : 1);  // results are written back
      total += elements * element_bytes(a.access) * a.copies * part_of_lines(cache, a, at);
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

  /// Bytes that come for each byte in use. Lines stay for the next step of the innermost walk: one that runs along them
  /// uses them up.
  double part_of_lines(const Memory& cache, const Passing& a, int walks) const {
    const Access& access = access_of(view_.statement, a.access);
    int w = walks - 1;
    while (w >= 0 && !counts_.uses_walk(a.access, w)) --w;
    if (w >= 0 && !access.index.empty()) {
      const Dim& dim =
          view_.statement.domain.dims[static_cast<std::size_t>(view_.walks[static_cast<std::size_t>(w)].dim)];
      if (access.index.back().names().contains(dim.name)) walks = w;
    }
    return footprint(cache, a, walks).bytes / (std::max(1.0, counts_.tile(a.access, walks)) * element_bytes(a.access));
  }

  Footprint footprint(const Memory& cache, const Passing& a, int walks) const {
    const double size = element_bytes(a.access), elements = counts_.tile(a.access, walks);
    const Access& access = access_of(view_.statement, a.access);
    Footprint f{elements * size, elements * size};
    if (a.dense || cache.line <= 1 || access.index.empty()) return f;
    const std::vector<std::int64_t> tiles = view_.tiles(walks);
    const auto line = static_cast<double>(cache.line);
    const double row = std::max(1.0, std::min({span(access.index.back(), tiles), elements,
                                               static_cast<double>(tensor(a.access).shape.back())}));
    // Rows apart begin anywhere in a line, and what fetches neighbouring lines goes one too far at each.
    const bool apart = row < elements && row < static_cast<double>(tensor(a.access).shape.back());
    const double lines = std::ceil(row * size / line) + (apart ? 1 : 0);
    f.bytes = elements / row * lines * line;
    f.room = f.bytes * crowding(cache, a.access, tiles, lines, elements / row);
    return f;
  }

  /// Sets of the cache for each set that rows at their distance can use.
  double crowding(const Memory& cache, int access, const std::vector<std::int64_t>& tiles, double lines,
                  double rows) const {
    const std::vector<std::int64_t>& shape = tensor(access).shape;
    const auto& index = access_of(view_.statement, access).index;
    std::int64_t pitch = 1;
    std::size_t axis = index.size() - 1;
    for (; axis > 0; --axis) {  // the innermost axis, but the last, along which the tile extends
      pitch = std::min<std::int64_t>(pitch * std::max<std::int64_t>(1, shape[axis]), std::int64_t{1} << 40);
      if (span(index[axis - 1], tiles) > 1) break;
    }
    const std::int64_t distance = pitch * static_cast<std::int64_t>(element_bytes(access));
    if (axis == 0 || distance % cache.line != 0) return 1;
    std::int64_t sets = 1;
    while (sets * 2 * least_ways * cache.line <= cache.capacity) sets *= 2;
    if (rows <= usable * least_ways) return 1;  // a way for each row
    const double used = static_cast<double>(sets / std::gcd(sets, distance / cache.line)) * lines;
    return std::max(1.0, static_cast<double>(sets) / used);
  }

  const NestView& view_;
  const TileCounts& counts_;
};

}  // namespace

void add_cache_traffic(const NestView& view, const TileCounts& counts, Traffic& traffic) {
  std::map<MemoryId, std::vector<Passing>> passing;
  std::map<MemoryId, double> bandwidth;
  const int all = static_cast<int>(view.walks.size());
  for (const Transfer& t : traffic.transfers) {
    if (!t.to.valid() || t.from == t.to) continue;
    bool dense = false;
    for (const StageView& s : view.stages)
      dense |= s.access == t.access && s.memory == t.from && !s.stage.layout.empty();
    for (LinkId l : links_between(*view.model, t.from, t.to)) {
      const Link& link = view.model->link(l);
      double passes = link.bandwidth;
      for (std::size_t i = link.via.size(); i-- > 0;) {  // innermost first
        passing[link.via[i]].push_back(
            {t.access, t.stage < 0 ? all : view.stages[static_cast<std::size_t>(t.stage)].walks, dense, t.copies_at});
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
