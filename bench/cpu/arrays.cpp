// SPDX-License-Identifier: Apache-2.0
#include "bench/cpu/arrays.h"

#include <algorithm>
#include <cmath>

#include "bench/cpu/ours.h"
#include "isamap/frontends.h"

namespace isamap::bench {

TensorArrays::TensorArrays(std::vector<TensorData> data) : data_(std::move(data)) {
  for (const TensorData& d : data_) {
    memory_.push_back(allocate_array(static_cast<std::int64_t>(d.bytes.size())));
    std::copy(d.bytes.begin(), d.bytes.end(), memory_.back().get());
  }
}

const TensorData& TensorArrays::data(TensorId t) {
  TensorData& d = data_[t.index()];
  std::copy_n(at(t), d.bytes.size(), d.bytes.begin());
  return d;
}

double difference(const TensorData& a, const TensorData& b) {
  double largest = 0, off = 0;
  for (std::int64_t i = 0; i < a.count(); ++i) {
    const auto value = [&](const TensorData& d) { return as_double(d.dtype, d.get(i)); };
    const double x = value(a), y = value(b);
    largest = std::max(largest, std::fabs(x));
    // NaN differs from everything, which std::max would ignore.
    off = std::isfinite(x - y) ? std::max(off, std::fabs(x - y)) : HUGE_VAL;
  }
  return off / std::max(largest, 1e-30);
}

CaseData::CaseData(const CpuCase& what) : kernel_(value_or_stop(parse_kernel_yaml(what.kernel, what.name))) {
  Kernel held = kernel_;
  for (Tensor& tensor : held.tensors) tensor.shape.back() += what.gap;
  data_ = random_data(held, Fill::real, 1);
  for (const TensorId t : arguments(kernel_))
    if (role_of(kernel_, t) == Role::output) result_ = t;
}

double CaseData::bytes() const {
  double sum = 0;
  for (const TensorId t : arguments(kernel_)) {
    const Tensor& tensor = kernel_.tensors[t.index()];
    sum += static_cast<double>(byte_count(tensor));
  }
  return sum;
}

std::vector<TensorView> CaseData::views(TensorArrays& arrays) const {
  std::vector<TensorView> made;
  for (const TensorId t : arguments(kernel_)) {
    const Tensor& tensor = kernel_.tensors[t.index()];
    const std::vector<std::int64_t>& held = data_[t.index()].shape;
    std::vector<std::int64_t> strides(held.size(), 1);
    for (std::size_t d = held.size(); d-- > 1;) strides[d - 1] = strides[d] * held[d];
    made.push_back({arrays.at(t), tensor.dtype, tensor.shape, strides});
  }
  return made;
}

Arrays CaseData::pointers(TensorArrays& arrays) const {
  Arrays made;
  for (const TensorId t : arguments(kernel_))
    if (role_of(kernel_, t) == Role::input) made.inputs.push_back(arrays.at(t));
  made.output = arrays.at(result_);
  return made;
}

TensorArrays& CaseData::more() { return *all_.emplace_back(std::make_unique<TensorArrays>(data_)); }

double CaseData::worst_difference(const std::vector<const void*>& written) const {
  double worst = 0;
  for (std::size_t i = 1; i < all_.size(); ++i)
    if (std::find(written.begin(), written.end(), all_[i]->at(result_)) != written.end())
      worst = std::max(worst, difference(all_[i]->data(result_), all_[0]->data(result_)));
  return worst;
}

double CaseData::worst_difference() const {
  std::vector<const void*> all;
  for (const auto& arrays : all_) all.push_back(arrays->at(result_));
  return worst_difference(all);
}

double tolerance(const CpuCase& what) { return what.types == "u8s8" ? 0 : 1e-4; }

}  // namespace isamap::bench
