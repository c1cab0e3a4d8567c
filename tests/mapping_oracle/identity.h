// SPDX-License-Identifier: Apache-2.0
#pragma once
// When two mappings are the same one.

#include <string>

#include "tests/mapping_oracle/model.h"

namespace isamap::oracle {

/// Operands, directions and the operand sets of the dims that they are on, and which of two parallel output digits is
/// the finer one; the smallest such text over the instruction's symmetries. Signs and multiples of columns, order of
/// digits on a dim, dims of one operand set, extents and residual loops do not matter.
struct Identity {
  std::string directions;  ///< without the order of parallel digits
  std::string full;
};
Identity identity_of(const Mapping& mapping, const Nest& kernel, const Nest& unit);

/// Can every digit make a step without leaving the box? Directions that cannot are like dims of extent 1.
bool moves(const Mapping& mapping, const Nest& kernel);

}  // namespace isamap::oracle
