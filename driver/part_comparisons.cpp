// SPDX-License-Identifier: Apache-2.0
#include "driver/part_comparisons.h"

#include <memory>
#include <utility>

namespace isamap {

void PartComparisons::add(std::size_t part, Kernel kernel, std::vector<TensorData> before,
                          std::vector<TensorData> found) {
  struct Work {
    Kernel kernel;
    std::vector<TensorData> expected, found;
  };
  auto work = std::make_shared<Work>(Work{std::move(kernel), std::move(before), std::move(found)});
  queue_.add([this, part, work = std::move(work)] {
    interpret(work->kernel, work->expected);
    results_[part] = compare(work->kernel, work->expected, work->found);
    if (!results_[part]->equal) all_equal_ = false;
  });
}

std::vector<std::optional<Comparison>> PartComparisons::finish() {
  queue_.finish();
  return std::move(results_);
}

}  // namespace isamap
