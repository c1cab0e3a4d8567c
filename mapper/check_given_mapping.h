// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks a given mapping, as in the `do` line of a schedule, against the definitions.

#include <string>

#include "isamap/mapper.h"

namespace isamap {

struct CheckedMapping {
  std::optional<Mapping> mapping;  ///< with carriers, needs, residual loops and its proof; nothing: refused
  std::string refusal;             ///< "dtype: the instruction computes ...", "instruction dim i takes 16, ..."
};

/// Reads only statement, instruction, operands, constant, digits and whether a sum is rerolled. Z3 decides what the
/// exact tests leave open, within `rlimit`.
CheckedMapping check_given_mapping(const Kernel& kernel, const HardwareModel& model, const Mapping& stated,
                                   std::uint64_t rlimit = MapOptions{}.rlimit);

}  // namespace isamap
