// SPDX-License-Identifier: Apache-2.0
#include "verify/instruction_vectors.h"

#include <cmath>
#include <limits>

namespace isamap {
namespace {

Scalar real(double value) { return {value, 0}; }
Scalar whole(std::int64_t value) { return {0, value}; }

/// Smallest denormal, largest finite value and the unit in the last place of 1, derived from the format itself.
struct Limits {
  double denormal = 1, normal = 1, largest = 1, ulp = 1;
};

Limits limits_of(DType type) {
  Limits l;
  while (round_to(type, l.denormal / 2) != 0) l.denormal /= 2;
  while (round_to(type, 1 + l.ulp / 2) != 1) l.ulp /= 2;
  l.normal = l.denormal / l.ulp;
  const double step = 2 - l.ulp;  // the largest has all bits of the significand set
  double power = 1;
  while (std::isfinite(round_to(type, power * 2)) && power * 2 < std::numeric_limits<double>::infinity()) power *= 2;
  l.largest = std::isfinite(round_to(type, power * step)) ? power * step : power * (step - l.ulp);
  return l;
}

/// Numbers that fill one vector.
enum class Pattern { positions, corner_pairs, corner_mixture, all_bits, reals, one_special, ties, any_bits, count };

class Filler {
 public:
  Filler(DType type, std::uint64_t seed, std::size_t tensor)
      : type_(type), tensor_(tensor), random_(seed * 1000003 + tensor * 7919 + 17), corners_(corners(type)) {}

  /// `number` of `inputs` operands; `round` counts the vectors of this pattern.
  void fill(TensorData& data, std::int64_t from, std::int64_t count, Pattern pattern, std::int64_t round,
            std::int64_t vector) {
    const auto n = static_cast<std::int64_t>(corners_.size());
    const std::int64_t special = count > 0 ? random_.between(0, count - 1) : 0;
    std::int64_t which = round;
    for (std::size_t t = 0; t < tensor_; ++t) which /= n;
    for (std::int64_t i = 0; i < count; ++i) data.set(from + i, value(pattern, i, which % n, i == special, vector));
  }

 private:
  Scalar value(Pattern pattern, std::int64_t i, std::int64_t which, bool is_special, std::int64_t vector) {
    const auto any_corner = [&] {
      return corners_[static_cast<std::size_t>(random_.between(0, static_cast<std::int64_t>(corners_.size()) - 1))];
    };
    switch (pattern) {
      case Pattern::positions:
        return small((i * (3 + 2 * static_cast<std::int64_t>(tensor_)) + vector) % 13 - 4);
      case Pattern::corner_pairs:
        return corners_[static_cast<std::size_t>(which)];
      case Pattern::corner_mixture:
        return any_corner();
      case Pattern::all_bits:
        return from_bits(static_cast<std::uint64_t>(counter_++));
      case Pattern::reals:
        return is_float(type_) ? rounded(2 * random_.unit() - 1) : from_bits(random_.next());
      case Pattern::one_special:
        return is_special ? any_corner() : small(random_.between(-3, 3));
      case Pattern::ties:
        return is_float(type_) ? rounded(static_cast<double>(random_.between(-9, 9)) / 2) : any_corner();
      default:
        return from_bits(random_.next());
    }
  }
  Scalar rounded(double x) const { return real(round_to(type_, x)); }
  Scalar small(std::int64_t value) const {
    if (is_float(type_)) return rounded(static_cast<double>(value));
    return whole(wrap_to(type_, integer_min(type_) == 0 ? std::abs(value) : value));
  }
  Scalar from_bits(std::uint64_t raw) const {
    const int width = bits(type_);
    return decode(type_, width >= 64 ? raw : raw & ((std::uint64_t{1} << width) - 1));
  }

  DType type_;
  std::size_t tensor_;
  Random random_;
  std::vector<Scalar> corners_;
  std::int64_t counter_ = 0;
};

}  // namespace

std::vector<Scalar> corners(DType type) {
  if (!is_float(type)) {
    const std::int64_t low = integer_min(type), high = integer_max(type);
    std::vector<Scalar> all = {whole(low),     whole(high),     whole(0),           whole(1),
                               whole(low + 1), whole(high - 1), whole(high / 2 + 1)};
    if (is_wide_unsigned(type))  // bits of 2^64-1, 2^64-2 and 2^63
      all.insert(all.end(), {whole(-1), whole(-2), whole(std::numeric_limits<std::int64_t>::min())});
    if (low < 0) all.insert(all.begin() + 3, {whole(-1), whole(-2)});
    return all;
  }
  const Limits l = limits_of(type);
  const double infinity = std::numeric_limits<double>::infinity();
  std::vector<Scalar> all;
  for (const double x : {0.0, 1.0, l.largest, l.denormal, l.normal, 1 + l.ulp, 0.5, 1.5, 2.5, l.normal - l.denormal,
                         3.0, 1 / l.ulp, infinity})
    for (const double sign : {1.0, -1.0})
      if (std::isfinite(x) || !std::isfinite(round_to(type, x))) all.push_back(real(sign * x));
  all.push_back(real(std::numeric_limits<double>::quiet_NaN()));
  return all;
}

std::vector<TensorData> test_vectors(const Kernel& kernel, std::uint64_t seed) {
  std::vector<TensorData> all;
  std::size_t inputs = 0;
  for (std::size_t t = 0; t < kernel.tensors.size(); ++t) {
    const Tensor& tensor = kernel.tensors[t];
    all.push_back(make_data(tensor));
    if (role_of(kernel, make_id<TensorId>(t)) != Role::input && !tensor.inout) continue;
    TensorData& data = all.back();
    const std::int64_t vectors = tensor.shape.empty() ? 1 : tensor.shape[0];
    const std::int64_t count = vectors > 0 ? data.count() / vectors : 0;
    Filler filler(tensor.dtype, seed, inputs++);
    constexpr auto patterns = static_cast<std::int64_t>(Pattern::count);
    for (std::int64_t v = 0; v < vectors; ++v)
      filler.fill(data, v * count, count, static_cast<Pattern>(v % patterns), v / patterns, v);
  }
  return all;
}

}  // namespace isamap
