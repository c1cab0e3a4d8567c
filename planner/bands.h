// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bands of rows: consecutive parts of a model that run in a loop, each on a few rows at a time, so that the tensors
// between them are buffers of a few rows that stay in a cache.
//
//   A: T[p,q] from X[p,q]        B: Y[p,q] from T[p + r - 1, q], r < 3        bands of 4 rows of B:
//
//   fill row -1 of T's buffer            what B reads beyond the first row
//   A on row 0                           B is ahead of A by one row
//   A on rows 1..4, B on rows 0..3
//   for each band: move the last two rows of T to the front of its buffer; A on 4 rows; B on 4 rows
//
// Rows of a window that the next band reads again are kept, not computed again. A row is a step along the outermost
// stored axis of more than one element, or along the axis of a named dim of the last part (heads of an attention,
// queries, channels); windows that overlap need the former, since rows are moved as one block. Weights that a band
// reads along that dim are sliced with it. This is the sliding window of Halide's storage folding (Ragan-Kelley et
// al., PLDI 2013), over parts that were compiled apart.
//
// A dim over which the last part sums may be the rows too (channels of an inverted residual, heads before the output
// projection): every band adds its share to the whole sum, and what follows the sum in its part runs once, behind all
// bands. All weights are then sliced, so each is read once however many bands there are.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "isamap/kernel.h"
#include "planner/plan.h"

namespace isamap {

/// Row p of a part reads rows step*p + low .. step*p + high of a tensor, along this axis of it.
struct RowWindow {
  TensorId tensor;
  int axis = 0;
  std::int64_t step = 1, low = 0, high = 0;
  std::optional<double> outside;  ///< the value of rows that the tensor does not have
};

/// How the rows of a group lie in its tensors.
struct BandAxes {
  std::map<TensorId, int> of;  ///< the axis of its rows; of tensors that are not here, the outermost above one element
  TensorId sum = {};           ///< that the first statement of the last part sums over bands; invalid: none
  std::string summed = {};     ///< its dim that the rows are points of
  bool operator==(const BandAxes&) const = default;
};

/// How the rows of a part, which all its statements walk alike, depend on rows of other tensors.
struct PartRows {
  std::int64_t rows = 0;
  std::vector<RowWindow> reads;    ///< of tensors from outside of the part, constant ones too; each tensor once
  std::vector<TensorId> unsliced;  ///< tensors that every row reads in full
  std::vector<TensorId> writes;    ///< tensors that are read outside of the part, or are outputs
  /// Of a part that sums over bands: its statements behind the sum, whose reads are `unsliced`. `writes` has neither
  /// the sum nor what they write.
  std::vector<std::size_t> rest;
};

/// The outermost axis of more than one element; -1: there is none.
int row_axis(const Tensor& tensor);
int row_axis(const Kernel& kernel, const BandAxes& axes, TensorId tensor);
/// Bytes from one row to the next, along this axis of the dense tensor.
std::int64_t row_bytes(const Tensor& tensor, int axis);
/// Bytes of all elements with one index along this axis: as many as `row_bytes` where it is the outermost.
std::int64_t slice_bytes(const Tensor& tensor, int axis);

/// The axes of all tensors that the parts write, if a row of the last part is a point of this dim of its first
/// statement, which it writes along or sums over; none if it has no name. Errors: a statement that no loop over such
/// rows reaches, in words.
Result<BandAxes> band_axes(const Kernel& kernel, const std::vector<Part>& parts, const std::string& along);

/// Errors: why the part has no rows in this sense, in words.
Result<PartRows> rows_of(const Kernel& kernel, const Part& part, const BandAxes& axes = {});

/// A part on so many rows. `above`, `below`: by read of its PartRows, rows of the window outside of the tensor: only
/// where the whole tensor is read, since buffers hold such rows.
struct BandKernel {
  std::size_t part = 0;  ///< in the group
  std::int64_t rows = 0;
  std::vector<std::int64_t> above, below;
  bool rest = false;  ///< instead: the part's statements behind its sum over bands, on the whole
  bool operator==(const BandKernel&) const = default;
};

/// One step of a band. Rows are positions in the tensor's buffer where it has one, else rows of the tensor.
struct BandStep {
  enum class Kind {
    move,  ///< `rows` rows of a buffer from `from` to its start
    fill,  ///< `rows` rows of a buffer from `from` with `value`
    call   ///< a kernel; `at`: by tensor, its first row
  };
  Kind kind = Kind::call;
  TensorId tensor = {};
  std::int64_t from = 0, rows = 0;
  double value = 0;
  std::size_t part = 0;    ///< in the group: of the call, or the one that writes the buffer
  std::size_t kernel = 0;  ///< in BandSchedule::kernels
  std::map<TensorId, std::int64_t> at = {};
  bool operator==(const BandStep&) const = default;
};

/// Bands that differ only in where their rows begin.
struct BandLoop {
  std::int64_t times = 1;
  std::vector<BandStep> steps;                          ///< of the first of them
  std::vector<std::map<TensorId, std::int64_t>> moves;  ///< by step: rows by which `at` grows from band to band
  bool operator==(const BandLoop&) const = default;
};

struct BandSchedule {
  std::vector<BandKernel> kernels;           ///< distinct ones
  std::map<TensorId, std::int64_t> buffers;  ///< tensors that only the group touches: rows of their buffers
  /// Tensors that only the group touches, whole, and those outside of it that overwrite them: every part computes or
  /// reads the same rows of them in a band.
  std::map<TensorId, TensorId> in_place;
  std::vector<BandLoop> loops;  ///< in order of execution
  BandAxes axes;                ///< of the tensors that the group writes; none: the outermost
  bool operator==(const BandSchedule&) const = default;
};

/// All bands of `by` rows of the last part, along this dim of its first statement (BandGroup::along); the last
/// band has fewer rows where `by` does not divide their number. `kernel`: the model stored in the orders of its plan.
/// Errors: a part without rows, parts that are no path, a tensor that cannot be a band, in words.
Result<BandSchedule> band_schedule(const Kernel& kernel, const std::vector<Part>& parts, std::int64_t by,
                                   const std::string& along = "");

/// Is the tensor between parts of the group alone, in a buffer or in the place of what overwrites it?
bool is_inside(const BandSchedule& schedule, TensorId tensor);

/// By kernel: how often it is called.
std::vector<std::int64_t> call_counts(const BandSchedule& schedule);

/// Kernel `number` of the schedule: tensors with windows and the written ones have as many rows as it touches. Whole
/// tensors keep their strides; buffers and slices of constants are dense.
Kernel cut_rows(const Kernel& kernel, const Part& part, const BandSchedule& schedule, std::size_t number);

}  // namespace isamap
