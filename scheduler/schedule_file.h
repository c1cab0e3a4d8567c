// SPDX-License-Identifier: Apache-2.0
#pragma once
// Schedule files: the `levels:` view of the contract and the full `nest:` form, one reader for both.

#include <string>

#include "hwdesc/hardware_model.h"
#include "ir/kernel.h"
#include "ir/mapping.h"
#include "ir/schedule.h"

namespace isamap {

/// `levels:` needs the machine (its only matching instruction, the units between memories) and becomes a nest.
Result<Schedule> load_schedule(const std::string& path, const Kernel& kernel, const HardwareModel& model);
Result<Schedule> parse_schedule(const std::string& text, const std::string& file, const Kernel& kernel,
                                const HardwareModel& model);

/// Dims exist, tiles are positive and nested, every stage names a tensor of its statement and a memory, `do` stands
/// last once, every dim is walked down to what the instruction takes.
Diagnostics verify(const Schedule& schedule, const Kernel& kernel, const HardwareModel& model);

}  // namespace isamap
