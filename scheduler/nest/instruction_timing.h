// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cost of single instructions, from the hardware description.

#include <optional>

#include "isamap/hardware.h"
#include "isamap/kernel.h"

namespace isamap {

/// Cycles from the description for these extents, symbols at their largest; 1 if it gives none.
double interval_of(const Instruction& instruction, const std::vector<std::int64_t>& extents,
                   const HardwareModel& model);
/// The same of a command of a stream, at least what its operands take of memories with a bandwidth, and what it carries
/// takes of its link.
double command_interval(const Instruction& instruction, const std::vector<std::int64_t>& extents,
                        const HardwareModel& model);
/// Cycles until its result is there: its latency, at least its interval and what the link adds.
double command_latency(const Instruction& instruction, const std::vector<std::int64_t>& extents,
                       const HardwareModel& model);
double latency_of(const Instruction& instruction, const std::vector<std::int64_t>& extents, const HardwareModel& model);
/// The same of a use with the largest extents.
double full_interval(const Instruction& instruction);
double full_latency(const Instruction& instruction);
/// Ports of its unit that can issue the instruction.
double ports_of(const Instruction& instruction, const HardwareModel& model);
/// Largest extents of an instruction's dims.
std::vector<std::int64_t> full_extents(const Instruction& instruction);

/// The move of `dtype` between two memories with the most elements a call; nullptr: there is none.
const Instruction* move_between(const HardwareModel& model, MemoryId from, MemoryId to, DType dtype);
/// Links on the path, from `from` on; empty if from == to or there is no path.
const std::vector<LinkId>& links_between(const HardwareModel& model, MemoryId from, MemoryId to);

}  // namespace isamap
