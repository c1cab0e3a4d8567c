// SPDX-License-Identifier: Apache-2.0
#include "driver/part_comparisons.h"

#include <memory>
#include <utility>

namespace isamap {

TensorPlaces tensor_places(const Kernel& model) {
  TensorPlaces places;
  for (std::size_t t = 0; t < model.tensors.size(); ++t) places[model.tensors[t].name] = t;
  return places;
}

std::vector<TensorData> tensors_of_part(const Kernel& part, const TensorPlaces& places,
                                        const std::vector<TensorData>& run) {
  std::vector<TensorData> data;
  for (const Tensor& tensor : part.tensors) {
    data.push_back(run[places.at(tensor.name)]);
    data.back().shape = tensor.shape;
  }
  return data;
}

void PartComparisons::add(std::size_t part, Kernel kernel, std::vector<TensorData> before,
                          std::vector<TensorData> found) {
  struct Work {
    Kernel kernel;
    std::vector<TensorData> expected, found;
  };
  auto work = std::make_shared<Work>(Work{std::move(kernel), std::move(before), std::move(found)});
  std::size_t bytes = 0;
  for (const auto* all : {&work->expected, &work->found})
    for (const TensorData& one : *all) bytes += one.bytes.size();
  queue_.add(
      [this, part, work = std::move(work)] {
        interpret(work->kernel, work->expected);
        results_[part] = compare(work->kernel, work->expected, work->found);
        if (!results_[part]->equal) all_equal_ = false;
      },
      bytes);
}

std::vector<std::optional<Comparison>> PartComparisons::finish() {
  queue_.finish();
  return std::move(results_);
}

}  // namespace isamap
