// SPDX-License-Identifier: Apache-2.0
#include "mapper/proof/counterexample_search.h"

#include <algorithm>
#include <map>

#include "support/arithmetic.h"

namespace isamap {
namespace {

constexpr std::int64_t max_points = 4096, max_tried = 16384;  // of a call; of all

using Numbers = std::vector<std::int64_t>;

std::vector<std::string> names_of(const std::vector<Dim>& dims) {
  std::vector<std::string> names;
  for (const Dim& dim : dims) names.push_back(dim.name);
  return names;
}

std::vector<CompiledAffine> compiled(const std::vector<AffineExpr>& index, const std::vector<Dim>& dims) {
  std::vector<CompiledAffine> result;
  for (const AffineExpr& e : index) result.emplace_back(e, names_of(dims));
  return result;
}

/// Instruction dims along which a slot or an element of one of the operands moves.
std::vector<bool> moving_dims(const Alignment& alignment, const std::vector<DigitStep>& digit_steps,
                              OperandSet operands) {
  std::vector<bool> moves(alignment.instruction_uses.size(), false);
  for (int t = 0; t < alignment.operand_count(); ++t) {
    if ((operands >> t & 1U) == 0) continue;
    for (std::size_t m = 0; m < moves.size(); ++m) {
      const bool used = (alignment.instruction_uses[m] >> t & 1U) != 0;
      moves[m] =
          moves[m] || used || std::any_of(digit_steps.begin(), digit_steps.end(), [&](const DigitStep& digit_step) {
            return digit_step.on(static_cast<int>(m)) != nullptr && !is_invariant(alignment, t, digit_step.column);
          });
    }
  }
  return moves;
}

class TriedCalls {
 public:
  TriedCalls(const Alignment& alignment, const std::vector<DigitStep>& digit_steps, OperandSet operands)
      : alignment_(alignment), digit_steps_(digit_steps), moves_(moving_dims(alignment, digit_steps, operands)) {
    const std::vector<Dim>&dims = alignment.semantics().domain.dims, &own = alignment.computation().domain.dims;
    faces_ = compiled(alignment.computation().domain.faces, own);
    for (int t = 0; t < alignment.operand_count(); ++t)
      if ((operands >> t & 1U) != 0)
        reads_.push_back(
            {t, compiled(alignment.instruction_access(t).index, dims), compiled(alignment.access(t).index, own)});
    for (std::size_t m = 0; m < dims.size(); ++m) {
      extents_.push_back(instruction_extent(alignment, static_cast<int>(m)));
      counts_.push_back(std::max<std::int64_t>(1, digits_extent(digit_steps, static_cast<int>(m))));
    }
  }

  /// Are there two elements in one slot of the calls at the first tiles, the second ones and the last?
  bool some_call_is_wrong() {
    std::int64_t points = 1;
    for (std::size_t m = 0; m < extents_.size(); ++m)
      if (moves_[m]) points = std::min(points, max_points + 1) * extents_[m];
    return points <= max_points && choose_tile(0);
  }

 private:
  struct Read {
    int operand;
    std::vector<CompiledAffine> slot, element;
  };
  using Place = std::pair<TensorId, Numbers>;

  bool choose_tile(std::size_t m) {
    if (m == 0) first_.assign(extents_.size(), 0);
    if (tried_ > max_tried) return false;
    if (m == extents_.size()) return call_is_wrong();
    const std::int64_t last = (counts_[m] - 1) / extents_[m];
    std::int64_t before = -1;
    for (const std::int64_t tile : {std::int64_t{0}, std::min<std::int64_t>(1, last), last}) {
      if (tile == before || (tile > 0 && !moves_[m])) continue;
      before = tile;
      first_[m] = tile * extents_[m];
      if (choose_tile(m + 1)) return true;
    }
    return false;
  }

  bool call_is_wrong() {
    std::map<Place, Place> held;  // slot -> element
    Numbers y(extents_.size(), 0);
    while (true) {
      ++tried_;
      if (at(y))
        for (const Read& read : reads_) {
          const Place slot{alignment_.instruction_access(read.operand).tensor, values(read.slot, y)},
              element{alignment_.access(read.operand).tensor, values(read.element, point_)};
          if (held.emplace(slot, element).first->second != element) return true;
        }
      std::size_t m = y.size();
      while (m > 0 && (!moves_[m - 1] || ++y[m - 1] >= extents_[m - 1])) y[--m] = 0;
      if (m == 0) return false;
    }
  }

  /// The statement's point at y of the call, into `point_`; false: y is past the digits, tied digits differ, or the
  /// domain has no such point.
  bool at(const Numbers& y) {
    const std::vector<Dim>& dims = alignment_.computation().domain.dims;
    for (std::size_t m = 0; m < y.size(); ++m)
      if (first_[m] + y[m] >= counts_[m]) return false;
    point_.assign(dims.size(), 0);
    for (const DigitStep& digit_step : digit_steps_) {
      std::int64_t digit = -1;
      for (const DigitStep::Place& place : digit_step.places) {
        const auto m = static_cast<std::size_t>(place.dim);
        const std::int64_t here = (first_[m] + y[m]) / place.weight % digit_step.extent;
        if (digit >= 0 && here != digit) return false;
        digit = here;
      }
      for (std::size_t d = 0; d < dims.size(); ++d) point_[d] += digit_step.column[d] * digit;
    }
    for (std::size_t d = 0; d < dims.size(); ++d)
      if (point_[d] < 0 || point_[d] >= dims[d].extent) return false;
    return std::all_of(faces_.begin(), faces_.end(),
                       [&](const CompiledAffine& face) { return face(point_.data()) >= 0; });
  }

  static Numbers values(const std::vector<CompiledAffine>& index, const Numbers& at) {
    Numbers result;
    for (const CompiledAffine& e : index) result.push_back(e(at.data()));
    return result;
  }

  const Alignment& alignment_;
  const std::vector<DigitStep>& digit_steps_;
  std::vector<bool> moves_;
  std::vector<CompiledAffine> faces_;
  std::vector<Read> reads_;
  Numbers extents_, counts_, first_, point_;
  std::int64_t tried_ = 0;
};

/// Enumerates places in digits and loops, and which call writes which element of the output.
class WrittenElements {
 public:
  WrittenElements(const Alignment& alignment, const std::vector<DigitStep>& digit_steps, const Cover& cover)
      : alignment_(alignment),
        digit_steps_(digit_steps),
        dims_(alignment.computation().domain.dims),
        index_(compiled(alignment.computation().write.index, dims_)),
        faces_(compiled(alignment.computation().domain.faces, dims_)),
        point_(dims_.size(), 0) {
    for (const DigitStep& digit : digit_steps) counters_.push_back({digit.column, digit.extent, false});
    for (const bool floating : {false, true})
      for (const Cover::Loop& loop : cover.loops)
        if (loop.floating == floating) counters_.push_back(loop);
    values_.assign(counters_.size(), 0);
    later_.assign(counters_.size() + 1, std::vector<Interval>(dims_.size(), Interval{0, 0}));
    for (std::size_t c = counters_.size(); c-- > 0;)
      for (std::size_t d = 0; d < dims_.size(); ++d) later_[c][d] = reach(counters_[c], d, later_[c + 1][d]);
  }

  /// All places, or, where these are too many, those at the ends of digits and loops.
  Truth written_apart() {
    for (const bool ends : {false, true}) {
      only_ends_ = ends;
      tried_ = inside_ = 0;
      if (!enumerate(0)) return Truth::no;
      if (tried_ < max_tried) break;
    }
    std::int64_t points = 1;
    for (const Dim& dim : dims_) points = std::min(points * std::min(dim.extent, max_tried), 2 * max_tried);
    return !only_ends_ && faces_.empty() && inside_ == points ? Truth::yes : Truth::unknown;
  }

 private:
  static constexpr std::int64_t unbounded = std::int64_t{1} << 50;

  static Interval reach(const Cover::Loop& counter, std::size_t d, const Interval& later) {
    if (counter.step[d] == 0) return later;
    if (counter.floating || counter.extent >= unbounded / std::abs(counter.step[d])) return {-unbounded, unbounded};
    const std::int64_t far = counter.step[d] * (counter.extent - 1);
    return {std::max(-unbounded, later.low + std::min<std::int64_t>(0, far)),
            std::min(unbounded, later.high + std::max<std::int64_t>(0, far))};
  }

  /// False: two calls write one element.
  bool enumerate(std::size_t c) {
    ++tried_;
    if (c == counters_.size()) return visit();
    const Interval range = values_of(c);
    std::int64_t v = range.low;
    while (v <= range.high && tried_ < max_tried) {
      if (!try_value(c, v)) return false;
      v = only_ends_ && v > range.low && v < range.high ? range.high : v + 1;
    }
    return true;
  }

  bool try_value(std::size_t c, std::int64_t value) {
    values_[c] = value;
    for (std::size_t d = 0; d < point_.size(); ++d) point_[d] += counters_[c].step[d] * value;
    const bool apart = enumerate(c + 1);
    for (std::size_t d = 0; d < point_.size(); ++d) point_[d] -= counters_[c].step[d] * value;
    return apart;
  }

  /// The values of a digit or loop with which the later ones can still reach the domain.
  Interval values_of(std::size_t c) const {
    const Cover::Loop& counter = counters_[c];
    Interval range{counter.floating ? -unbounded : 0, counter.floating ? unbounded : counter.extent - 1};
    for (std::size_t d = 0; d < point_.size(); ++d) {
      const std::int64_t step = counter.step[d];
      const Interval& later = later_[c + 1][d];
      if (step == 0 || later.low == -unbounded || later.high == unbounded) continue;
      const std::int64_t least = -point_[d] - later.high, most = dims_[d].extent - 1 - point_[d] - later.low;
      range.low = std::max(range.low, step > 0 ? ceil_div(least, step) : ceil_div(-most, -step));
      range.high = std::min(range.high, step > 0 ? floor_div(most, step) : floor_div(-least, -step));
    }
    if (range.low == -unbounded || range.high == unbounded) return {-counter.extent, counter.extent};
    return range;
  }

  bool visit() {
    for (std::size_t d = 0; d < point_.size(); ++d)
      if (point_[d] < 0 || point_[d] >= dims_[d].extent) return true;
    for (const CompiledAffine& face : faces_)
      if (face(point_.data()) < 0) return true;
    ++inside_;
    Numbers element;
    for (const CompiledAffine& e : index_) element.push_back(e(point_.data()));
    Numbers call = call_at();
    const auto found = written_by_.find(element);
    if (found != written_by_.end()) return found->second == call;
    written_by_.emplace(std::move(element), std::move(call));
    return true;
  }

  /// The loops' values, and the tile of each instruction dim.
  Numbers call_at() const {
    Numbers call(values_.begin() + std::ssize(digit_steps_), values_.end());
    for (std::size_t m = 0; m < alignment_.instruction_uses.size(); ++m) {
      std::int64_t count = 0;
      for (std::size_t d = 0; d < digit_steps_.size(); ++d)
        if (const DigitStep::Place* place = digit_steps_[d].on(static_cast<int>(m)))
          count += values_[d] * place->weight;
      call.push_back(count / instruction_extent(alignment_, static_cast<int>(m)));
    }
    return call;
  }

  const Alignment& alignment_;
  const std::vector<DigitStep>& digit_steps_;
  const std::vector<Dim>& dims_;
  std::vector<CompiledAffine> index_, faces_;
  std::vector<Cover::Loop> counters_;         ///< digits, loops, loops that float
  std::vector<std::vector<Interval>> later_;  ///< what the counters from one on add to each coordinate
  Numbers point_, values_;
  std::map<Numbers, Numbers> written_by_;  ///< element -> call
  std::int64_t tried_ = 0, inside_ = 0;
  bool only_ends_ = false;
};

}  // namespace

Truth calls_write_apart(const Alignment& alignment, const std::vector<DigitStep>& digit_steps, const Cover& cover) {
  if (std::any_of(digit_steps.begin(), digit_steps.end(), [](const DigitStep& w) { return w.extent < 1; }))
    return Truth::unknown;  // no call
  return WrittenElements(alignment, digit_steps, cover).written_apart();
}

bool slot_holds_two(const Alignment& alignment, const std::vector<DigitStep>& digit_steps, OperandSet operands) {
  if (std::any_of(digit_steps.begin(), digit_steps.end(), [](const DigitStep& w) { return w.extent < 1; }))
    return false;  // no call
  return TriedCalls(alignment, digit_steps, operands).some_call_is_wrong();
}

}  // namespace isamap
