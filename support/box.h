// SPDX-License-Identifier: Apache-2.0
#pragma once
// Boxes of integer points, 0 <= point[d] < box[d], counted with the last index fastest.

#include <cstdint>
#include <vector>

#include "support/arithmetic.h"

namespace isamap {

using Box = std::vector<std::int64_t>;

/// The next point; false, and back to the first one, after the last.
inline bool advance(Box& point, const Box& box) {
  for (std::size_t d = box.size(); d-- > 0;) {
    if (++point[d] < box[d]) return true;
    point[d] = 0;
  }
  return false;
}

/// INT64_MAX when there are more.
inline std::int64_t points_in(const Box& box) {
  std::int64_t count = 1;
  for (const std::int64_t extent : box) count = checked_mul(count, extent).value_or(INT64_MAX);
  return count;
}

/// The number of `advance` steps from the first point to this one.
inline std::int64_t flatten(const Box& point, const Box& box) {
  std::int64_t flat = 0;
  for (std::size_t d = 0; d < box.size(); ++d) flat = flat * box[d] + point[d];
  return flat;
}

inline Box unflatten(std::int64_t flat, const Box& box) {
  Box point(box.size(), 0);
  for (std::size_t d = box.size(); d-- > 0; flat /= box[d]) point[d] = flat % box[d];
  return point;
}

}  // namespace isamap
