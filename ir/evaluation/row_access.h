// SPDX-License-Identifier: Apache-2.0
#pragma once
// Positions of an access's elements along a row of points.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/evaluation/row_expr.h"
#include "isamap/kernel.h"

namespace isamap {

/// A tensor's values: `real` for float types, else `integer`.
struct Numbers {
  std::vector<double> real;
  std::vector<std::int64_t> integer;
};

class RowAccess {
 public:
  /// `row`: the slot of the dim that rows run along.
  RowAccess(const Access& access, const Tensor& tensor, const std::vector<std::string>& dims, std::size_t row);

  /// One subscript comes from a row of another read: call `choose` with that row before each `load`.
  void set_computed(const ComputedIndex& computed, const Access& access);
  std::optional<std::size_t> computed_by() const { return computed_by_; }
  void choose(const Row& indices, std::int64_t length);

  /// The row's values at point[row] = first, first + 1, ...; point[row] is overwritten.
  Row load(const Numbers& numbers, std::int64_t* point, std::int64_t first, std::int64_t length);
  /// Element positions along the row: the first and the stride; nothing if quasi-affine.
  std::optional<std::int64_t> stride() const { return stride_; }
  std::int64_t position(const std::int64_t* point) const { return position_(point); }
  const DType& dtype() const { return dtype_; }

 private:
  Interval inside(std::int64_t* point, std::int64_t first, std::int64_t length) const;
  bool is_inside(const std::int64_t* point) const;
  template <class T>
  Row gather(const std::vector<T>& from, std::vector<T>& row, T outside, std::int64_t* point, std::int64_t first,
             std::int64_t length);
  template <class T>
  void gather_strided(const std::vector<T>& from, std::vector<T>& row, T outside, std::int64_t* point,
                      std::int64_t first, std::int64_t length);

  DType dtype_;
  std::optional<std::size_t> computed_by_;
  std::int64_t computed_stride_ = 0, computed_extent_ = 0;
  std::vector<std::int64_t> chosen_;  ///< offsets along the row, of the computed subscript
  std::size_t row_;
  CompiledAffine position_;
  std::vector<CompiledAffine> index_;  ///< only with `outside`
  std::vector<std::int64_t> shape_, index_stride_;
  std::optional<std::int64_t> stride_;
  bool may_leave_ = false;
  Scalar outside_;
  std::vector<double> real_;
  std::vector<std::int64_t> integer_;
};

}  // namespace isamap
