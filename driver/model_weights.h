// SPDX-License-Identifier: Apache-2.0
#pragma once
// The block of weights of a model: constants as they are or packed, whole or in slices, equal bytes once.

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/interpret.h"
#include "program/model_program.h"

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

class ModelWeights {
 public:
  /// `kernel`: of the model; `data`: by tensor, of which the constant ones are read. All must outlive it.
  ModelWeights(const Kernel& kernel, const std::vector<TensorData>& data, const HardwareModel& machine);

  /// The tensor as it is, or its slices, by `step` of the place.
  ModelPlace unpacked(TensorId id, const SlicedConstants& sliced);
  /// What the pack entry of program `number` makes of the constants of `part`, which names them as the model does: by
  /// buffer that is packed ahead of time. Errors: a pack entry that fails.
  Result<std::vector<ModelPlace>> packed(const Program& program, std::size_t number, const Kernel& part,
                                         const SlicedConstants& sliced);
  const std::vector<std::uint8_t>& bytes() const { return bytes_; }

 private:
  using Bytes = std::vector<std::uint8_t>;
  ModelPlace append(const Bytes& one);
  /// At equal distances; all of one size.
  ModelPlace append(const std::vector<Bytes>& by_band);
  /// Of the part's tensors in this band of a loop; zeros for what is not constant.
  std::vector<TensorData> values_in(const Kernel& part, const SlicedConstants& sliced, std::size_t band) const;

  const std::vector<TensorData>& data_;
  const HardwareModel& machine_;
  std::map<std::string, TensorId> number_;
  Bytes bytes_;
  std::map<TensorId, ModelPlace> whole_;  ///< unpacked
  std::map<std::tuple<std::size_t, std::vector<TensorId>, SlicedConstants>, std::vector<ModelPlace>> packed_;
  std::multimap<std::pair<std::size_t, std::uint64_t>, std::int64_t> appended_;  ///< by size and hash
};

}  // namespace isamap
