// SPDX-License-Identifier: Apache-2.0
// Tensor data, and the interpreter: runs the statements of a kernel in order (ir/evaluation/row_statement.cpp).

#include "isamap/interpret.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ir/evaluation/row_statement.h"
#include "ir/scatter.h"
#include "ir/verify/recurrence.h"
#include "isamap/result.h"

namespace isamap {
namespace {

/// The machine's own formats, without a call for each element.
template <class Real>
void load_reals(const TensorData& data, std::vector<double>& into) {
  into.resize(data.bytes.size() / sizeof(Real));
  for (std::size_t i = 0; i < into.size(); ++i) {
    Real value = 0;
    std::memcpy(&value, data.bytes.data() + i * sizeof(Real), sizeof(Real));
    into[i] = static_cast<double>(value);
  }
}

/// NaN is stored as `encode` has it.
template <class Real>
void store_reals(const std::vector<double>& numbers, TensorData& data) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const Real value = static_cast<Real>(numbers[i]);
    if (std::isnan(value))
      data.set(static_cast<std::int64_t>(i), {numbers[i], 0});
    else
      std::memcpy(data.bytes.data() + i * sizeof(Real), &value, sizeof(Real));
  }
}

Numbers numbers_of(const TensorData& data) {
  Numbers numbers;
  const std::int64_t count = data.count();
  if (data.dtype == DType::f32) {
    load_reals<float>(data, numbers.real);
  } else if (data.dtype == DType::f64) {
    load_reals<double>(data, numbers.real);
  } else if (is_float(data.dtype)) {
    numbers.real.resize(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) numbers.real[static_cast<std::size_t>(i)] = data.get(i).real;
  } else {
    numbers.integer.resize(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) numbers.integer[static_cast<std::size_t>(i)] = data.get(i).integer;
  }
  return numbers;
}

void store(const Numbers& numbers, TensorData& data) {
  if (data.dtype == DType::f32) return store_reals<float>(numbers.real, data);
  if (data.dtype == DType::f64) return store_reals<double>(numbers.real, data);
  const std::int64_t count = data.count();
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    data.set(i, is_float(data.dtype) ? Scalar{numbers.real[at], 0} : Scalar{0, numbers.integer[at]});
  }
}

void fill(Numbers& numbers, Scalar value) {
  for (double& x : numbers.real) x = value.real;
  for (std::int64_t& x : numbers.integer) x = value.integer;
}

Scalar clamped(const Tensor& tensor, double value) {
  if (tensor.range) value = std::min(std::max(value, tensor.range->first), tensor.range->second);
  return convert({value, 0}, DType::f64, tensor.dtype, true);
}

// From -2 to 2 (0 to 3 if unsigned): products of two are at most 4 (9) and the signs of signed ones balance, so that
// sums of 2^20 stay exact in f32 and those of a few dozen in the smallest formats.
Scalar random_integer(const Tensor& tensor, Random& random) {
  const bool is_unsigned = !is_float(tensor.dtype) && integer_min(tensor.dtype) == 0;
  const std::int64_t low = is_unsigned ? 0 : -2;
  const std::int64_t high = is_truth(tensor.dtype) ? 1 : low + (is_unsigned ? 3 : 4);
  if (!tensor.range) return clamped(tensor, static_cast<double>(random.between(low, high)));
  const double first = std::ceil(tensor.range->first);
  const double width = std::min(std::floor(tensor.range->second) - first, 5.0);
  const double start = first <= low && first + width < 0 ? static_cast<double>(low) : first;
  return clamped(tensor, start + static_cast<double>(
                                     random.between(0, std::max<std::int64_t>(static_cast<std::int64_t>(width), 0))));
}

Scalar random_real(const Tensor& tensor, Random& random) {
  if (!is_float(tensor.dtype)) return random_integer(tensor, random);
  const double low = tensor.range ? tensor.range->first : -1.0;
  const double high = tensor.range ? tensor.range->second : 1.0;
  return clamped(tensor, low + (high - low) * random.unit());
}

}  // namespace

std::int64_t TensorData::count() const {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

Scalar TensorData::get(std::int64_t position) const {
  const auto width = static_cast<std::size_t>(isamap::bytes(dtype));
  std::uint64_t raw = 0;
  std::memcpy(&raw, bytes.data() + static_cast<std::size_t>(position) * width, width);
  return decode(dtype, raw);
}

void TensorData::set(std::int64_t position, Scalar value) {
  const auto width = static_cast<std::size_t>(isamap::bytes(dtype));
  const std::uint64_t raw = encode(dtype, value);
  std::memcpy(bytes.data() + static_cast<std::size_t>(position) * width, &raw, width);
}

TensorData make_data(const Tensor& tensor) {
  return {tensor.dtype, tensor.shape, std::vector<std::uint8_t>(static_cast<std::size_t>(byte_count(tensor)))};
}

TensorData random_data(const Tensor& tensor, Fill fill, Random& random) {
  TensorData data = make_data(tensor);
  const std::int64_t count = data.count();
  for (std::int64_t i = 0; i < count; ++i) {
    data.set(i, fill == Fill::integers ? random_integer(tensor, random) : random_real(tensor, random));
  }
  // A zero point or a factor that happens to be 0 would hide what is done with it: another draw, if its range has one.
  const bool one_number = fill == Fill::integers && count == 1 && !is_truth(tensor.dtype);
  for (int draws = 0; one_number && draws < 64 && as_double(tensor.dtype, data.get(0)) == 0; ++draws)
    data.set(0, random_integer(tensor, random));
  return data;
}

std::vector<TensorData> random_data(const Kernel& kernel, Fill fill, std::uint64_t seed) {
  Random random(seed);
  std::vector<TensorData> data;
  for (std::size_t t = 0; t < kernel.tensors.size(); ++t) {
    const bool given = role_of(kernel, make_id<TensorId>(t)) == Role::input || kernel.tensors[t].inout;
    data.push_back(given ? random_data(kernel.tensors[t], fill, random) : make_data(kernel.tensors[t]));
  }
  return data;
}

double point_count(const Computation& statement) {
  double product = 1;
  for (const Dim& dim : statement.domain.dims) product *= static_cast<double>(dim.extent);
  return product;
}

double point_count(const Kernel& kernel) {
  double sum = 0;
  for (const Computation& statement : kernel.statements) sum += point_count(statement);
  return sum;
}

namespace {

void copy_element(const TensorData& from, std::int64_t at, TensorData& to, std::int64_t there) {
  const auto width = static_cast<std::size_t>(bytes(from.dtype));
  std::copy_n(from.bytes.begin() + at * static_cast<std::int64_t>(width), width,
              to.bytes.begin() + there * static_cast<std::int64_t>(width));
}

// Group by group: results of a group are stored before the next one runs.
void interpret_in_time(const Kernel& kernel, std::vector<TensorData>& data) {
  std::vector<bool> begun(data.size(), false);
  for (const Computation& statement : kernel.statements) {
    const std::size_t out = statement.write.tensor.index();
    const Scalar start = identity(statement.reduction, kernel.tensors[out].dtype);
    for (std::int64_t i = 0; !begun[out] && !kernel.tensors[out].inout && i < data[out].count(); ++i)
      data[out].set(i, start);
    begun[out] = true;
  }
  for_each_group(kernel, [&](const Kernel& part, const std::vector<Slice>& slices, std::int64_t step) {
    std::vector<TensorData> own;
    std::vector<std::vector<std::int64_t>> places(slices.size());
    for (std::size_t t = 0; t < slices.size(); ++t) {
      const std::size_t whole = slices[t].whole.index();
      own.push_back(slices[t].axis < 0 ? data[whole] : make_data(part.tensors[t]));
      if (slices[t].axis >= 0) places[t] = positions(kernel.tensors[whole], slices[t], step);
      for (std::size_t i = 0; i < places[t].size(); ++i)
        copy_element(data[whole], places[t][i], own[t], static_cast<std::int64_t>(i));
    }
    interpret(part, own);
    for (const Computation& statement : part.statements) {
      const std::size_t t = statement.write.tensor.index(), whole = slices[t].whole.index();
      if (slices[t].axis < 0) data[whole] = own[t];
      for (std::size_t i = 0; i < places[t].size(); ++i)
        copy_element(own[t], static_cast<std::int64_t>(i), data[whole], places[t][i]);
    }
  });
}

}  // namespace

void interpret(const Kernel& kernel, std::vector<TensorData>& data) {
  if (!kernel.repeats.empty()) return interpret_in_time(kernel, data);
  ISAMAP_CHECK(data.size() == kernel.tensors.size(), "one array for each tensor of kernel " + kernel.name);
  std::vector<Numbers> numbers;
  for (std::size_t t = 0; t < data.size(); ++t) {
    ISAMAP_CHECK(data[t].dtype == kernel.tensors[t].dtype && data[t].shape == kernel.tensors[t].shape,
                 "array of tensor " + kernel.tensors[t].name + " has its type and shape");
    numbers.push_back(numbers_of(data[t]));
  }
  std::vector<bool> written(data.size(), false);
  for (const Computation& statement : kernel.statements) {
    const std::size_t out = statement.write.tensor.index();
    if (!written[out] && !kernel.tensors[out].inout)
      fill(numbers[out], identity(statement.reduction, kernel.tensors[out].dtype));
    written[out] = true;
    run_statement(statement, kernel.tensors, numbers, begins_with_zero(kernel, statement.write.tensor));
  }
  for (std::size_t t = 0; t < data.size(); ++t) {
    if (written[t]) store(numbers[t], data[t]);
  }
}

}  // namespace isamap
