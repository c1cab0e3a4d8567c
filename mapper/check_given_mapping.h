// SPDX-License-Identifier: Apache-2.0
#pragma once
// A mapping that somebody states, as the `do` line of a schedule does, against the definitions.

#include <string>

#include "isamap/mapper.h"

namespace isamap {

struct CheckedMapping {
  std::optional<Mapping> mapping;  ///< with carriers, needs, residual loops and its proof; nothing: refused
  std::string refusal;             ///< "dtype: the instruction computes ...", "instruction dim i takes 16, ..."
};

/// Of the mapping only statement, instruction, operands, constant, digits and whether a sum is rolled up are read. What
/// the exact tests leave open is asked of Z3; `rlimit` bounds it.
CheckedMapping check_given_mapping(const Kernel& kernel, const HardwareModel& model, const Mapping& stated,
                                   std::uint64_t rlimit = MapOptions{}.rlimit);

}  // namespace isamap
