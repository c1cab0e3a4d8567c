// SPDX-License-Identifier: Apache-2.0
#pragma once
// The loops of parts that run in bands, with places in place of rows.

#include <functional>
#include <map>
#include <tuple>

#include "driver/compile_model.h"

namespace isamap {

/// Slices of a constant tensor, which one call reads in the bands of a loop.
struct ConstantSlices {
  int axis = 0;
  std::int64_t rows = 0;            ///< of a slice
  std::vector<std::int64_t> first;  ///< by band
  bool operator<(const ConstantSlices& other) const {
    return std::tie(axis, rows, first) < std::tie(other.axis, other.rows, other.first);
  }
};
using SlicedConstants = std::map<TensorId, ConstantSlices>;

/// What step `step` of a loop reads in slices; it is a call.
SlicedConstants sliced_constants(const CompiledModel& compiled, const CompiledBands& bands, const Kernel& kernel,
                                 const BandLoop& loop, std::size_t step);

/// These rows of a tensor, dense.
std::vector<std::uint8_t> slice(const TensorData& data, int axis, std::int64_t first, std::int64_t rows);

struct BandLinking {
  const Kernel& kernel;                       ///< of the model, in the orders of its plan
  std::function<ModelPlace(TensorId)> place;  ///< of a tensor or its buffer
  /// Of a kernel of the schedule, at row 0 of everything but constants.
  std::function<Result<PartCall>(std::size_t kernel, const SlicedConstants&)> call;
};

/// `bands`: one of those of `compiled`.
Result<ModelBands> link_bands(const CompiledModel& compiled, const CompiledBands& bands, const BandLinking& with);

}  // namespace isamap
