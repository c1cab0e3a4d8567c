// SPDX-License-Identifier: Apache-2.0
#include "driver/plan/plan_bands.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "backends/model_runner.h"
#include "driver/plan/band_paths.h"
#include "driver/plan/band_price.h"
#include "hwdesc/model/parallel_units.h"
#include "support/arithmetic.h"

namespace isamap {
namespace {

std::vector<BandPath> longest_first(std::vector<BandPath> paths) {
  std::stable_sort(paths.begin(), paths.end(),
                   [](const BandPath& a, const BandPath& b) { return a.chains.size() > b.chains.size(); });
  return paths;
}

/// Rows that a line of a buffer holds, for bands of one row: more than one where rows are along its innermost axis.
std::int64_t elements_of_a_line(const Kernel& kernel, const BandSchedule& one, const BandCaches& caches) {
  std::int64_t most = 1;
  for (const auto& [id, rows] : one.buffers) {
    const Tensor& tensor = kernel.tensors[id.index()];
    if (row_axis(kernel, one.axes, id) + 1 == static_cast<int>(tensor.shape.size()) && rows == 1)
      most = std::max(most, caches.line / bytes(tensor.dtype));
  }
  return most;
}

/// Do parts that read nothing else have more rows than the nearest cache holds, where it holds one of theirs?
bool outgrows_nearest(const Kernel& kernel, const TriedBands& tried, const BandSchedule& one, double usable) {
  const auto fits = [&](const BandSchedule& schedule) {
    return buffer_bytes(kernel, schedule) + shared_bytes(kernel, tried.parts, schedule) <= usable;
  };
  return reads_only_rows(kernel, tried.parts, one) && fits(one) && !fits(tried.schedule);
}

/// Of the programs of a machine.
std::int64_t threads_of(const HardwareModel& machine) {
  const auto unit = threads_of_programs(machine);
  return unit ? machine.unit(*unit).count : 1;
}

/// Rows in whole lines, and as many for each thread where so many fit.
std::int64_t shared_unit(std::int64_t line, std::int64_t threads, std::int64_t fit) {
  const std::int64_t both = std::lcm(line, threads);
  return both <= fit ? both : line;
}

/// At most `fit` rows, in whole units: a divisor of all rows above half of that, if there is one.
std::int64_t rows_near(std::int64_t fit, std::int64_t rows, std::int64_t unit) {
  for (std::int64_t by = fit / unit * unit; 2 * by > fit; by -= unit)
    if (rows % by == 0) return by;
  for (std::int64_t by = fit; 2 * by > fit && unit > fit; --by)
    if (rows % by == 0) return by;
  return std::max(fit / unit * unit, std::min(fit, unit));
}

/// The kernels of all, by what evicts their weights.
std::map<Between, std::vector<Kernel>> by_weights(const Kernel& kernel, const std::vector<TriedBands>& list) {
  std::map<Between, std::vector<Kernel>> kernels;
  for (const TriedBands& tried : list)
    for (std::size_t k = 0; k < tried.kernels.size(); ++k)  // behind those of the parts what follows a sum
      kernels[k < tried.parts.size() ? weights_between(kernel, tried.parts[k], tried.schedule) : Between::bands]
          .push_back(tried.kernels[k]);
  return kernels;
}

std::vector<Part> chains_of(const std::vector<Part>& chains, const std::vector<std::size_t>& path) {
  std::vector<Part> parts;
  for (const std::size_t c : path) parts.push_back(chains[c]);
  return parts;
}

/// What stays in the nearest cache matters most where little else is read.
std::vector<BandPath> fewest_weights_first(const Kernel& kernel, const std::vector<Part>& chains,
                                           const std::vector<BandPath>& paths) {
  std::vector<std::pair<double, const BandPath*>> sorted;
  for (const BandPath& path : paths) sorted.emplace_back(weight_bytes(kernel, chains_of(chains, path.chains)), &path);
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<BandPath> found;
  for (const auto& [bytes, path] : sorted) found.push_back(*path);
  return found;
}

/// Do the buffers of bands of `by` rows fit the second cache together with the weights?
bool fit_second(const Kernel& kernel, const std::vector<Part>& parts, std::int64_t by, double usable) {
  const auto schedule = band_schedule(kernel, parts, by);
  return schedule && !schedule->buffers.empty() &&
         buffer_bytes(kernel, *schedule) + weight_bytes(kernel, parts) <= usable;
}

/// The most rows that do, of half of all, a quarter and so on: bands of tensors that fit the cache as a whole, which
/// are rather one part than cheaper. 0: none.
std::int64_t most_rows_that_fit(const Kernel& kernel, const std::vector<Part>& parts, double usable) {
  const auto rows = rows_of(kernel, parts.back());
  std::int64_t by = rows ? rows->rows / 2 : 0;
  while (by > 0 && !fit_second(kernel, parts, by, usable)) by /= 2;
  return by;
}

class BandPlanner {
 public:
  BandPlanner(const Kernel& kernel, const std::vector<Part>& chains, const std::vector<double>& price, PartStore& store,
              const PlanOptions& options, const BandCaches& caches)
      : kernel_(kernel),
        chains_(chains),
        price_(price),
        store_(store),
        options_(options),
        caches_(caches),
        paths_(kernel, chains),
        threads_(threads_of(store.machine())) {}

  PricedBands run() {
    const std::vector<BandPath> paths = paths_.along_tensors(options_.band_parts, caches_.nearest / 2);
    const auto is_large = [&](const BandPath& path) { return path.largest >= caches_.second / 2; };
    std::vector<TriedBands> large, other, grown, small;
    limit_ = options_.band_kernels * 2 / 3;
    for (const BandPath& path : paths)
      if (is_large(path)) try_path(path, large);
    price_all(large);
    limit_ = options_.band_kernels * 3 / 4;
    for (const TriedBands& tried : large) {
      if (!pays(tried.price, tried.chains)) continue;
      add(tried.chains, tried.along, tried.by / 2, other);
      add(tried.chains, tried.along, tried.by * 2, other);
    }
    price_all(other);
    limit_ = options_.band_kernels * 5 / 6;
    for (const auto& [path, best] : best_)
      if (pays(best.price, path)) try_with_producers(best, grown);
    price_all(grown);
    limit_ = options_.band_kernels;  // what large tensors leave: norms of rows are small
    for (const BandPath& path : fewest_weights_first(kernel_, chains_, paths))
      if (!is_large(path)) try_path(path, small);
    price_all(small);
    limit_ = options_.band_kernels * 3 / 2;
    std::vector<TriedBands> summed, tied;
    for (const BandPath& path : longest_first(paths)) try_sums(path, options_.band_gain, summed);
    for (const auto& [path, best] : best_)
      if (pays(best.price, path)) try_with_sum(best, summed);
    price_all(summed);
    limit_ = options_.plan_ties > 0 ? keys_.size() + options_.band_kernels * 2 : 0;
    // Threads wait for each other behind each part of each band, which prices do not know to within a tie.
    for (const BandPath& path : threads_ == 1 ? longest_first(paths) : std::vector<BandPath>{})
      add(path.chains, "", most_rows_that_fit(kernel_, parts_of(path.chains), usable(caches_.second)), tied);
    for (const BandPath& path : longest_first(paths))
      if (!best_.contains(path.chains)) try_sums(path, 0, tied);
    price_all(tied);
    sort_out();
    return std::move(result_);
  }

 private:
  using Path = std::vector<std::size_t>;

  double apart(const Path& path) const {
    double sum = 0;
    for (const std::size_t c : path) sum += price_[c];
    return sum;
  }
  double usable(double bytes) const { return store_.machine().timing.usable * bytes; }
  bool saves(double share, double price, const Path& path) const { return price < apart(path) * (1 - share); }
  bool pays(double price, const Path& path) const { return saves(options_.band_gain, price, path); }
  std::vector<Part> parts_of(const Path& path) const { return chains_of(chains_, path); }

  // Rows.

  /// Along the outermost stored axis, else along the first dim of the last part along which bands are possible.
  void try_path(const BandPath& path, std::vector<TriedBands>& list) {
    std::string reason;
    if (const std::int64_t by = rows_that_fit(path, "", reason); by > 0) return add(path.chains, "", by, list);
    const Computation& last = kernel_.statements[chains_[path.chains.back()].statements.front()];
    for (const AffineExpr& index : last.write.index)
      if (const auto dim = index.as_dim(); dim && !reason.empty()) {
        std::string other;
        if (const std::int64_t by = rows_that_fit(path, *dim, other); by > 0) return add(path.chains, *dim, by, list);
      }
    if (!reason.empty() && reasons_.insert(reason).second) refuse(path.chains, reason);
  }

  /// Along the dims over which the last part sums, where tensors that stay nearer may save this share.
  void try_sums(const BandPath& path, double share, std::vector<TriedBands>& list) {
    const std::vector<Part> parts = parts_of(path.chains);
    const Computation& last = kernel_.statements[parts.back().statements.front()];
    std::string reason;
    for (const Dim& dim : last.domain.dims) {
      if (dim.kind != DimKind::reduction || dim.extent < 2) continue;
      const std::int64_t by = rows_that_fit(path, dim.name, reason);
      if (by == 0) continue;
      const auto one = band_schedule(kernel_, parts, 1, dim.name);
      if (by < elements_of_a_line(kernel_, *one, caches_)) continue;
      const double saved = most_saved_by_sums(kernel_, parts, *one, by, caches_);
      if (!saves(share, apart(path.chains) - saved, path.chains)) continue;
      add(path.chains, dim.name, by, list);
    }
  }

  /// With the only part that reads what these bands compute, if it sums over their rows: in as many bands.
  void try_with_sum(const PricedBand& band, std::vector<TriedBands>& list) {
    const Path all = paths_.with_only_reader(band.chains);
    if (all == band.chains) return;
    const auto rows = [&](const Path& path, const std::string& along) -> std::int64_t {
      const std::vector<Part> parts = parts_of(path);
      const auto one = band_schedule(kernel_, parts, 1, along);
      return one ? rows_of(kernel_, parts.back(), one->axes)->rows : 0;
    };
    const std::int64_t before = rows(band.chains, band.along), bands = (before + band.by - 1) / band.by;
    for (const Dim& dim : kernel_.statements[chains_[all.back()].statements.front()].domain.dims)
      if (dim.kind == DimKind::reduction) add(all, dim.name, (rows(all, dim.name) + bands - 1) / bands, list);
  }

  /// Rows of the last part whose buffers, and rows that several parts read, fit half of the second cache together with
  /// the weights; half of the nearest cache if all tensors between the parts fit half of the second one; and the usable
  /// share of the nearest cache if nothing else is read and one row fits it. 0: not one (`reason`), or all of them. A
  /// divisor of all rows where one is near. Each row adds the same bytes.
  std::int64_t rows_that_fit(const BandPath& path, const std::string& along, std::string& reason) const {
    const std::vector<Part> parts = parts_of(path.chains);
    const auto one = band_schedule(kernel_, parts, 1, along);
    if (!one) {
      reason = one.diagnostics()[0].message;
      return 0;
    }
    if (one->buffers.empty() && one->in_place.empty()) return 0;  // every tensor between them is wanted elsewhere too
    const std::int64_t rows = rows_of(kernel_, parts.back(), one->axes)->rows;
    const auto two = band_schedule(kernel_, parts, std::min<std::int64_t>(2, rows), along);
    if (!two) return 0;
    const auto bytes = [&](const BandSchedule& schedule) {
      return buffer_bytes(kernel_, schedule) + shared_bytes(kernel_, parts, schedule);
    };
    const double first = bytes(*one), more = std::max(1.0, bytes(*two) - first);
    const double weights = weight_bytes_of_band(kernel_, parts, *one), half = caches_.second / 2;
    const bool only_rows = reads_only_rows(kernel_, parts, *one);
    const double nearest = only_rows ? usable(caches_.nearest) : caches_.nearest / 2;
    const bool in_nearest = path.largest < half || (only_rows && first <= nearest);
    const double left = std::min(half - weights, in_nearest ? nearest : half) - first;
    if (left < 0) {
      reason = fmt::format("the rows of one band and {:.0f} bytes of weights do not fit half of a cache", weights);
      return 0;
    }
    const auto fit = static_cast<std::int64_t>(1 + left / more);
    if (fit >= rows) return 0;
    const std::int64_t unit = shared_unit(elements_of_a_line(kernel_, *one, caches_), threads_, fit);
    return rows_near(fit, rows, unit);
  }

  /// With the parts that only these bands read, along the same dim.
  void try_with_producers(const PricedBand& band, std::vector<TriedBands>& list) {
    const Path all = paths_.with_own_producers(band.chains);
    if (all == band.chains) return;
    const Computation& last = kernel_.statements[chains_[band.chains.back()].statements.front()];
    const int axis = row_axis(kernel_, {}, last.write.tensor);
    const auto dim = last.write.index[static_cast<std::size_t>(axis)].as_dim();
    add(all, band.along.empty() && dim ? *dim : band.along, band.by, list);
  }

  // Prices.

  /// Parts of few rows are shared by paths: as many distinct ones as may be priced.
  void add(const Path& path, const std::string& along, std::int64_t by, std::vector<TriedBands>& list) {
    TriedBands tried{path, parts_of(path), along, by, {}, {}, {}, 0};
    if (by < 1) return;
    const auto one = band_schedule(kernel_, tried.parts, 1, along);
    if (!one) return;
    const std::int64_t rows = rows_of(kernel_, tried.parts.back(), one->axes)->rows;
    if (by >= rows) return;
    const std::int64_t bands = (rows + by - 1) / by;
    // As many bands of fewer rows compute fewer of them twice; each thread has the same share.
    tried.by = std::min(by, round_up((rows + bands - 1) / bands, by % threads_ == 0 ? threads_ : 1));
    if (const std::int64_t unit = elements_of_a_line(kernel_, *one, caches_); unit > 1 && by % unit == 0) tried.by = by;
    auto schedule = band_schedule(kernel_, tried.parts, tried.by, along);
    if (!schedule) return;
    tried.schedule = std::move(*schedule);
    if (outgrows_nearest(kernel_, tried, *one, usable(caches_.nearest))) return;
    cut_most_called(tried);
    std::set<std::string> keys = keys_;
    for (const Kernel& kernel : tried.kernels) keys.insert(key_of(kernel));
    if (keys.size() > limit_) return;
    keys_ = std::move(keys);
    list.push_back(std::move(tried));
  }

  void cut_most_called(TriedBands& tried) const {
    const std::vector<std::int64_t> calls = call_counts(tried.schedule);
    std::vector<std::int64_t> most(tried.parts.size(), 0);
    tried.most_called.assign(tried.parts.size(), 0);
    for (std::size_t k = 0; k < calls.size(); ++k) {
      const std::size_t part = tried.schedule.kernels[k].part;
      if (calls[k] <= most[part]) continue;
      most[part] = calls[k];
      tried.most_called[part] = k;
    }
    for (std::size_t p = 0; p < tried.parts.size(); ++p)
      tried.kernels.push_back(cut_rows(kernel_, tried.parts[p], tried.schedule, tried.most_called[p]));
    if (tried.schedule.kernels.back().rest)
      tried.kernels.push_back(cut_rows(kernel_, tried.parts.back(), tried.schedule, tried.schedule.kernels.size() - 1));
  }

  void price_all(std::vector<TriedBands>& list) {
    for (const auto& [between, kernels] : by_weights(kernel_, list)) store_.add(kernels, between);
    for (TriedBands& tried : list) {
      tried.price = price_of(kernel_, tried, store_, caches_);
      const auto [known, is_new] = best_.try_emplace(tried.chains, PricedBand{tried.chains, tried.along, tried.by, 0});
      if (is_new || tried.price < known->second.price)
        known->second = {tried.chains, tried.along, tried.by, tried.price};
    }
  }

  // Results.
  RefusedBand refusal(const Path& path, const std::string& reason, double lost) const {
    return {kernel_.statements[chains_[path.front()].statements.front()].name,
            kernel_.statements[chains_[path.back()].statements.back()].name, reason, lost};
  }
  void refuse(const Path& path, const std::string& reason, double lost = 0) {
    result_.refused.push_back(refusal(path, reason, lost));
  }

  void sort_out() {
    for (const auto& [path, best] : best_) {
      const double alone = apart(path);
      const RefusedBand named = refusal(path, "", 0);  // why there are none along another dim is no reason any more
      std::erase_if(result_.refused, [&](auto& one) { return one.first == named.first && one.last == named.last; });
      if (best.price == std::numeric_limits<double>::infinity())
        refuse(path, fmt::format("a part has no program for the rows of bands of {}", best.by));
      else if (pays(best.price, path))
        result_.cheaper.push_back(best);
      else if (saves(-2 * options_.plan_ties, best.price, path) && options_.plan_ties > 0)
        result_.ties.push_back(best);
      else
        refuse(path,
               fmt::format("in bands of {} rows{} {:.0f} cycles, one after another {:.0f}", best.by,
                           best.along.empty() ? "" : " along '" + best.along + "'", best.price, alone),
               best.price - alone);
    }
  }

  const Kernel& kernel_;
  const std::vector<Part>& chains_;
  const std::vector<double>& price_;
  PartStore& store_;
  const PlanOptions& options_;
  const BandCaches& caches_;
  BandPaths paths_;
  const std::int64_t threads_;  ///< of the program
  std::map<Path, PricedBand> best_;
  std::set<std::string> reasons_;  ///< why paths have no bands: each is told once, of the path with the most bytes
  std::set<std::string> keys_;     ///< of kernels that are priced
  std::size_t limit_ = 0;          ///< of their number, so far
  PricedBands result_;
};

}  // namespace

PricedBands price_bands(const Kernel& kernel, const std::vector<Part>& chains, const std::vector<double>& price,
                        PartStore& store, const PlanOptions& options) {
  const auto caches = prints_bands(store.machine()) ? band_caches(store.machine()) : std::nullopt;
  if (!caches) return {};
  return BandPlanner(kernel, chains, price, store, options, *caches).run();
}

}  // namespace isamap
