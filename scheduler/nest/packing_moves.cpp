// SPDX-License-Identifier: Apache-2.0
#include "scheduler/nest/packing_moves.h"

#include <algorithm>
#include <functional>

#include "scheduler/nest/instruction_timing.h"
#include "scheduler/nest/lowering_support.h"
#include "scheduler/nest/move_points.h"
#include "scheduler/nest/operand_compatibility.h"
#include "scheduler/nest/tile_layout.h"
#include "support/arithmetic.h"

namespace isamap {
namespace {

/// Offsets along one dim of the statement, in elements: in the tensor and in the copy. Both are sums over the dims, so
/// that each dim can be checked by itself.
struct DimPlaces {
  std::size_t dim = 0;
  std::int64_t stride = 0;                                       ///< in the tensor
  std::int64_t block = 1;                                        ///< elements of the innermost digit; 1: not split
  std::int64_t room = 1;                                         ///< elements of all digits but the outermost
  std::vector<std::pair<SplitDigit, std::int64_t>> digits = {};  ///< of the copy, with their strides

  std::int64_t in_tensor(std::int64_t at) const { return stride * at; }
  std::int64_t in_copy(std::int64_t at) const {
    std::int64_t place = 0;
    for (const auto& [digit, step] : digits) {
      const std::int64_t quotient = at / digit.divide;
      place += step * (digit.modulo > 0 ? quotient % digit.modulo : quotient);
    }
    return place;
  }
};

/// Dims that are a whole subscript and in no other, with their digits. Nothing: a digit of the layout is no digit of a
/// dim.
std::optional<std::vector<DimPlaces>> dims_of(const PackedCopy& copy) {
  const IterationDomain& domain = *copy.domain;
  std::vector<DimPlaces> found;
  std::int64_t stride = 1;
  for (std::size_t axis = copy.access->index.size(); axis-- > 0;) {
    const AffineExpr& e = copy.access->index[axis];
    if (const auto name = (e - e.constant()).as_dim()) {
      const auto elsewhere = [&](const AffineExpr& other) { return &other != &e && other.names().contains(*name); };
      if (std::none_of(copy.access->index.begin(), copy.access->index.end(), elsewhere))
        found.push_back({static_cast<std::size_t>(domain.find(*name)), stride});
    }
    stride *= copy.tensor->shape[axis];
  }
  std::int64_t step = 1;
  for (std::size_t q = copy.layout->size(); q-- > 0;) {
    const auto split = split_digit((*copy.layout)[q].index);
    if (!split) return std::nullopt;
    const auto name = split->form.as_dim();
    const int d = name ? domain.find(*name) : -1;
    if (d < 0) return std::nullopt;
    for (DimPlaces& one : found)
      if (one.dim == static_cast<std::size_t>(d)) {
        one.digits.emplace_back(*split, step);
        if (split->modulo > 0) one.room *= split->modulo;
        if (split->modulo > 0 && split->divide == 1) one.block = split->modulo;
      }
    step *= digit_extent(*split, copy.tile[static_cast<std::size_t>(d)]) + (*copy.layout)[q].pad;
  }
  return found;
}

/// Does the operand's layout give `count` points along a dim of the move these offsets? A free stride may be any
/// number.
bool has_layout(const Operand& operand, const std::string& dim, std::int64_t count,
                const std::function<std::int64_t(std::int64_t)>& place) {
  const auto* layout = std::get_if<StridedLayout>(&operand.layout);
  if (layout == nullptr || layout->swizzle) return false;
  std::optional<std::int64_t> chosen;
  for (std::int64_t at = 1; at < count; ++at) {
    std::int64_t fixed = 0, free = 0;
    for (const StrideTerm& t : layout->terms) {
      const auto names = t.term.names();
      if (!names.contains(dim)) continue;
      if (names.size() != 1 || !t.each.empty()) return false;
      const std::int64_t value = evaluate(t.term, {{dim, at}});
      if (!t.stride) {
        free += value;
        continue;
      }
      const auto stride = evaluate(*t.stride, [](const Reference&) { return std::optional<std::int64_t>(); });
      if (!stride) return false;
      fixed += *stride * value;
    }
    const std::int64_t left = place(at) - fixed;
    if (free == 0 ? left != 0 : left % free != 0 || (chosen && *chosen != left / free)) return false;
    if (free != 0) chosen = left / free;
  }
  return true;
}

class MoveFit {
 public:
  MoveFit(const PackedCopy& copy, const std::vector<DimPlaces>& dims) : copy_(copy), dims_(dims) {}

  struct Call {
    double elements = 0;  ///< 0: the move does not fit
    std::int64_t run = 1;
  };

  /// The call with the most elements.
  Call largest_call(const Instruction& move) {
    move_ = &move;
    taken_.assign(dims_.size(), false);
    best_ = {};
    assign(0, {1, 1});
    return best_;
  }

 private:
  bool fits(const DimPlaces& one, std::size_t d, std::int64_t count) const {
    const std::string& name = move_->statement().domain.dims[d].name;
    const Operand& to = move_->operands[operand_of_access(*move_, 0).index()];
    const Operand& from = move_->operands[operand_of_access(*move_, 1).index()];
    const auto tensor = [&](std::int64_t at) { return one.in_tensor(at); };
    const auto packed = [&](std::int64_t at) { return one.in_copy(at); };
    return copy_.is_input ? has_layout(to, name, count, packed) && has_layout(from, name, count, tensor)
                          : has_layout(to, name, count, tensor) && has_layout(from, name, count, packed);
  }

  /// A move must not set elements beyond its extents outside of the tile.
  bool keeps_to_tile(const DimPlaces& one, const DimRange& range, std::int64_t count) const {
    if (range.kept || move_->inactive == Inactive::keep) return true;
    if (count != range.max) return false;
    return copy_.is_input ? one.block > 1 : copy_.domain->dims[one.dim].extent % count == 0;
  }

  void assign(std::size_t d, Call call) {
    if (d == move_->ranges.size()) {
      if (call.elements > best_.elements) best_ = call;
      return;
    }
    for (std::size_t i = 0; i < dims_.size(); ++i) {
      if (taken_[i]) continue;
      const std::int64_t extent = copy_.tile[dims_[i].dim];
      const CutCoordinate cut{round_up(std::max<std::int64_t>(extent, 1), dims_[i].room), dims_[i].block, true};
      for (const std::int64_t count : points_of_move(cut, move_->ranges[d], false)) {
        if (!fits(dims_[i], d, count) || !keeps_to_tile(dims_[i], move_->ranges[d], count)) continue;
        taken_[i] = true;
        const std::int64_t valid = std::min(count, extent);
        assign(d + 1, {call.elements * static_cast<double>(valid), dims_[i].stride == 1 ? valid : call.run});
        taken_[i] = false;
      }
    }
  }

  const PackedCopy& copy_;
  const std::vector<DimPlaces>& dims_;
  const Instruction* move_ = nullptr;
  std::vector<bool> taken_;
  Call best_;
};

/// Cycles per element of a copy by elements, at least: a loop over neighbours in the tensor, or over others.
double least_cycles_by_element(const PackedCopy& copy, const std::vector<DimPlaces>& dims,
                               const TimingParameters& timing) {
  const auto innermost = split_digit(copy.layout->back().index);
  const auto name = innermost && innermost->divide == 1 ? innermost->form.as_dim() : std::nullopt;
  const bool contiguous = name && std::any_of(dims.begin(), dims.end(), [&](const DimPlaces& one) {
                            return one.stride == 1 && copy.domain->dims[one.dim].name == *name;
                          });
  return contiguous ? timing.copy_contiguous : timing.copy_strided;
}

}  // namespace

std::optional<PackingMove> packing_move(const PackedCopy& copy, const HardwareModel& model) {
  std::optional<PackingMove> best;
  std::optional<std::vector<DimPlaces>> dims;
  for (const InstructionId id : model.moves()) {
    const Instruction& move = model.instruction(id);
    if (!move.link.valid() || model.link(move.link).from != copy.memory || model.link(move.link).to != copy.memory ||
        !not_lowered(move, model).empty() || !type_refusal(move, 0, copy.tensor->dtype).empty() ||
        !type_refusal(move, 1, copy.tensor->dtype).empty())
      continue;
    if (!dims && !(dims = dims_of(copy))) return std::nullopt;
    const auto [elements, run] = MoveFit(copy, *dims).largest_call(move);
    if (elements < 1) continue;
    const double cycles = full_interval(move) / elements;
    if (!best || cycles < best->cycles) best = {id, cycles, run};
  }
  // A row of few elements, or one point along a dim, fits into moves that turn whole blocks, and takes as long.
  if (best && best->cycles > least_cycles_by_element(copy, *dims, model.timing)) return std::nullopt;
  return best;
}

}  // namespace isamap
