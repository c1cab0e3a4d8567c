// SPDX-License-Identifier: Apache-2.0
#pragma once
// Does an instruction read an operand at the bytes that a move wrote? Both address the same memory, each by its own
// layout: strides, free strides, a swizzle. The strides are composed by layout_compose.h, then every byte is compared
// with its swizzle applied, for every tile of the operand inside what one move writes.

#include <string>
#include <vector>

#include "isamap/hardware.h"

namespace isamap {

struct Agreement {
  std::string fault;  ///< empty: every byte agrees. "[i=1, k=0] is written at byte 144 and read at byte 128"
  std::vector<std::size_t> index;  ///< index d of the operand is index[d] of the written tile
  std::string strides;             ///< "i/8: 1024 bytes": the required free strides of the operand
  std::int64_t compared = 0;       ///< bytes
  std::int64_t starts = 0;         ///< tiles of the operand inside the written tile
};

/// Best first: agreements, then the one with the most bytes before it fails. Empty: the two are unrelated (another
/// memory or width, no copy, separately supplied addresses).
std::vector<Agreement> agreements(const HardwareModel& model, const Instruction& move, const Instruction& user,
                                  std::size_t operand);

}  // namespace isamap
