// SPDX-License-Identifier: Apache-2.0
#pragma once
// Do elements of strided arrays overlap? By strides and extents only: cheap enough for every call of a kernel, and
// conservative.

#include <cstdint>
#include <vector>

namespace isamap {

/// No two indices have one position: every stride exceeds the reach of all smaller ones. Strides may be negative.
/// ([2,3], [4,1]) does, ([2,3], [2,1]) and ([2], [0]) do not.
bool elements_lie_apart(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& strides);

/// A strided array, in bytes.
struct StridedArray {
  std::uintptr_t address = 0;  ///< of index 0
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  ///< bytes
  std::int64_t element = 1;           ///< bytes
};

/// False: no byte belongs to both. Distinguishes two halves of the columns of one matrix, whose address ranges
/// intersect.
bool may_share_places(const StridedArray& a, const StridedArray& b);

}  // namespace isamap
