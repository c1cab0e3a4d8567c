// SPDX-License-Identifier: Apache-2.0
#pragma once
// Limits of launches of thread blocks.

#include <cstdint>

namespace isamap {

/// Of one launch: its number of blocks is a positive number of 32 bits.
inline constexpr std::int64_t most_launch_blocks = (std::int64_t{1} << 31) - 1;

}  // namespace isamap
