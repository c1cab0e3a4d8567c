// SPDX-License-Identifier: Apache-2.0
#include "frontends/subnormal_weights.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <variant>

namespace isamap {
namespace {

/// Is the body a product of reads?
bool is_product_of_reads(const ScalarExpr& body) {
  if (std::holds_alternative<Read>(body.op)) return true;
  const auto* binary = std::get_if<Binary>(&body.op);
  return binary != nullptr && binary->op == BinaryOp::mul && is_product_of_reads(body.args[0]) &&
         is_product_of_reads(body.args[1]);
}

/// By tensor: do only sums of products read it?
std::vector<bool> factors_only(const Kernel& kernel) {
  std::vector<bool> only(kernel.tensors.size(), true);
  for (const Computation& statement : kernel.statements) {
    const bool sum = statement.reduction == Reduction::add && std::holds_alternative<Binary>(statement.body.op) &&
                     is_product_of_reads(statement.body);
    for (const Access& read : statement.reads)
      if (!sum) only[read.tensor.index()] = false;
  }
  return only;
}

template <typename Real>
bool is_subnormal(const std::uint8_t* at) {
  Real value;
  std::memcpy(&value, at, sizeof value);
  return std::fpclassify(value) == FP_SUBNORMAL;
}

template <typename Real>
bool has_subnormal(const std::vector<std::uint8_t>& bytes) {
  for (std::size_t at = 0; at + sizeof(Real) <= bytes.size(); at += sizeof(Real))
    if (is_subnormal<Real>(bytes.data() + at)) return true;
  return false;
}

template <typename Real>
void flush(std::vector<std::uint8_t>& bytes) {
  for (std::size_t at = 0; at + sizeof(Real) <= bytes.size(); at += sizeof(Real))
    if (is_subnormal<Real>(bytes.data() + at)) std::memset(bytes.data() + at, 0, sizeof(Real));
}

}  // namespace

Diagnostics drop_subnormal_weights(Model& model) {
  const std::vector<bool> only = factors_only(model.kernel);
  std::size_t changed = 0;
  for (Weight& weight : model.weights) {
    const Tensor& tensor = model.kernel.tensors[weight.tensor.index()];
    if (!only[weight.tensor.index()] || weight.drawn || (tensor.dtype != DType::f32 && tensor.dtype != DType::f64))
      continue;
    const bool single = tensor.dtype == DType::f32;
    const auto found = [&](const TensorData& data) {
      return single ? has_subnormal<float>(data.bytes) : has_subnormal<double>(data.bytes);
    };
    if (weight.values && !found(*weight.values)) continue;
    auto values = values_of(weight, tensor);
    if (!values) return values.diagnostics();
    if (!found(*values)) continue;
    single ? flush<float>(values->bytes) : flush<double>(values->bytes);
    weight.values = std::make_shared<TensorData>(std::move(*values));
    weight.file.clear();
    ++changed;
  }
  if (changed > 0)
    model.notes.push_back(
        fmt::format("{} weights have numbers that are not zero but below the least normal one: they "
                    "take part as 0, unless --strict-float is given",
                    changed));
  return {};
}

}  // namespace isamap
