// SPDX-License-Identifier: Apache-2.0
#include "ir/evaluation/row_access.h"

#include <algorithm>

#include "support/arithmetic.h"

namespace isamap {

RowAccess::RowAccess(const Access& access, const Tensor& tensor, const std::vector<std::string>& dims, std::size_t row)
    : dtype_(tensor.dtype), row_(row), position_(row_major(access.index, tensor.shape), dims), shape_(tensor.shape) {
  bool linear = position_.is_linear();
  if (const auto outside = access.outside ? access.outside : tensor.outside) {
    may_leave_ = true;
    outside_ = convert({*outside, 0}, DType::f64, tensor.dtype, true);
    for (const AffineExpr& e : access.index) {
      index_.emplace_back(e, dims);
      linear = linear && index_.back().is_linear();
    }
  }
  if (linear) {
    stride_ = position_.coefficient(row);
    for (const CompiledAffine& index : index_) index_stride_.push_back(index.coefficient(row));
  }
  real_.resize(is_float(dtype_) ? static_cast<std::size_t>(RowExpr::max_length) : 0);
  integer_.resize(is_float(dtype_) ? 0 : static_cast<std::size_t>(RowExpr::max_length));
}

void RowAccess::set_computed(const ComputedIndex& computed, const Access& access) {
  computed_by_ = static_cast<std::size_t>(computed.read);
  computed_stride_ = 1;
  for (std::size_t d = static_cast<std::size_t>(computed.axis) + 1; d < access.index.size(); ++d)
    computed_stride_ *= shape_[d];
  computed_extent_ = shape_[static_cast<std::size_t>(computed.axis)];
  stride_.reset();
}

void RowAccess::choose(const Row& indices, std::int64_t length) {
  chosen_.resize(static_cast<std::size_t>(length));
  for (std::int64_t i = 0; i < length; ++i) {
    const std::int64_t index = indices.integer[indices.uniform ? 0 : i];
    chosen_[static_cast<std::size_t>(i)] = std::clamp<std::int64_t>(index, 0, computed_extent_ - 1) * computed_stride_;
  }
}

// The x at which every linear subscript a + c*x lies in its dimension: an interval, as x in [low, high].
Interval RowAccess::inside(std::int64_t* point, std::int64_t first, std::int64_t length) const {
  Interval valid{first, first + length - 1};
  point[row_] = 0;
  for (std::size_t d = 0; d < index_.size(); ++d) {
    const std::int64_t a = index_[d](point);
    const std::int64_t c = index_stride_[d];
    const std::int64_t last = shape_[d] - 1 - a;
    if (c == 0 && (a < 0 || last < 0)) return {first, first - 1};
    if (c > 0) valid = {std::max(valid.low, ceil_div(-a, c)), std::min(valid.high, floor_div(last, c))};
    if (c < 0) valid = {std::max(valid.low, ceil_div(-last, -c)), std::min(valid.high, floor_div(a, -c))};
  }
  return valid.low > valid.high ? Interval{first, first - 1} : valid;
}

bool RowAccess::is_inside(const std::int64_t* point) const {
  for (std::size_t d = 0; d < index_.size(); ++d) {
    const std::int64_t value = index_[d](point);
    if (value < 0 || value >= shape_[d]) return false;
  }
  return true;
}

template <class T>
void RowAccess::gather_strided(const std::vector<T>& from, std::vector<T>& row, T outside, std::int64_t* point,
                               std::int64_t first, std::int64_t length) {
  const Interval valid = may_leave_ ? inside(point, first, length) : Interval{first, first + length - 1};
  point[row_] = valid.low;
  T* out = row.data();
  const std::int64_t before = valid.low - first;
  const std::int64_t count = valid.high - valid.low + 1;
  std::fill(out, out + before, outside);
  const T* source = count > 0 ? from.data() + position_(point) : nullptr;
  for (std::int64_t i = 0; i < count; ++i) out[before + i] = source[i * *stride_];
  std::fill(out + before + count, out + length, outside);
}

template <class T>
Row RowAccess::gather(const std::vector<T>& from, std::vector<T>& row, T outside, std::int64_t* point,
                      std::int64_t first, std::int64_t length) {
  const auto shown = [](const T* values, bool uniform) {
    if constexpr (std::is_same_v<T, double>)
      return Row{uniform, values, nullptr};
    else
      return Row{uniform, nullptr, values};
  };
  point[row_] = first;
  if (stride_ && !may_leave_ && *stride_ <= 1 && *stride_ >= 0)
    return shown(from.data() + position_(point), *stride_ == 0);
  if (stride_) {
    gather_strided(from, row, outside, point, first, length);
    return shown(row.data(), false);
  }
  for (std::int64_t i = 0; i < length; ++i) {
    point[row_] = first + i;
    const std::int64_t chosen = computed_by_ ? chosen_[static_cast<std::size_t>(i)] : 0;
    row[static_cast<std::size_t>(i)] =
        may_leave_ && !is_inside(point) ? outside : from[static_cast<std::size_t>(position_(point) + chosen)];
  }
  return shown(row.data(), false);
}

Row RowAccess::load(const Numbers& numbers, std::int64_t* point, std::int64_t first, std::int64_t length) {
  if (is_float(dtype_)) return gather(numbers.real, real_, outside_.real, point, first, length);
  return gather(numbers.integer, integer_, outside_.integer, point, first, length);
}

}  // namespace isamap
