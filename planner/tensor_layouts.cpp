// SPDX-License-Identifier: Apache-2.0
#include "planner/tensor_layouts.h"

#include <algorithm>
#include <cstring>

namespace isamap {
namespace {

template <class T>
std::vector<T> permuted(const std::vector<T>& list, const std::vector<int>& order) {
  std::vector<T> result;
  for (const int axis : order) result.push_back(list[static_cast<std::size_t>(axis)]);
  return result;
}

void permute(Access& access, const Orders& orders) {
  const std::vector<int>& order = orders[access.tensor.index()];
  if (order.empty()) return;
  access.index = permuted(access.index, order);
  if (access.computed)
    access.computed->axis =
        static_cast<int>(std::find(order.begin(), order.end(), access.computed->axis) - order.begin());
}

/// Parallel dims in the order in which the write uses them: loops of scalar code then walk along memory. Reduction dims
/// stay where they are, since their order is that of the sums.
void follow_write(Computation& statement) {
  std::vector<Dim>& dims = statement.domain.dims;
  const auto used_at = [&](const Dim& dim) {
    const auto& index = statement.write.index;
    return std::find_if(index.begin(), index.end(), [&](const AffineExpr& e) { return e.names().contains(dim.name); }) -
           index.begin();
  };
  std::vector<Dim> parallel;
  for (const Dim& dim : dims)
    if (dim.kind == DimKind::parallel) parallel.push_back(dim);
  std::stable_sort(parallel.begin(), parallel.end(),
                   [&](const Dim& a, const Dim& b) { return used_at(a) < used_at(b); });
  auto next = parallel.begin();
  for (Dim& dim : dims)
    if (dim.kind == DimKind::parallel) dim = *next++;
}

}  // namespace

Kernel in_order(const Kernel& kernel, const Orders& orders) {
  Kernel result = kernel;
  if (orders.empty()) return result;
  for (std::size_t t = 0; t < result.tensors.size(); ++t)
    if (!orders[t].empty()) result.tensors[t].shape = permuted(result.tensors[t].shape, orders[t]);
  for (std::size_t s = 0; s < result.statements.size(); ++s) {
    Computation& statement = result.statements[s];
    permute(statement.write, orders);
    for (Access& read : statement.reads) permute(read, orders);
    if (!repeat_of(kernel, s) && !orders[statement.write.tensor.index()].empty()) follow_write(statement);
  }
  return result;
}

TensorData in_order(const TensorData& data, const std::vector<int>& order) {
  if (order.empty()) return data;
  TensorData result{data.dtype, permuted(data.shape, order), std::vector<std::uint8_t>(data.bytes.size())};
  const auto element = static_cast<std::size_t>(bytes(data.dtype));
  std::vector<std::int64_t> strides(data.shape.size(), 1);
  for (std::size_t d = strides.size(); d-- > 1;) strides[d - 1] = strides[d] * data.shape[d];
  const std::vector<std::int64_t> steps = permuted(strides, order);
  std::vector<std::int64_t> index(order.size(), 0);
  std::int64_t from = 0;
  for (std::int64_t to = 0; to < data.count(); ++to) {
    std::memcpy(&result.bytes[static_cast<std::size_t>(to) * element],
                &data.bytes[static_cast<std::size_t>(from) * element], element);
    for (std::size_t d = index.size(); d-- > 0;) {
      from += steps[d];
      if (++index[d] < result.shape[d]) break;
      from -= steps[d] * result.shape[d];
      index[d] = 0;
    }
  }
  return result;
}

bool is_free(const Kernel& kernel, TensorId id) {
  const Tensor& tensor = kernel.tensors[id.index()];
  const auto wide = std::count_if(tensor.shape.begin(), tensor.shape.end(), [](std::int64_t e) { return e > 1; });
  return wide > 1 && (tensor.constant || role_of(kernel, id) == Role::intermediate);
}

}  // namespace isamap
