// SPDX-License-Identifier: Apache-2.0
// Simple queries of kernels; checks are in ir/verify/kernel_verify.cpp, text in ir/text/kernel_text.cpp.

#include "isamap/kernel.h"

namespace isamap {
namespace {

bool reads_tensor(const Computation& statement, TensorId tensor) {
  for (const Access& access : statement.reads) {
    if (access.tensor == tensor) return true;
  }
  return false;
}

Role role(const Tensor& tensor, bool written, bool read_after_last_write) {
  if (!written) return Role::input;
  return read_after_last_write && !tensor.inout && !tensor.output ? Role::intermediate : Role::output;
}

}  // namespace

std::optional<double> outside_of(const Access& read, const std::vector<Tensor>& tensors) {
  return read.outside ? read.outside : tensors[read.tensor.index()].outside;
}

std::optional<double> outside_of(const Computation& statement, TensorId tensor, const std::vector<Tensor>& tensors) {
  for (const Access& read : statement.reads)
    if (read.tensor == tensor && read.outside) return read.outside;
  return tensors[tensor.index()].outside;
}

std::int64_t element_count(const Tensor& tensor) {
  std::int64_t count = 1;
  for (const std::int64_t extent : tensor.shape) count *= extent;
  return count;
}

std::int64_t byte_count(const Tensor& tensor) { return element_count(tensor) * bytes(tensor.dtype); }

double total_bytes(const Kernel& kernel) {
  double sum = 0;
  for (const Tensor& tensor : kernel.tensors) sum += static_cast<double>(byte_count(tensor));
  return sum;
}

std::vector<std::int64_t> strides_of(const Tensor& tensor) {
  if (!tensor.strides.empty()) return tensor.strides;
  std::vector<std::int64_t> dense(tensor.shape.size(), 1);
  for (std::size_t d = dense.size(); d-- > 1;) dense[d - 1] = dense[d] * std::max<std::int64_t>(tensor.shape[d], 1);
  return dense;
}

AffineExpr position(const std::vector<AffineExpr>& index, const Tensor& tensor) {
  const std::vector<std::int64_t> strides = strides_of(tensor);
  AffineExpr position;
  for (std::size_t d = 0; d < index.size(); ++d) position = position + index[d] * strides[d];
  return position;
}

AffineExpr row_major(const std::vector<AffineExpr>& index, const std::vector<std::int64_t>& shape) {
  AffineExpr position;
  for (std::size_t d = 0; d < index.size(); ++d) position = position * shape[d] + index[d];
  return position;
}

const Repeat* repeat_of(const Kernel& kernel, std::size_t statement) {
  for (const Repeat& repeat : kernel.repeats)
    if (repeat.contains(statement)) return &repeat;
  return nullptr;
}

bool holds_a_value(const Kernel& kernel, StatementId statement) {
  const TensorId written = kernel.statements[statement.index()].write.tensor;
  const auto end = kernel.statements.begin() + static_cast<std::ptrdiff_t>(statement.index());
  return kernel.tensors[written.index()].inout ||
         std::any_of(kernel.statements.begin(), end,
                     [&](const Computation& one) { return one.write.tensor == written; });
}

Role role_of(const Kernel& kernel, TensorId tensor) {
  bool written = false;
  bool read_after_last_write = false;
  for (const Computation& statement : kernel.statements) {
    const bool writes = statement.write.tensor == tensor;
    written = written || writes;
    read_after_last_write = written && !writes && (read_after_last_write || reads_tensor(statement, tensor));
  }
  return role(kernel.tensors[tensor.index()], written, read_after_last_write);
}

std::vector<Role> roles_of(const Kernel& kernel) {
  std::vector<bool> written(kernel.tensors.size(), false), read_after_last_write = written;
  for (const Computation& statement : kernel.statements) {
    for (const Access& read : statement.reads)
      read_after_last_write[read.tensor.index()] = written[read.tensor.index()];
    written[statement.write.tensor.index()] = true;
    read_after_last_write[statement.write.tensor.index()] = false;
  }
  std::vector<Role> roles;
  for (std::size_t t = 0; t < kernel.tensors.size(); ++t)
    roles.push_back(role(kernel.tensors[t], written[t], read_after_last_write[t]));
  return roles;
}

std::vector<TensorId> arguments(const Kernel& kernel) {
  const std::vector<Role> roles = roles_of(kernel);
  std::vector<TensorId> result;
  for (const Role role : {Role::input, Role::output}) {
    for (std::size_t t = 0; t < roles.size(); ++t)
      if (roles[t] == role) result.push_back(make_id<TensorId>(t));
  }
  return result;
}

}  // namespace isamap
