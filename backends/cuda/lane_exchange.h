// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sums that lanes share: each adds up a part, then the parts are exchanged until every lane has the whole.
//
//   for i, on warps:
//     for l, on lanes:  P = 0;  for j, 32 steps at once:  P += X[i, j + l]
//     D = exchange(P) by 16 lanes;  P += D;  ... by 8, 4, 2, 1
//     one lane:  Y[i] += P
//
// Which instructions exchange registers, and which of them in turn reach all lanes: hwdesc/model/lane_exchanges.h. The
// order of the sum is another one than in time.

#include "isamap/hardware.h"
#include "isamap/program.h"

namespace isamap {

/// Partial results in registers of `unit`: buffers that are added to the program.
struct Partial {
  BufferId own, other;
};
Partial add_partial(Program& program, MemoryId registers, DType type);

/// `P = identity`, `P = P with D`, `Y = Y with P`, as the statement combines.
Element start_partial(const Element& element, const Partial& partial, DType type, UnitId unit);
Element take_other(const Element& element, const Partial& partial, DType type, UnitId unit);
Element give_partial(const Element& element, const Partial& partial, DType type);

}  // namespace isamap
