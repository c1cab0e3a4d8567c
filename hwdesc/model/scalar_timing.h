// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cycles of element statements that a description states (its `timing`).

#include "ir/element_cycles.h"
#include "isamap/timing.h"

namespace isamap {

inline ElementCycles element_cycles_of(const TimingParameters& timing) {
  return {timing.copy_contiguous, timing.copy_interleaved, timing.copy_strided, timing.copy_divided,
          timing.access,          timing.interleaved_rows, timing.vector_trips};
}

}  // namespace isamap
