// SPDX-License-Identifier: Apache-2.0
#pragma once
// Is a fragment one to one: does every index of its operand stand in exactly one (unit, element), at every extent?

#include <string>

#include "isamap/instruction.h"

namespace isamap {

struct FragmentCheck {
  std::string fault;        ///< empty: proved. "has [i=0, j=1] twice, at (lane 0, elem 1) and at (lane 4, elem 0)"
  bool too_large = false;   ///< not looked at: more places than `budget`
  std::int64_t places = 0;  ///< looked at, over all extents
  std::int64_t boxes = 0;   ///< combinations of extents that the layout follows; 1: it is the same for all
};

/// By enumeration of every place: in range, no index twice (unless `replicated`), every index reached. An extent of
/// `over` that follows a ranged dim is taken at every extent that the dim may have.
FragmentCheck check_fragment(const Instruction& instruction, std::size_t operand,
                             std::int64_t budget = std::int64_t{1} << 24);

}  // namespace isamap
