// SPDX-License-Identifier: Apache-2.0
#pragma once
// Registers with an index that depends on a rolled loop: instructions cannot encode them (program/program_verify.cpp).

#include <string>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/program.h"

namespace isamap {

struct ChosenRegister {
  BufferId buffer;
  std::string variable;  ///< of the loop
};
/// The accesses that `verify` refuses for that reason, each pair once.
std::vector<ChosenRegister> registers_chosen_by_loops(const Program& program, const HardwareModel& model);

}  // namespace isamap
