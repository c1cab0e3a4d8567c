// SPDX-License-Identifier: Apache-2.0
#pragma once
// What single instructions cost on a machine, asked of their descriptions.

#include <optional>

#include "isamap/hardware.h"
#include "isamap/kernel.h"

namespace isamap {

/// Cycles from the description, with `extents` in work and symbols at their largest; 1 where nothing is said.
double interval_of(const Instruction& instruction, const std::vector<std::int64_t>& extents,
                   const HardwareModel& model);
double latency_of(const Instruction& instruction, const std::vector<std::int64_t>& extents, const HardwareModel& model);
/// How many ports of the instruction's kind its unit has.
double ports_of(const Instruction& instruction, const HardwareModel& model);
/// Largest extents of an instruction's dims.
std::vector<std::int64_t> full_extents(const Instruction& instruction);

/// The move that carries `dtype` from one memory to another in the largest pieces; nothing: none does.
const Instruction* move_between(const HardwareModel& model, MemoryId from, MemoryId to, DType dtype);
/// Links on the way, outermost first; empty when from == to or nothing leads there.
std::vector<LinkId> links_between(const HardwareModel& model, MemoryId from, MemoryId to);
/// The same for a stage's moves: that of the first named one between these memories which has a link of its own.
std::vector<LinkId> links_of(const HardwareModel& model, const std::vector<std::string>& via, MemoryId from,
                             MemoryId to);
/// Do moves take issue slots here? A machine whose moves have no timing moves data beside the computation, for free.
bool issues_moves(const HardwareModel& model);

}  // namespace isamap
