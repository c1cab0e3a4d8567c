// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loads that the steps of a window share.
//
// A register tile of a depthwise convolution reads each element of a row once for each column of the window: 30 loads
// for the sums of 10 positions and 3 columns, of 12 elements. GCC 12 keeps none of them: it folds each load into the
// instruction that uses it, since its address is known. So the loop over the window is written out here, element by
// element, with the sums that each one is part of:
//
//   for (s = 0; s < 3; ++s)                      W0 = load(F), W1 = load(F + 1), W2 = load(F + 2)
//     w = load(F + s)                            x = load(I);      O0 += x * W0
//     for (q = 0; q < 10; ++q)           ->      x = load(I + 1);  O1 += x * W0,  O0 += x * W1
//       x = load(I + q + s), Oq += x * w         x = load(I + 2);  O2 += x * W0,  O1 += x * W1,  O0 += x * W2
//                                                ..
//
// The terms of each sum keep their order, so results are the same bit for bit. The values are pinned to their registers
// by an empty assembly statement, where the machine states a constraint.

#include <cstdint>
#include <set>

#include "backends/cpp/function/runtime_numbers.h"
#include "isamap/hardware.h"
#include "isamap/program.h"

namespace isamap {

/// Writes out loops over few terms of sums in registers whose steps load the same elements, as far as registers
/// suffice. The buffers whose values are to stay in their registers.
std::set<std::int32_t> share_loads(Program& program, const HardwareModel& model, const RuntimeNumbers& numbers);

}  // namespace isamap
