// SPDX-License-Identifier: Apache-2.0
#pragma once
// A schedule to a program: tiles to loops, stages to buffers with fills and drains, `do` to calls.
//
// Rules R1..R5 of docs/schedule.md. Every walk whose tile does not divide gets a body for its last, shorter tile, so
// all extents in the program are constants.

#include "hwdesc/hardware_model.h"
#include "ir/mapping.h"
#include "ir/program.h"
#include "ir/schedule.h"
#include "scheduler/argument_strides.h"

namespace isamap {

/// Whether what a `do` line states is proved again, or taken for granted: by a caller that knows better, because the
/// statement is the instruction's own.
enum class DoLines { proved, trusted };

/// Diagnostics name the line of the schedule, the number found and the number needed; capacities, register counts and
/// alignments are checked by the verifier of the result (hwdesc/program_check.h), which this calls.
///
/// `strides`, one for each argument or none at all, say how the caller's tensors lie. What an instruction cannot
/// address so is refused like what it cannot address in a tile of the schedule's own.
Result<Program> lower(const Schedule& schedule, const Kernel& kernel, const HardwareModel& model,
                      DoLines lines = DoLines::proved, const std::vector<Strides>& strides = {});

}  // namespace isamap
