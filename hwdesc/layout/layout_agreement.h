// SPDX-License-Identifier: Apache-2.0
#pragma once
// Does an instruction read an operand where a move wrote it? Both name bytes of the same memory, each by its own
// layout: strides, free strides, a swizzle. The strides are composed by layout_compose.h, then every byte is compared
// with its swizzle applied, for every tile of the operand inside what one move writes.

#include <string>
#include <vector>

#include "isamap/hardware.h"

namespace isamap {

struct Agreement {
  std::string fault;  ///< empty: every byte agrees. "[i=1, k=0] is written at byte 144 and read at byte 128"
  std::vector<std::size_t> index;  ///< index d of the operand is index[d] of what the move writes
  std::string strides;             ///< "i/8: 1024 bytes"; what the free strides of the operand must be
  std::int64_t compared = 0;       ///< bytes
  std::int64_t starts = 0;         ///< tiles of the operand inside what the move writes
};

/// Best first: agreements, then the one that goes on longest before it fails. Empty: the two have nothing to do with
/// each other (other memory, other width, no copy, addresses supplied one by one).
std::vector<Agreement> agreements(const HardwareModel& model, const Instruction& move, const Instruction& user,
                                  std::size_t operand);

}  // namespace isamap
