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

/// At least `bytes` bytes, not set; null where there is no room. They begin at a line of 64 bytes; from an eighth of
/// `large_page` on, at a large page, and the system is asked for such pages where it knows them. An array that is
/// run over through in small pages waits for many of their addresses to be looked up (docs/bench.md has figures).
ArrayMemory allocate_array(std::int64_t bytes);

}  // namespace isamap
