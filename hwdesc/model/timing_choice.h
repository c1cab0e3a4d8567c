// SPDX-License-Identifier: Apache-2.0
#pragma once
// The timing model of a machine: which of the ways of adding cycles up (include/isamap/timing.h) holds for the calls
// of an instruction, and for scalar code.

#include <optional>
#include <string>

#include "isamap/hardware.h"

namespace isamap {

/// `calls`: the instruction; nullptr: scalar code.
TimingModel timing_model(const HardwareModel& model, const Instruction* calls);

/// Why: "moves take issue slots: load_f32 has an interval".
std::string timing_reason(const HardwareModel& model, const Instruction* calls);

/// The unit of the thread blocks that run in waves; nothing: the machine has none for these calls.
std::optional<UnitId> block_of(const HardwareModel& model, const Instruction* calls);

/// Do moves take issue slots? Without a timing of moves, transfers overlap with calls completely.
bool issues_moves(const HardwareModel& model);
/// Does the machine execute one stream of timed commands?
bool executes_a_stream(const HardwareModel& model);

}  // namespace isamap
