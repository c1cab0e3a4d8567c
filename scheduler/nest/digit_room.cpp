// SPDX-License-Identifier: Apache-2.0
#include "scheduler/nest/digit_room.h"

#include <algorithm>

#include "support/arithmetic.h"

namespace isamap {

DigitRoom room_of(std::span<const SplitDigit* const> digits, std::int64_t extent) {
  DigitRoom found;
  for (const SplitDigit* digit : digits)
    if (digit->modulo != 0 && digit->divide == 1) found.block = digit->modulo;
  for (std::size_t i = 0; i < digits.size(); ++i)
    for (const SplitDigit* inner : digits.subspan(i + 1))  // interleaved: the block is the range of all of them
      if (digits[i]->divide < inner->divide && inner->modulo != 0)
        found.block = std::max(found.block, inner->divide * inner->modulo);
  const std::int64_t whole = round_up(extent, found.block);
  // The digits together may cover more than whole blocks: [k/32, k/2%16, k%2] a multiple of 32.
  for (const SplitDigit* digit : digits) found.room *= digit_extent(*digit, whole);
  found.room = std::max(found.room, whole);
  return found;
}

}  // namespace isamap
