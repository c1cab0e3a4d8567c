// SPDX-License-Identifier: Apache-2.0
#include "ir/verify/overlap.h"

#include <algorithm>
#include <cstdlib>

namespace isamap {
namespace {

/// Bytes from `first` on, counted from index 0.
struct Reach {
  std::int64_t first = 0, size = 0;
};

/// The reach of the axes whose strides are no multiples of `modulus`; 0: all axes.
Reach reach(const StridedArray& array, std::int64_t modulus) {
  Reach found{0, array.element};
  for (std::size_t d = 0; d < array.shape.size(); ++d) {
    if (modulus != 0 && array.strides[d] % modulus == 0) continue;
    const std::int64_t far = (array.shape[d] - 1) * array.strides[d];
    found.first += std::min<std::int64_t>(far, 0);
    found.size += std::abs(far);
  }
  return found;
}

/// Modulo `modulus`, the bytes of a and of b are two disjoint arcs of a circle.
bool apart_within(std::int64_t modulus, const StridedArray& a, const StridedArray& b) {
  const Reach of_a = reach(a, modulus), of_b = reach(b, modulus);
  const auto distance = static_cast<std::int64_t>(b.address - a.address) + of_b.first - of_a.first;
  const std::int64_t from_a = (distance % modulus + modulus) % modulus;
  return of_a.size <= from_a && from_a + of_b.size <= modulus;
}

bool empty(const StridedArray& array) { return std::count(array.shape.begin(), array.shape.end(), 0) > 0; }

}  // namespace

bool elements_lie_apart(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& strides) {
  std::vector<std::pair<std::int64_t, std::int64_t>> axes;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0) return true;
    if (shape[d] > 1) axes.emplace_back(std::abs(strides[d]), shape[d]);
  }
  std::sort(axes.begin(), axes.end());
  std::int64_t reached = 0;
  for (const auto& [stride, extent] : axes) {
    if (stride <= reached) return false;
    reached += stride * (extent - 1);
  }
  return true;
}

bool may_share_places(const StridedArray& a, const StridedArray& b) {
  if (empty(a) || empty(b)) return false;
  const Reach of_a = reach(a, 0), of_b = reach(b, 0);
  const auto distance = static_cast<std::int64_t>(b.address - a.address) + of_b.first - of_a.first;
  if (distance >= of_a.size || -distance >= of_b.size) return false;
  for (const StridedArray* one : {&a, &b})
    for (std::size_t d = 0; d < one->shape.size(); ++d)
      if (const std::int64_t step = std::abs(one->strides[d]);
          one->shape[d] > 1 && step > 0 && apart_within(step, a, b))
        return false;
  return true;
}

}  // namespace isamap
