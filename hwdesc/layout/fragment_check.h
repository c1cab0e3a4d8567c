// SPDX-License-Identifier: Apache-2.0
#pragma once
// Is a fragment a bijection: is every index of its operand in exactly one (unit, element), at every extent?

#include <string>

#include "isamap/instruction.h"

namespace isamap {

struct FragmentCheck {
  std::string fault;        ///< empty: proved. "has [i=0, j=1] twice, at (lane 0, elem 1) and at (lane 4, elem 0)"
  bool too_large = false;   ///< not checked: more places than `budget`
  std::int64_t places = 0;  ///< checked, over all extents
  std::int64_t boxes = 0;   ///< combinations of extents that the layout depends on; 1: it depends on none
};

/// By enumeration of every place: in range, no index twice (unless `replicated`), every index reached. An extent of
/// `over` that depends on a ranged dim is checked at every extent of the dim.
FragmentCheck check_fragment(const Instruction& instruction, std::size_t operand,
                             std::int64_t budget = std::int64_t{1} << 24);

}  // namespace isamap
