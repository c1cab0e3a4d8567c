// SPDX-License-Identifier: Apache-2.0
#include "driver/plan/band_price.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

namespace isamap {
namespace {

double size_of(const Tensor& tensor) { return static_cast<double>(byte_count(tensor)); }

class BandPrice {
 public:
  BandPrice(const Kernel& kernel, const TriedBands& tried, const PartStore& store, const BandCaches& caches)
      : kernel_(kernel), tried_(tried), store_(store), caches_(caches) {
    const HardwareModel& machine = store.machine();
    exposed_ = machine.timing.exposed_starts;
    for (const Unit& unit : machine.units()) call_ = std::max(call_, unit.loop_end);
    cold_ = machine.timing.between_runs > caches.second;
    for (const Part& part : tried.parts) rows_.push_back(*rows_of(kernel, part, tried.schedule.axes));
    for (const Part& part : tried.parts) between_.push_back(weights_between(kernel, part, tried.schedule));
    only_rows_ = reads_only_rows(kernel, tried.parts, tried.schedule);
    outside_ = std::max(1.0, outside_bytes());
    for (std::size_t p = tried.parts.size(); p-- > 0;)
      for (const RowWindow& window : rows_[p].reads) first_reader_[window.tensor] = p;
  }

  double run() const {
    std::vector<Part> warm;  // in all bands but the first
    for (std::size_t p = 0; p < tried_.parts.size(); ++p)
      if (between_[p] == Between::bands) warm.push_back(tried_.parts[p]);
    double sum = cold_ ? exposed_ * weight_bytes(kernel_, warm) / caches_.far : 0;
    std::vector<double> of_part;
    for (std::size_t p = 0; p < tried_.parts.size(); ++p) of_part.push_back(of_call(p));
    for (const BandLoop& loop : tried_.schedule.loops)
      for (const BandStep& step : loop.steps) sum += static_cast<double>(loop.times) * of_step(step, of_part);
    return sum;
  }

 private:
  /// Calls of other rows cost their share of the one that is called most.
  double of_step(const BandStep& step, const std::vector<double>& of_part) const {
    if (step.kind == BandStep::Kind::call) {
      if (tried_.schedule.kernels[step.kernel].rest)
        return call_ + store_.price(tried_.kernels[tried_.parts.size()], Between::bands);
      const std::int64_t rows = tried_.schedule.kernels[tried_.most_called[step.part]].rows;
      return call_ + static_cast<double>(step.rows) / static_cast<double>(rows) * of_part[step.part];
    }
    const Tensor& tensor = kernel_.tensors[step.tensor.index()];
    const int axis = row_axis(kernel_, tried_.schedule.axes, step.tensor);
    return 2 * static_cast<double>(step.rows * slice_bytes(tensor, axis)) / caches_.near;
  }

  /// A part on the rows of most bands.
  double of_call(std::size_t part) const {
    const PartRows& rows = rows_[part];
    const BandKernel& kernel = tried_.schedule.kernels[tried_.most_called[part]];
    double read = 0, written = 0, near = 0;
    if (!is_sum(part)) {
      for (const TensorId id : rows.unsliced) read += far(id, size_of(kernel_.tensors[id.index()]));
    } else {  // the sum is read and written by every band; the rest of the part, with its reads, is priced apart
      const TensorId id = tried_.schedule.axes.sum;
      const double bytes = 2 * size_of(kernel_.tensors[id.index()]);
      near += bytes / caches_.near;
      written += far(id, bytes);
    }
    for (const RowWindow& window : rows.reads) {
      const double bytes = bytes_outside(window.tensor, kernel.rows * window.step, window.axis);
      if (first_reader_.at(window.tensor) != part) continue;  // the others find the rows of this band in a cache
      near += bytes / caches_.near;
      read += far(window.tensor, bytes);
    }
    for (const TensorId id : rows.writes) {  // fetched, then written back
      const double bytes = 2 * bytes_outside(id, kernel.rows, row_axis(kernel_, tried_.schedule.axes, id));
      near += bytes / caches_.near;
      written += far(id, bytes);
    }
    return std::max({store_.price(tried_.kernels[part], between_[part]), read + written, near}) + exposed_ * read;
  }

  bool is_sum(std::size_t part) const {
    return !tried_.schedule.axes.summed.empty() && part + 1 == tried_.parts.size();
  }

  /// Bytes of these rows of a tensor that other parts touch too.
  double bytes_outside(TensorId id, std::int64_t count, int axis) const {
    const Tensor& tensor = kernel_.tensors[id.index()];
    if (is_inside(tried_.schedule, id) || tensor.constant) return 0;
    return static_cast<double>(count * slice_bytes(tensor, axis));
  }

  /// Bytes of the tensors outside of the bands.
  double outside_bytes() const {
    std::set<TensorId> outside;
    for (const PartRows& rows : rows_) {
      for (const RowWindow& window : rows.reads) outside.insert(window.tensor);
      outside.insert(rows.writes.begin(), rows.writes.end());
    }
    double sum = 0;
    for (const TensorId id : outside) sum += is_inside(tried_.schedule, id) ? 0 : size_of(kernel_.tensors[id.index()]);
    return sum;
  }

  /// Cycles through the link into the second cache; none if the whole tensor stays in it. Where nothing else is read,
  /// all tensors outside have the cache for themselves, and it holds a share of them
  /// (scheduler/cost/cache_traffic.cpp).
  double far(TensorId id, double bytes) const {
    const double usable = store_.machine().timing.usable * caches_.second;
    const double size = size_of(kernel_.tensors[id.index()]);
    const double missing = only_rows_ ? std::max(0.0, 1 - usable / outside_) : size <= usable ? 0 : 1;
    return missing * bytes / caches_.far;
  }

  const Kernel& kernel_;
  const TriedBands& tried_;
  const PartStore& store_;
  const BandCaches& caches_;
  double exposed_ = 0;            ///< share of what is read from behind the second cache
  std::vector<PartRows> rows_;    ///< by part
  std::vector<Between> between_;  ///< by part
  std::map<TensorId, std::size_t> first_reader_;
  double call_ = 0;     ///< cycles: the end of the loops of a call
  double outside_ = 0;  ///< bytes of all tensors outside of the bands
  bool only_rows_ = false;
  bool cold_ = false;  ///< the model evicts weights from the second cache
};

}  // namespace

std::optional<BandCaches> band_caches(const HardwareModel& machine) {
  std::vector<MemoryId> caches;
  for (std::size_t m = 0; m < machine.memories().size(); ++m)
    if (machine.memories()[m].kind == MemoryKind::cache) caches.push_back(make_id<MemoryId>(m));
  const auto capacity = [&](MemoryId id) { return machine.memory(id).capacity; };
  std::sort(caches.begin(), caches.end(), [&](MemoryId a, MemoryId b) { return capacity(a) < capacity(b); });
  if (caches.size() < 2) return std::nullopt;
  BandCaches found{static_cast<double>(capacity(caches[0])), static_cast<double>(capacity(caches[1])), 0, 0,
                   machine.memory(caches[0]).line};
  for (const Link& link : machine.links()) {
    if (link.to == caches[0]) found.near = std::max(found.near, link.bandwidth);
    if (link.to == caches[1]) found.far = std::max(found.far, link.bandwidth);
  }
  return found.near > 0 && found.far > 0 ? std::optional(found) : std::nullopt;
}

bool reads_only_rows(const Kernel& kernel, const std::vector<Part>& parts, const BandSchedule& schedule) {
  return weight_bytes(kernel, parts) == 0 && std::all_of(parts.begin(), parts.end(), [&](const Part& part) {
           return rows_of(kernel, part, schedule.axes)->unsliced.empty();
         });
}

namespace {

/// Rows of a tensor that a call touches at most.
std::int64_t most_rows(const BandSchedule& schedule, TensorId tensor) {
  std::int64_t most = 0;
  for (const BandLoop& loop : schedule.loops)
    for (const BandStep& step : loop.steps)
      if (step.at.contains(tensor)) most = std::max(most, step.rows);
  return most;
}

}  // namespace

double buffer_bytes(const Kernel& kernel, const BandSchedule& schedule) {
  double sum = 0;
  const auto add = [&](TensorId id, std::int64_t rows) {
    sum += static_cast<double>(rows * slice_bytes(kernel.tensors[id.index()], row_axis(kernel, schedule.axes, id)));
  };
  for (const auto& [id, rows] : schedule.buffers) add(id, rows);
  for (const auto& [id, by] : schedule.in_place) add(id, most_rows(schedule, id));
  return sum;
}

double shared_bytes(const Kernel& kernel, const std::vector<Part>& parts, const BandSchedule& schedule) {
  std::map<TensorId, int> readers;
  double sum = 0;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    std::int64_t most = 0;
    for (const BandKernel& one : schedule.kernels)
      if (one.part == p && !one.rest) most = std::max(most, one.rows);
    const PartRows rows = *rows_of(kernel, parts[p], schedule.axes);
    for (const RowWindow& window : rows.reads) {
      const Tensor& tensor = kernel.tensors[window.tensor.index()];
      if (tensor.constant || is_inside(schedule, window.tensor) || ++readers[window.tensor] != 2) continue;
      sum += static_cast<double>((window.step * (most - 1) + window.high - window.low + 1) *
                                 slice_bytes(tensor, window.axis));
    }
  }
  return sum;
}

Between weights_between(const Kernel& kernel, const Part& part, const BandSchedule& schedule) {
  const PartRows rows = *rows_of(kernel, part, schedule.axes);
  double sliced = 0;
  std::set<TensorId> seen;
  for (const RowWindow& window : rows.reads)
    if (const Tensor& tensor = kernel.tensors[window.tensor.index()];
        tensor.constant && seen.insert(window.tensor).second)
      sliced += size_of(tensor);
  return 2 * sliced > weight_bytes(kernel, {part}) ? Between::model : Between::bands;
}

double weight_bytes(const Kernel& kernel, const std::vector<Part>& parts) {
  std::set<TensorId> seen;
  double sum = 0;
  for (const Part& part : parts)
    for (const std::size_t s : part.statements)
      for (const Access& read : kernel.statements[s].reads)
        if (const Tensor& tensor = kernel.tensors[read.tensor.index()];
            tensor.constant && seen.insert(read.tensor).second)
          sum += size_of(tensor);
  return sum;
}

double weight_bytes_of_band(const Kernel& kernel, const std::vector<Part>& parts, const BandSchedule& schedule) {
  std::map<TensorId, double> read;  // of the part that reads most of it
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const PartRows rows = *rows_of(kernel, parts[p], schedule.axes);
    std::int64_t most = 0;
    for (const BandKernel& one : schedule.kernels)
      if (one.part == p && !one.rest) most = std::max(most, one.rows);
    std::map<TensorId, double> windows;
    for (const RowWindow& window : rows.reads) {
      const Tensor& tensor = kernel.tensors[window.tensor.index()];
      const std::int64_t slices = window.step * (most - 1) + window.high - window.low + 1;
      const double bytes = std::min(size_of(tensor), static_cast<double>(slices * slice_bytes(tensor, window.axis)));
      windows[window.tensor] = std::max(windows[window.tensor], bytes);
    }
    for (const std::size_t s : parts[p].statements)
      for (const Access& access : kernel.statements[s].reads)
        if (const Tensor& tensor = kernel.tensors[access.tensor.index()]; tensor.constant) {
          const auto window = windows.find(access.tensor);
          read[access.tensor] =
              std::max(read[access.tensor], window != windows.end() ? window->second : size_of(tensor));
        }
  }
  return std::accumulate(read.begin(), read.end(), 0.0, [](double sum, const auto& one) { return sum + one.second; });
}

double most_saved_by_sums(const Kernel& kernel, const std::vector<Part>& parts, const BandSchedule& one,
                          std::int64_t by, const BandCaches& caches) {
  const auto cycles = [&](double bytes) { return 2 * bytes / (bytes > caches.second / 2 ? caches.far : caches.near); };
  double saved = 0;
  for (const auto& [id, rows] : one.buffers) saved += cycles(size_of(kernel.tensors[id.index()]));
  const double bands =
      std::ceil(static_cast<double>(rows_of(kernel, parts.back(), one.axes)->rows) / static_cast<double>(by));
  return saved - (bands - 1) * cycles(size_of(kernel.tensors[one.axes.sum.index()]));
}

double price_of(const Kernel& kernel, const TriedBands& tried, const PartStore& store, const BandCaches& caches) {
  return BandPrice(kernel, tried, store, caches).run();
}

}  // namespace isamap
