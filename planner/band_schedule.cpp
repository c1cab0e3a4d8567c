// SPDX-License-Identifier: Apache-2.0
// The steps of all bands: which rows every part computes in each of them, what its buffers hold, and which bands are
// one loop.
//
// With b rows of the last part in a band, a part whose rows are read by steps of s computes s*b of them (times the
// steps behind it), after a lead of L rows in front of the first band, so that in every band the rows of the windows
// are there: L = max(0, s*(L' - 1) + high + 1), L' the reader's lead. Each call computes that many rows; the lead and
// what is left of the last band, which has no rows to lead to, are calls of fewer rows: each row is computed once.

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "planner/bands.h"
#include "planner/in_place.h"

namespace isamap {
namespace {

struct RowRange {
  std::int64_t first = 0, end = 0;
  bool operator==(const RowRange&) const = default;
};

/// A tensor between parts of the group.
struct Band {
  std::vector<std::size_t> writers;  ///< parts that write it, ascending
  std::int64_t rows = 0;             ///< of the tensor
  std::optional<double> outside;     ///< of rows beyond it, where some are read
  std::vector<std::int64_t> begins;  ///< by band: the tensor's row at the start of the buffer
};

using Calls = std::vector<std::vector<std::vector<RowRange>>>;  ///< by part and band

/// Do the calls of this band compute all these rows?
bool is_rewritten(const Band& of, const RowRange& rows, const Calls& all, std::size_t band) {
  return std::all_of(of.writers.begin(), of.writers.end(), [&](std::size_t w) {
    const std::vector<RowRange>& calls = all[w][band];
    return !calls.empty() && calls.front().first <= rows.first && calls.back().end >= std::min(rows.end, of.rows);
  });
}

/// By how much the rows of the calls grow from one band to the next; nothing: the steps differ otherwise.
std::optional<std::vector<std::map<TensorId, std::int64_t>>> moves_between(const std::vector<BandStep>& a,
                                                                           const std::vector<BandStep>& b) {
  if (a.size() != b.size()) return std::nullopt;
  std::vector<std::map<TensorId, std::int64_t>> moves;
  for (std::size_t s = 0; s < a.size(); ++s) {
    BandStep same = b[s];
    same.at = a[s].at;
    if (!(same == a[s])) return std::nullopt;
    auto& move = moves.emplace_back();
    for (const auto& [id, at] : a[s].at) move[id] = b[s].at.at(id) - at;
  }
  return moves;
}

/// Bands that differ only in their rows, as one loop.
std::vector<BandLoop> joined(const std::vector<BandLoop>& bands) {
  std::vector<BandLoop> loops;
  const std::vector<BandStep>* before = nullptr;  // of the band before
  for (const BandLoop& one : bands) {
    const auto moves = before == nullptr ? std::nullopt : moves_between(*before, one.steps);
    if (moves && (loops.back().times == 1 || loops.back().moves == *moves)) {
      loops.back().moves = *moves;
      ++loops.back().times;
    } else {
      loops.push_back({1, one.steps, std::vector<std::map<TensorId, std::int64_t>>(one.steps.size())});
    }
    before = &one.steps;
  }
  return loops;
}

/// Only this group touches it.
bool stays_inside(const Kernel& kernel, const std::vector<Part>& parts, TensorId id) {
  if (role_of(kernel, id) != Role::intermediate) return false;
  std::set<std::size_t> inside;
  for (const Part& part : parts) inside.insert(part.statements.begin(), part.statements.end());
  for (std::size_t s = 0; s < kernel.statements.size(); ++s) {
    const Computation& statement = kernel.statements[s];
    const bool touches =
        statement.write.tensor == id || std::any_of(statement.reads.begin(), statement.reads.end(),
                                                    [&](const Access& read) { return read.tensor == id; });
    if (touches && !inside.contains(s)) return false;
  }
  return true;
}

RowRange read_by(const RowWindow& window, const RowRange& rows) {
  return {window.step * rows.first + window.low, window.step * (rows.end - 1) + window.high + 1};
}

/// Does a call of these rows touch other rows of the tensor's buffer than its first `count`?
bool touches_other_rows(const BandStep& call, const PartRows& rows, TensorId id, std::int64_t count) {
  const auto at = call.at.find(id);
  if (at == call.at.end()) return false;
  std::int64_t touched = call.rows;
  for (const RowWindow& window : rows.reads)
    if (window.tensor == id) touched = window.step * (call.rows - 1) + window.high - window.low + 1;
  return at->second != 0 || touched != count;
}

/// What follows the sum in the last part, once.
void add_rest(BandSchedule& schedule, std::size_t part, std::int64_t rows) {
  BandStep step;
  step.part = part;
  step.kernel = schedule.kernels.size();
  step.rows = rows;
  schedule.kernels.push_back({part, rows, {}, {}, true});
  schedule.loops.push_back({1, {step}, {{}}});
}

bool has_plain_windows(const std::vector<PartRows>& rows, TensorId tensor) {
  return std::all_of(rows.begin(), rows.end(), [&](const PartRows& part) {
    return std::all_of(part.reads.begin(), part.reads.end(), [&](const RowWindow& window) {
      return window.tensor != tensor || (!window.outside && window.step == 1 && window.low == 0 && window.high == 0);
    });
  });
}

/// Tensors of the group alone and the whole tensors that overwrite them, as far as windows show it.
std::map<TensorId, TensorId> overwritten_whole(const Kernel& kernel, const std::vector<Part>& parts,
                                               const std::vector<PartRows>& rows, const BandAxes& axes) {
  std::map<TensorId, TensorId> found;
  for (const auto& [id, by] : overwritten_tensors(kernel, parts))
    if (stays_inside(kernel, parts, id) && !stays_inside(kernel, parts, by) && has_plain_windows(rows, id) &&
        row_axis(kernel, axes, id) == row_axis(kernel, axes, by))
      found[id] = by;
  return found;
}

/// Do all parts that read or write rows of the tensor do so in calls of the same rows?
bool have_same_calls(const std::vector<PartRows>& rows, const Calls& calls, TensorId tensor) {
  const std::vector<std::vector<RowRange>>* first = nullptr;
  for (std::size_t p = 0; p < rows.size(); ++p) {
    const bool touches =
        std::find(rows[p].writes.begin(), rows[p].writes.end(), tensor) != rows[p].writes.end() ||
        std::any_of(rows[p].reads.begin(), rows[p].reads.end(), [&](const RowWindow& w) { return w.tensor == tensor; });
    if (!touches) continue;
    if (first == nullptr) first = &calls[p];
    if (*first != calls[p]) return false;
  }
  return true;
}

/// Of which some part computes or reads other rows in a band than the others that touch them.
std::vector<TensorId> tensors_of_other_rows(const std::map<TensorId, TensorId>& tensors,
                                            const std::vector<PartRows>& rows, const Calls& calls) {
  std::vector<TensorId> found;
  for (const auto& [id, by] : tensors)
    if (!have_same_calls(rows, calls, id)) found.push_back(id);
  return found;
}

/// By band: calls of `pace` rows up to row ends[band], those that are left over in front of them; in one call in the
/// first band, if `at_once`. No row is computed twice.
std::vector<std::vector<RowRange>> calls_to(const std::vector<std::int64_t>& ends, std::int64_t pace, bool at_once) {
  std::vector<std::vector<RowRange>> calls;
  std::int64_t first = 0;
  for (const std::int64_t end : ends) {
    auto& own = calls.emplace_back();
    if (first == 0 && at_once && end > 0) own.push_back({0, end}), first = end;
    for (std::int64_t rows = (end - first) % pace; first < end; rows = pace) {
      if (rows > 0) own.push_back({first, first + rows});
      first += rows;
    }
  }
  return calls;
}

/// Calls of different lengths are programs of their own.
std::size_t lengths_of(const std::vector<std::vector<RowRange>>& calls) {
  std::set<std::int64_t> lengths;
  for (const auto& band : calls)
    for (const RowRange& call : band) lengths.insert(call.end - call.first);
  return lengths.size();
}

std::vector<std::vector<RowRange>> fewest_programs(const std::vector<std::int64_t>& ends, std::int64_t pace) {
  auto split = calls_to(ends, pace, false), at_once = calls_to(ends, pace, true);
  return lengths_of(at_once) < lengths_of(split) ? at_once : split;
}

std::optional<Diagnostic> wrong_rows(std::int64_t by, std::int64_t rows) {
  if (by >= 1 && by <= rows) return std::nullopt;
  return error(fmt::format("bands of {} rows, but the last part has {}", by, rows),
               fmt::format("'by' is 1 to {}", rows));
}

/// Each band is planned.
std::optional<Diagnostic> too_many(std::int64_t bands, std::int64_t by) {
  constexpr std::int64_t most = 1 << 17;
  if (bands <= most) return std::nullopt;
  return error(fmt::format("{} bands of {} rows, and at most {} are planned", bands, by, most),
               "state a lower maximum, or bands of more rows");
}

class BandScheduler {
 public:
  BandScheduler(const Kernel& kernel, const std::vector<Part>& parts, std::int64_t by)
      : kernel_(kernel), parts_(parts), by_(by) {}

  Result<BandSchedule> run(const std::string& along) {
    if (parts_.size() < 2) return error("bands are of two parts or more");
    auto axes = band_axes(kernel_, parts_, along);
    if (!axes) return axes.diagnostics();
    schedule_.axes = std::move(*axes);
    for (const Part& part : parts_) {
      auto rows = rows_of(kernel_, part, schedule_.axes);
      if (!rows) return rows.diagnostics();
      rows_.push_back(std::move(*rows));
    }
    if (auto problem = wrong_rows(by_, rows_.back().rows)) return *problem;
    if (auto problem = too_many(bands(), by_)) return *problem;
    if (!find_bands() || !find_paces()) return problems_;
    find_calls();
    while (buffer_tensors_of_other_rows()) find_calls();  // buffers change which rows are computed
    place_buffers();
    for (std::int64_t band = 0; band < bands(); ++band)
      if (!steps_of(band)) return problems_;
    if (!dense_buffers()) return problems_;
    schedule_.loops = joined(schedule_.loops);
    if (!rows_.back().rest.empty()) add_rest(schedule_, rows_.size() - 1, rows_.back().rows);
    return std::move(schedule_);
  }

 private:
  bool fail(const std::string& message) {
    problems_ = {error(message)};
    return false;
  }
  std::int64_t bands() const { return (rows_.back().rows + by_ - 1) / by_; }
  const Tensor& tensor(TensorId id) const { return kernel_.tensors[id.index()]; }
  std::vector<std::size_t> writers_of(TensorId id) const {
    const auto found = writers_.find(id);
    return found == writers_.end() ? std::vector<std::size_t>{} : found->second;
  }
  bool is_buffer(TensorId id) const { return bands_.contains(id); }
  bool are_summed() const { return !schedule_.axes.summed.empty(); }

  /// Rows that are read again must have been computed again: other tensors get buffers after all. Were there any?
  bool buffer_tensors_of_other_rows() {
    const std::vector<TensorId> found = tensors_of_other_rows(schedule_.in_place, rows_, calls_);
    for (const TensorId id : found) schedule_.in_place.erase(id);
    for (const TensorId id : found) bands_[id] = {writers_[id], rows_[writers_[id].front()].rows, {}, {}};
    return !found.empty();
  }

  bool find_bands() {
    if (!are_summed()) schedule_.in_place = overwritten_whole(kernel_, parts_, rows_, schedule_.axes);
    for (std::size_t p = 0; p < rows_.size(); ++p)
      for (const TensorId id : rows_[p].writes) {
        writers_[id].push_back(p);
        if (!schedule_.in_place.contains(id) && stays_inside(kernel_, parts_, id))
          bands_[id] = {writers_[id], rows_[p].rows, {}, {}};
        else if (row_axis(kernel_, schedule_.axes, id) != row_axis(tensor(id)) && writer_count(kernel_, id) > 1)
          return fail(fmt::format("'{}' is written by several statements along another axis", tensor(id).name));
      }
    for (const PartRows& part : rows_) {
      for (const TensorId id : part.unsliced)
        if (writers_.contains(id)) return fail(fmt::format("every row reads all of '{}'", tensor(id).name));
      for (const RowWindow& window : part.reads) {
        if (!writers_.contains(window.tensor)) continue;
        if (window.axis != row_axis(kernel_, schedule_.axes, window.tensor))
          return fail(fmt::format("'{}' is not read along {}", tensor(window.tensor).name,
                                  schedule_.axes.of.empty() ? "its outermost axis" : "the axis of its rows"));
        if (!is_buffer(window.tensor)) continue;
        Band& band = bands_[window.tensor];
        const bool beyond = window.low < 0 || window.step * (part.rows - 1) + window.high >= band.rows;
        if (!beyond) continue;
        if (band.outside && band.outside != window.outside)
          return fail(fmt::format("'{}' is read with two values outside of it", tensor(window.tensor).name));
        band.outside = window.outside;
      }
    }
    return true;
  }

  /// Rows of a band and lead, from the last part to the first.
  bool find_paces() {
    pace_.assign(rows_.size(), 0);
    lead_.assign(rows_.size(), 0);
    pace_.back() = by_;
    for (std::size_t p = rows_.size(); p-- > 0;) {
      if (pace_[p] == 0)
        return fail(fmt::format("no part behind '{}' in the group reads its rows",
                                kernel_.statements[parts_[p].statements.back()].name));
      for (const RowWindow& window : rows_[p].reads) {
        for (const std::size_t w : writers_of(window.tensor)) {
          const std::int64_t pace = std::min(rows_[w].rows, pace_[p] * window.step);
          if (pace_[w] != 0 && pace_[w] != pace)
            return fail(fmt::format("'{}' is read at two paces", tensor(window.tensor).name));
          pace_[w] = pace;
          lead_[w] = std::max(lead_[w], window.step * (lead_[p] - 1) + window.high + 1);
        }
      }
    }
    return true;
  }

  /// Rows of a part that a consumer reads.
  void find_needs() {
    need_.assign(rows_.size(), 0);
    for (std::size_t p = rows_.size(); p-- > 0;) {
      const bool whole = p + 1 == rows_.size() || std::any_of(rows_[p].writes.begin(), rows_[p].writes.end(),
                                                              [&](TensorId id) { return !is_buffer(id); });
      need_[p] = whole ? rows_[p].rows : std::min(need_[p], rows_[p].rows);
      for (const RowWindow& window : rows_[p].reads)
        for (const std::size_t w : writers_of(window.tensor))
          need_[w] = std::max(need_[w], read_by(window, {0, need_[p]}).end);
    }
  }

  /// Rows of a part that are there after a band.
  std::int64_t done(std::size_t p, std::int64_t band) const {
    if (band < 0) return 0;
    return band + 1 == bands() ? need_[p] : std::min(need_[p], (band + 1) * pace_[p] + lead_[p]);
  }

  std::int64_t done(const Band& of, std::int64_t band) const {
    std::int64_t most = 0;
    for (const std::size_t w : of.writers) most = std::max(most, done(w, band));
    return most;
  }

  void find_calls() {
    find_needs();
    calls_.clear();
    for (std::size_t p = 0; p < rows_.size(); ++p) {
      std::vector<std::int64_t> ends;
      for (std::int64_t band = 0; band < bands(); ++band) ends.push_back(done(p, band));
      calls_.push_back(fewest_programs(ends, pace_[p]));
    }
  }

  /// Rows of a tensor that a band touches; first >= end: none.
  RowRange touched(TensorId id, std::int64_t band) const {
    RowRange all{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
    const auto add = [&](const RowRange& rows) {
      all.first = std::min(all.first, rows.first);
      all.end = std::max(all.end, rows.end);
    };
    const auto at = static_cast<std::size_t>(band);
    for (const std::size_t w : writers_of(id))
      for (const RowRange& call : calls_[w][at]) add(call);
    for (std::size_t p = 0; p < rows_.size(); ++p)
      for (const RowWindow& window : rows_[p].reads)
        if (window.tensor == id)
          for (const RowRange& call : calls_[p][at]) add(read_by(window, call));
    return all;
  }

  /// A buffer begins at the first row that this band or a later one touches.
  void place_buffers() {
    for (auto& [id, band] : bands_) {
      band.begins.assign(static_cast<std::size_t>(bands()), 0);
      std::int64_t first = std::numeric_limits<std::int64_t>::max(), most = 0;
      for (std::int64_t b = bands(); b-- > 0;) {
        const RowRange rows = touched(id, b);
        first = std::min(first, rows.first);
        band.begins[static_cast<std::size_t>(b)] = first;
        most = std::max(most, std::max(rows.end, done(band, b)) - first);
      }
      schedule_.buffers[id] = most;
    }
  }

  bool steps_of(std::int64_t band) {
    std::vector<BandStep> steps;
    for (std::size_t p = 0; p < rows_.size(); ++p) {
      for (const TensorId id : rows_[p].writes)
        if (is_buffer(id) && bands_.at(id).writers[0] == p) prepare(id, band, steps);
      for (const RowRange& call : calls_[p][static_cast<std::size_t>(band)])
        if (!add_call(p, call, band, steps)) return false;
    }
    schedule_.loops.push_back({1, std::move(steps), {}});
    return true;
  }

  /// Rows that are read again move to the start of the buffer; rows beyond the tensor get their value.
  void prepare(TensorId id, std::int64_t band, std::vector<BandStep>& steps) const {
    const Band& of = bands_.at(id);
    const std::int64_t begin = of.begins[static_cast<std::size_t>(band)], end = touched(id, band).end;
    const auto fill = [&](std::int64_t first, std::int64_t last) {
      if (first < last)
        steps.push_back({BandStep::Kind::fill, id, first - begin, last - first, of.outside.value_or(0), of.writers[0]});
    };
    if (band > 0) {
      const std::int64_t before = of.begins[static_cast<std::size_t>(band) - 1], kept = done(of, band - 1) - begin;
      if (begin > before && kept > 0 && !is_rewritten(of, touched(id, band), calls_, static_cast<std::size_t>(band)))
        steps.push_back({BandStep::Kind::move, id, begin - before, kept, 0, of.writers[0]});
    } else {
      fill(begin, 0);
    }
    fill(of.rows, end);
  }

  bool add_call(std::size_t p, const RowRange& rows, std::int64_t band, std::vector<BandStep>& steps) {
    BandKernel kernel{p, rows.end - rows.first, {}, {}};
    BandStep step{BandStep::Kind::call, {}, 0, kernel.rows, 0, p};
    const auto begin = [&](TensorId id) { return bands_.at(id).begins[static_cast<std::size_t>(band)]; };
    for (const RowWindow& window : rows_[p].reads) {
      const RowRange read = read_by(window, rows);
      const std::int64_t all = tensor(window.tensor).shape[static_cast<std::size_t>(window.axis)];
      const bool buffer = is_buffer(window.tensor);
      kernel.above.push_back(buffer ? 0 : std::max<std::int64_t>(0, -read.first));
      kernel.below.push_back(buffer ? 0 : std::max<std::int64_t>(0, read.end - all));
      if (kernel.above.back() + kernel.below.back() >= read.end - read.first)
        return fail(fmt::format("a band reads only rows outside of '{}'", tensor(window.tensor).name));
      step.at[window.tensor] = buffer ? read.first - begin(window.tensor) : std::max<std::int64_t>(0, read.first);
    }
    for (const TensorId id : rows_[p].writes) step.at[id] = rows.first - (is_buffer(id) ? begin(id) : 0);
    const auto known = std::find(schedule_.kernels.begin(), schedule_.kernels.end(), kernel);
    step.kernel = static_cast<std::size_t>(known - schedule_.kernels.begin());
    if (known == schedule_.kernels.end()) schedule_.kernels.push_back(std::move(kernel));
    steps.push_back(std::move(step));
    return true;
  }

  /// Rows along an inner axis are no block: such buffers hold the rows of one call, the same ones for all calls of a
  /// band, and nothing is moved in them.
  bool dense_buffers() {
    for (const auto& [id, most] : schedule_.buffers) {
      if (row_axis(kernel_, schedule_.axes, id) == row_axis(tensor(id))) continue;
      for (std::size_t band = 0; band < schedule_.loops.size(); ++band) {
        const RowRange all = touched(id, static_cast<std::int64_t>(band));
        for (const BandStep& step : schedule_.loops[band].steps)
          if (step.kind == BandStep::Kind::call ? touches_other_rows(step, rows_[step.part], id, all.end - all.first)
                                                : step.tensor == id)
            return fail(fmt::format("bands keep rows of '{}', which is stored along another axis", tensor(id).name));
      }
    }
    return true;
  }

  const Kernel& kernel_;
  const std::vector<Part>& parts_;
  std::int64_t by_;
  std::vector<PartRows> rows_;                            ///< by part
  std::map<TensorId, std::vector<std::size_t>> writers_;  ///< of tensors that the group writes: the parts
  std::map<TensorId, Band> bands_;                        ///< of those that only the group touches
  std::vector<std::int64_t> pace_, lead_, need_;          ///< by part
  Calls calls_;
  BandSchedule schedule_;
  Diagnostics problems_;
};

}  // namespace

Result<BandSchedule> band_schedule(const Kernel& kernel, const std::vector<Part>& parts, std::int64_t by,
                                   const std::string& along) {
  return BandScheduler(kernel, parts, by).run(along);
}

bool is_inside(const BandSchedule& schedule, TensorId tensor) {
  return schedule.buffers.contains(tensor) || schedule.in_place.contains(tensor);
}

std::vector<std::int64_t> call_counts(const BandSchedule& schedule) {
  std::vector<std::int64_t> counts(schedule.kernels.size(), 0);
  for (const BandLoop& loop : schedule.loops)
    for (const BandStep& step : loop.steps)
      if (step.kind == BandStep::Kind::call) counts[step.kernel] += loop.times;
  return counts;
}

}  // namespace isamap
