// SPDX-License-Identifier: Apache-2.0
#pragma once
// Positions of a tensor's elements in a strided array.

#include <cstdint>
#include <vector>

namespace isamap {

/// Calls `use(i, place)` for each element: number i of the row-major order is `place` elements after the first.
///   for_each_place({2, 2}, {10, 1}, use)  calls  use(0, 0), use(1, 1), use(2, 10), use(3, 11)
template <class Use>
void for_each_place(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& strides, const Use& use) {
  for (const std::int64_t extent : shape)
    if (extent == 0) return;
  std::vector<std::int64_t> index(shape.size(), 0);
  std::int64_t place = 0;
  for (std::int64_t i = 0;; ++i) {
    use(i, place);
    std::size_t d = shape.size();
    while (d > 0 && ++index[d - 1] == shape[d - 1]) {
      --d;
      place -= (shape[d] - 1) * strides[d];
      index[d] = 0;
    }
    if (d == 0) return;
    place += strides[d - 1];
  }
}

}  // namespace isamap
