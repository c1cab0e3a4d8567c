// SPDX-License-Identifier: Apache-2.0
#include "scheduler/space/reduction_order.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

namespace isamap {
namespace {

/// Bytes between consecutive points of a dim in an input; 0: not used; nothing: different ones, as of a quotient.
std::optional<std::int64_t> stride_along(const Kernel& kernel, const Access& access, const std::string& dim) {
  if (!uses(access, dim)) return 0;
  const Tensor& tensor = kernel.tensors[access.tensor.index()];
  const auto strides = strides_of(tensor);
  std::int64_t elements = 0;
  for (std::size_t axis = 0; axis < access.index.size(); ++axis) {
    if (!access.index[axis].names().contains(dim)) continue;
    const std::int64_t coefficient = access.index[axis].coefficient(dim);
    if (coefficient == 0) return std::nullopt;
    elements += coefficient * strides[axis];
  }
  return std::abs(elements) * bytes(tensor.dtype);
}

}  // namespace

std::vector<std::string> reductions_by_memory(const Kernel& kernel, const Computation& statement) {
  const auto constant = [&](const Access& read) { return kernel.tensors[read.tensor.index()].constant; };
  const bool all_constant = std::all_of(statement.reads.begin(), statement.reads.end(), constant);
  std::vector<std::pair<std::int64_t, std::string>> dims;
  for (const Dim& dim : statement.domain.dims) {
    if (dim.kind != DimKind::reduction || dim.extent <= 1) continue;
    std::int64_t most = 0;
    for (const Access& read : statement.reads) {
      if (constant(read) && !all_constant) continue;
      const auto stride = stride_along(kernel, read, dim.name);
      if (!stride) return {};
      most = std::max(most, *stride);
    }
    dims.emplace_back(most, dim.name);
  }
  const auto larger = [](const auto& a, const auto& b) { return a.first > b.first; };
  if (std::is_sorted(dims.begin(), dims.end(), larger)) return {};
  std::stable_sort(dims.begin(), dims.end(), larger);
  std::vector<std::string> order;
  for (auto& [stride, name] : dims) order.push_back(std::move(name));
  return order;
}

}  // namespace isamap
