// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a buffer has room for along one form of its layout. Lowering makes buffers and prices tiles by it.

#include <span>

#include "scheduler/nest/tile_layout.h"

namespace isamap {

struct DigitRoom {
  std::int64_t block = 1;  ///< 16 of x%16, and of interleaved digits, [x%2, x/2%8]; 1: not split
  std::int64_t room = 1;   ///< values allocated: whole blocks
};
/// Of all digits of one form, outermost first, for values in [0, extent).
DigitRoom room_of(std::span<const SplitDigit* const> digits, std::int64_t extent);

}  // namespace isamap
