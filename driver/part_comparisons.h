// SPDX-License-Identifier: Apache-2.0
#pragma once
// Results of the parts of a model against the interpreter. A part is interpreted on what the parts before it left in
// the run, so parts do not wait for each other: they are compared side by side while further results are read.

#include <atomic>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "isamap/interpret.h"
#include "support/task_queue.h"

namespace isamap {

/// Positions of the tensors of a model, by name.
using TensorPlaces = std::map<std::string, std::size_t>;
TensorPlaces tensor_places(const Kernel& model);

/// The tensors of a part as they are in a run of the model, in the part's shapes: it may group dims otherwise
/// (frontends/layers.h), the bytes are the same. Each of them is a tensor of the model.
std::vector<TensorData> tensors_of_part(const Kernel& part, const TensorPlaces& places,
                                        const std::vector<TensorData>& run);

class PartComparisons {
 public:
  static constexpr std::size_t most_waiting = std::size_t{256} << 20;  ///< bytes

  PartComparisons(std::size_t parts, int jobs) : results_(parts), queue_(jobs, most_waiting) {}

  /// `before`: all tensors of the kernel as the part found them; `found`: with what it wrote. By tensor.
  void add(std::size_t part, Kernel kernel, std::vector<TensorData> before, std::vector<TensorData> found);
  /// False once a part differs: no more results are needed.
  bool all_equal() const { return all_equal_; }
  /// By part, once all that were added are compared; nothing: it was not added. After one that differs there may be
  /// others.
  std::vector<std::optional<Comparison>> finish();

 private:
  std::vector<std::optional<Comparison>> results_;
  std::atomic<bool> all_equal_{true};
  TaskQueue queue_;  // last: its threads write to the others
};

}  // namespace isamap
