// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operands that no data reach, or whose results stay where they are: an instruction may cover a statement on a machine
// that has no way to its memories.

#include <set>
#include <string>
#include <vector>

#include "isamap/mapper.h"

namespace isamap {

/// One sentence an operand, with the nearest move that there is. Empty: every memory is reached. `mma` of a machine
/// that moves only words:
///   no way to operand A of mma: nothing takes s8 to spad; nearest is mvin_bias, which takes s32 from dram to acc
std::vector<std::string> missing_moves(const Instruction& instruction, const HardwareModel& model);
/// Of several instructions.
std::vector<std::string> missing_moves(const std::set<InstructionId>& instructions, const HardwareModel& model);
/// Of those of these mappings.
std::vector<std::string> missing_moves(const std::vector<Mapping>& mappings, const HardwareModel& model);

}  // namespace isamap
