// SPDX-License-Identifier: Apache-2.0
#pragma once
// Do elements of arrays with strides share places? Only strides and extents are asked: cheap enough for every call of a
// kernel, and where they do not tell, the answer is that they may.

#include <cstdint>
#include <vector>

namespace isamap {

/// No two indices are at one place: every axis steps over all that the axes with smaller strides reach. Strides may be
/// negative. ([2,3], [4,1]) does, ([2,3], [2,1]) and ([2], [0]) do not.
bool elements_lie_apart(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& strides);

/// An array by the bytes of its elements.
struct StridedArray {
  std::uintptr_t address = 0;  ///< of index 0
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  ///< bytes
  std::int64_t element = 1;           ///< bytes
};

/// False: no byte belongs to both. Tells two halves of the columns of one matrix apart, whose ranges of addresses meet.
bool may_share_places(const StridedArray& a, const StridedArray& b);

}  // namespace isamap
