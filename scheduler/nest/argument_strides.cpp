// SPDX-License-Identifier: Apache-2.0
// Legality of strided arguments (views): strides are positive, elements of outputs do not overlap, and tensors of
// recurrences are dense.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/verify/overlap.h"
#include "isamap/scheduler.h"

namespace isamap {
std::optional<Diagnostic> strides_problem(const std::vector<Strides>& strides, const Kernel& kernel) {
  if (!kernel.repeats.empty() &&
      std::any_of(strides.begin(), strides.end(), [](const Strides& s) { return !s.empty(); }))
    return error("tensors of a recurrence must be dense: their slices per step have strides of their own",
                 "copy them, or call the kernel of one step");
  const std::vector<TensorId> order = arguments(kernel);
  if (strides.empty()) return std::nullopt;
  if (strides.size() != order.size())
    return error(fmt::format("'{}' takes {} tensors, found strides of {}", kernel.name, order.size(), strides.size()),
                 "one list for each, inputs then outputs; an empty one is dense");
  for (std::size_t a = 0; a < order.size(); ++a) {
    const Tensor& tensor = kernel.tensors[order[a].index()];
    if (strides[a].empty()) continue;
    if (strides[a].size() != tensor.shape.size())
      return error(fmt::format("tensor '{}' has {} axes, found {} strides", tensor.name, tensor.shape.size(),
                               strides[a].size()));
    if (std::any_of(strides[a].begin(), strides[a].end(), [](std::int64_t s) { return s < 1; }))
      return error(fmt::format("tensor '{}' has strides [{}]; those of a program are positive", tensor.name,
                               fmt::join(strides[a], ",")),
                   "lower it without strides: calls copy such views");
    if (role_of(kernel, order[a]) != Role::input && !elements_lie_apart(tensor.shape, strides[a]))
      return error(
          fmt::format("elements of output '{}' overlap with strides [{}]", tensor.name, fmt::join(strides[a], ",")));
  }
  return std::nullopt;
}

}  // namespace isamap
