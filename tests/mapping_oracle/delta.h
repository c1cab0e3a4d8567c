// SPDX-License-Identifier: Apache-2.0
#pragma once
// The definitions over all positions of a tile: inclusions between sets of digit differences
// {d - d' : 0 <= d, d' < extent, |Y(d - d')| < instruction extent}, by enumeration.

#include "tests/mapping_oracle/model.h"

namespace isamap::oracle {

struct DeltaVerdict {
  bool sound = true, no_partials = true;
  bool neutral = true;  ///< every face and fill has a carrier: the output, or inputs that make the term vanish
};
/// No tied digits. Loops and carriers of the mapping are not read.
DeltaVerdict judge_differences(const Nest& kernel, const Nest& unit, const Mapping& mapping);

}  // namespace isamap::oracle
