// SPDX-License-Identifier: Apache-2.0
#pragma once
// A mapping run call by call on integers, calls in random order, every slot that no active point uses filled with large
// garbage, except where a carrier must hold the constant that makes a term vanish; compared with the plain loop nest.

#include "tests/mapping_oracle/points.h"

namespace isamap::oracle {

struct Execution {
  std::string problem;  ///< empty: equal to the loop nest
  Int calls = 0, garbage_reads = 0;
};
/// `mapping.partial`: the output's slots start from the identity and are combined into the elements after the call.
Execution execute(const Nest& kernel, const Nest& unit, const Mapping& mapping, std::uint64_t seed);

}  // namespace isamap::oracle
