// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows that lie permuted, so that neighbours in a column meet different banks: a byte's address is changed by some of
// its higher bits. (NVIDIA's CUTLASS calls the same Swizzle<B, M, S>, include/cute/swizzle.hpp.)

#include <cstdint>
#include <optional>

namespace isamap {

/// Byte address bits [to, to+bits) are replaced by themselves xor bits [from, from+bits); from >= to + bits.
struct XorSwizzle {
  int bits = 0, from = 0, to = 0;
  bool operator==(const XorSwizzle&) const = default;

  /// Bytes that stay neighbours.
  std::int64_t chunk() const { return std::int64_t{1} << to; }
  /// Where the pattern begins anew: what a swizzled buffer is aligned to.
  std::int64_t period() const { return std::int64_t{1} << (from + bits); }
};

inline std::int64_t swizzled(const std::optional<XorSwizzle>& swizzle, std::int64_t address) {
  if (!swizzle) return address;
  const std::int64_t mask = (std::int64_t{1} << swizzle->bits) - 1;
  return address ^ (((address >> swizzle->from) & mask) << swizzle->to);
}

}  // namespace isamap
