// SPDX-License-Identifier: Apache-2.0
#include "driver/plan_bands.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "backends/model_runner.h"
#include "planner/bands.h"

namespace isamap {
namespace {

using Path = std::vector<std::size_t>;  // of chains
constexpr double cycles_of_call = 30;   // calls, pointers, and loops that begin anew

/// The second cache from the core: where bands should stay.
struct BandCache {
  double capacity = 0;       ///< bytes
  double near = 0, far = 0;  ///< bytes/cycle out of it, and into it from the memory behind
};

std::optional<BandCache> band_cache(const HardwareModel& machine) {
  std::vector<MemoryId> caches;
  for (std::size_t m = 0; m < machine.memories().size(); ++m)
    if (machine.memories()[m].kind == MemoryKind::cache) caches.push_back(make_id<MemoryId>(m));
  const auto capacity = [&](MemoryId id) { return machine.memory(id).capacity; };
  std::sort(caches.begin(), caches.end(), [&](MemoryId a, MemoryId b) { return capacity(a) < capacity(b); });
  if (caches.size() < 2) return std::nullopt;
  BandCache cache{static_cast<double>(capacity(caches[1])), 0, 0};
  for (const Link& link : machine.links()) {
    if (link.to == caches[0]) cache.near = std::max(cache.near, link.bandwidth);
    if (link.to == caches[1]) cache.far = std::max(cache.far, link.bandwidth);
  }
  return cache.near > 0 && cache.far > 0 ? std::optional(cache) : std::nullopt;
}

double tensor_size(const Tensor& tensor) { return static_cast<double>(element_count(tensor) * bytes(tensor.dtype)); }

/// Paths of chains with a large tensor between them.
class BandPaths {
 public:
  BandPaths(const Kernel& kernel, const std::vector<Part>& chains, std::size_t most_parts, double least_bytes)
      : kernel_(kernel), chains_(chains), most_parts_(most_parts), least_bytes_(least_bytes) {}

  /// The most bytes between the parts first.
  std::vector<Path> run() {
    find_readers();
    std::map<Path, double> found;
    for (std::size_t c = 0; c < chains_.size(); ++c) extend({c}, 0, 0, found);
    std::vector<std::pair<double, Path>> sorted;
    for (const auto& [path, bytes] : found) sorted.emplace_back(bytes, path);
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<Path> paths;
    for (auto& [bytes, path] : sorted) paths.push_back(std::move(path));
    return paths;
  }

 private:
  void find_readers() {
    std::map<TensorId, std::vector<std::size_t>> writers;
    readers_.resize(chains_.size());
    for (std::size_t c = 0; c < chains_.size(); ++c) {
      for (const std::size_t s : chains_[c].statements)
        for (const Access& read : kernel_.statements[s].reads)
          for (const std::size_t w : writers[read.tensor])
            if (w != c) readers_[w][c] = std::max(readers_[w][c], tensor_size(kernel_.tensors[read.tensor.index()]));
      for (const std::size_t s : chains_[c].statements) writers[kernel_.statements[s].write.tensor].push_back(c);
    }
    before_.resize(chains_.size());
    for (std::size_t c = 0; c < chains_.size(); ++c)
      for (const auto& [reader, bytes] : readers_[c]) before_[reader].push_back(c);
  }

  void extend(const Path& path, double sum, double most, std::map<Path, double>& found) const {
    if (path.size() > 1 && most >= least_bytes_)
      if (const Path all = with_branches(path); all.size() <= most_parts_ + 2) {
        double& known = found[all];
        known = std::max(known, sum);
      }
    if (path.size() >= most_parts_) return;
    for (const auto& [reader, bytes] : readers_[path.back()]) {
      Path longer = path;
      longer.push_back(reader);
      extend(longer, sum + bytes, std::max(most, bytes), found);
    }
  }

  /// The path and what lies on other ways between its chains: they have to run between them.
  Path with_branches(const Path& path) const {
    const std::size_t first = path.front(), last = path.back();
    std::vector<bool> behind(chains_.size(), false), leads(chains_.size(), false);
    for (const std::size_t c : path) behind[c] = leads[c] = true;
    for (std::size_t c = first; c <= last; ++c)
      for (const std::size_t b : before_[c])
        if (b >= first && behind[b]) behind[c] = true;
    for (std::size_t c = last + 1; c-- > first;)
      for (const auto& [reader, bytes] : readers_[c])
        if (reader <= last && leads[reader]) leads[c] = true;
    Path all;
    for (std::size_t c = first; c <= last; ++c)
      if (behind[c] && leads[c]) all.push_back(c);
    return all;
  }

  const Kernel& kernel_;
  const std::vector<Part>& chains_;
  std::size_t most_parts_;
  double least_bytes_;
  std::vector<std::map<std::size_t, double>> readers_;  ///< by chain: its readers, and bytes of the largest tensor
  std::vector<Path> before_;
};

class BandPricer {
 public:
  BandPricer(const Kernel& kernel, const std::vector<Part>& chains, const std::vector<double>& price, PartStore& store,
             const PlanOptions& options)
      : kernel_(kernel), chains_(chains), price_(price), store_(store), options_(options) {}

  PricedBands run() {
    const auto cache = prints_bands(store_.machine()) ? band_cache(store_.machine()) : std::nullopt;
    if (!cache || !kernel_.repeats.empty()) return {};
    cache_ = *cache;
    std::vector<Tried> first, second;
    for (const Path& path : BandPaths(kernel_, chains_, options_.band_parts, cache_.capacity / 2).run())
      if (const std::int64_t by = rows_that_fit(path); by > 0) add(path, by, first);
    price_all(first);
    for (const Tried& tried : first)
      if (tried.price < apart(tried.path)) {
        add(tried.path, tried.by / 2, second);
        add(tried.path, tried.by * 2, second);
      }
    price_all(second);
    first.insert(first.end(), second.begin(), second.end());
    return sorted_out(first);
  }

 private:
  struct Tried {
    Path path;
    std::int64_t by = 0;
    BandSchedule schedule;
    std::vector<std::size_t> most_called;  ///< by part: kernel of the schedule
    std::vector<Kernel> kernels;           ///< by part
    double price = 0;
  };

  double tensor_bytes(TensorId id) const { return tensor_size(kernel_.tensors[id.index()]); }
  std::vector<Part> parts_of(const Path& path) const {
    std::vector<Part> parts;
    for (const std::size_t c : path) parts.push_back(chains_[c]);
    return parts;
  }
  double apart(const Path& path) const {
    double sum = 0;
    for (const std::size_t c : path) sum += price_[c];
    return sum;
  }

  // Rows.

  double buffer_bytes(const BandSchedule& schedule) const {
    double sum = 0;
    for (const auto& [id, rows] : schedule.buffers) {
      const Tensor& tensor = kernel_.tensors[id.index()];
      sum += static_cast<double>(rows * row_bytes(tensor, row_axis(tensor)));
    }
    return sum;
  }

  double weight_bytes(const Path& path) const {
    std::set<TensorId> seen;
    double sum = 0;
    for (const std::size_t c : path)
      for (const std::size_t s : chains_[c].statements)
        for (const Access& read : kernel_.statements[s].reads)
          if (kernel_.tensors[read.tensor.index()].constant && seen.insert(read.tensor).second)
            sum += tensor_bytes(read.tensor);
    return sum;
  }

  /// Rows of the last part whose buffers fit with the weights; 0: not one, or all of them. A divisor of all rows where
  /// one is near. Buffers grow by the same bytes with each row.
  std::int64_t rows_that_fit(const Path& path) {
    const std::vector<Part> parts = parts_of(path);
    const auto one = band_schedule(kernel_, parts, 1);
    if (!one) {
      if (reasons_.insert(one.diagnostics()[0].message).second) refuse(path, one.diagnostics()[0].message);
      return 0;
    }
    const std::int64_t rows = rows_of(kernel_, parts.back())->rows;
    const auto two = band_schedule(kernel_, parts, std::min<std::int64_t>(2, rows));
    const double first = buffer_bytes(*one), more = std::max(1.0, buffer_bytes(*two) - first);
    const double left = cache_.capacity / 2 - weight_bytes(path) - first;
    if (one->buffers.empty()) return 0;  // every tensor between them is wanted elsewhere too
    if (left < 0) {
      refuse(path, fmt::format("the rows of one band and {:.0f} bytes of weights do not fit half of the second cache",
                               weight_bytes(path)));
      return 0;
    }
    const auto fit = static_cast<std::int64_t>(1 + left / more);
    if (fit >= rows) return 0;
    for (std::int64_t by = fit; 2 * by > fit; --by)
      if (rows % by == 0) return by;
    return fit;
  }

  // Prices.

  /// Parts of few rows are shared by paths: as many distinct ones as may be priced.
  void add(const Path& path, std::int64_t by, std::vector<Tried>& list) {
    const std::vector<Part> parts = parts_of(path);
    const std::int64_t rows = rows_of(kernel_, parts.back())->rows;
    if (by < 1 || by >= rows) return;
    const std::int64_t bands = (rows + by - 1) / by;
    by = (rows + bands - 1) / bands;  // as many bands of fewer rows compute fewer of them twice
    auto schedule = band_schedule(kernel_, parts, by);
    if (!schedule) return;
    Tried tried{path, by, std::move(*schedule), std::vector<std::size_t>(parts.size(), 0), {}, 0};
    const std::vector<std::int64_t> calls = call_counts(tried.schedule);
    std::vector<std::int64_t> most(parts.size(), 0);
    for (std::size_t k = 0; k < calls.size(); ++k) {
      const std::size_t part = tried.schedule.kernels[k].part;
      if (calls[k] <= most[part]) continue;
      most[part] = calls[k];
      tried.most_called[part] = k;
    }
    std::set<std::string> keys = keys_;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      tried.kernels.push_back(cut_rows(kernel_, parts[p], tried.schedule.kernels[tried.most_called[p]]));
      keys.insert(key_of(tried.kernels.back()));
    }
    if (keys.size() > options_.band_kernels) return;
    keys_ = std::move(keys);
    list.push_back(std::move(tried));
  }

  void price_all(std::vector<Tried>& list) {
    std::vector<Kernel> kernels;
    for (const Tried& tried : list) kernels.insert(kernels.end(), tried.kernels.begin(), tried.kernels.end());
    store_.add(kernels);
    for (Tried& tried : list) tried.price = price_of(tried);
  }

  /// Calls of other rows cost their share of the one that is called most.
  double price_of(const Tried& tried) const {
    double sum = 0;
    for (const BandLoop& loop : tried.schedule.loops)
      for (const BandStep& step : loop.steps) {
        double cycles = cycles_of_call;
        if (step.kind == BandStep::Kind::call) {
          const std::int64_t rows = tried.schedule.kernels[tried.most_called[step.part]].rows;
          cycles += static_cast<double>(step.rows) / static_cast<double>(rows) * price_of(tried, step.part);
        } else {
          const Tensor& tensor = kernel_.tensors[step.tensor.index()];
          cycles += 2 * static_cast<double>(step.rows * row_bytes(tensor, row_axis(tensor))) / cache_.near;
        }
        sum += static_cast<double>(loop.times) * cycles;
      }
    return sum;
  }

  /// A part on the rows of most bands. Rows of large tensors come from the memory behind the cache: at least so long it
  /// takes, and half of what is read is not hidden behind the computation (x86_avx512: a depthwise convolution that
  /// reads 1.8 MB takes 0.12 ms in bands of its own, and 0.08 ms behind its producer).
  double price_of(const Tried& tried, std::size_t part) const {
    const PartRows rows = *rows_of(kernel_, chains_[tried.path[part]]);
    const BandKernel& kernel = tried.schedule.kernels[tried.most_called[part]];
    const auto far = [&](TensorId id, std::int64_t count, int axis) {
      const Tensor& tensor = kernel_.tensors[id.index()];
      const bool stays = tried.schedule.buffers.contains(id) || tensor_bytes(id) <= cache_.capacity / 2;
      return stays ? 0 : static_cast<double>(count * bytes_of_row(tensor, axis)) / cache_.far;
    };
    double read = 0, written = 0;
    for (const RowWindow& window : rows.reads) read += far(window.tensor, kernel.rows * window.step, window.axis);
    for (const TensorId id : rows.writes)
      written += 2 * far(id, kernel.rows, row_axis(kernel_.tensors[id.index()]));  // fetched, then written back
    return std::max(store_.price(tried.kernels[part]), read + written) + read / 2;
  }

  /// Of all elements with one index along the axis.
  static std::int64_t bytes_of_row(const Tensor& tensor, int axis) {
    return element_count(tensor) / tensor.shape[static_cast<std::size_t>(axis)] * bytes(tensor.dtype);
  }

  // Results.

  void refuse(const Path& path, const std::string& reason, double lost = 0) {
    result_.refused.push_back({kernel_.statements[chains_[path.front()].statements.front()].name,
                               kernel_.statements[chains_[path.back()].statements.back()].name, reason, lost});
  }

  PricedBands sorted_out(const std::vector<Tried>& all) {
    std::map<Path, const Tried*> best;
    for (const Tried& tried : all) {
      const Tried*& known = best[tried.path];
      if (known == nullptr || tried.price < known->price) known = &tried;
    }
    for (const auto& [path, tried] : best) {
      const double alone = apart(path);
      if (tried->price == std::numeric_limits<double>::infinity())
        refuse(path, fmt::format("a part has no program for the rows of bands of {}", tried->by));
      else if (tried->price < alone)
        result_.cheaper.push_back({path, tried->by, tried->price});
      else
        refuse(
            path,
            fmt::format("in bands of {} rows {:.0f} cycles, one after another {:.0f}", tried->by, tried->price, alone),
            tried->price - alone);
    }
    return std::move(result_);
  }

  const Kernel& kernel_;
  const std::vector<Part>& chains_;
  const std::vector<double>& price_;
  PartStore& store_;
  const PlanOptions& options_;
  BandCache cache_;
  std::set<std::string> reasons_;  ///< why paths have no bands: each is told once, of the path with the most bytes
  std::set<std::string> keys_;     ///< of kernels that are priced
  PricedBands result_;
};

}  // namespace

PricedBands price_bands(const Kernel& kernel, const std::vector<Part>& chains, const std::vector<double>& price,
                        PartStore& store, const PlanOptions& options) {
  return BandPricer(kernel, chains, price, store, options).run();
}

}  // namespace isamap
