// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory for arrays.

#include <cstdint>
#include <memory>

namespace isamap {

/// Memory of `std::aligned_alloc`.
struct FreedArray {
  void operator()(void* memory) const;
};
using ArrayMemory = std::unique_ptr<std::uint8_t, FreedArray>;

constexpr std::int64_t large_page = 2 << 20;  ///< bytes

/// At least `bytes` uninitialised bytes; null without memory. Aligned to a cache line of 64 bytes; from an eighth of
/// `large_page` on, to a large page, with huge pages requested where the system has them. Small pages cost TLB misses
/// (docs/bench.md has figures).
ArrayMemory allocate_array(std::int64_t bytes);

}  // namespace isamap
