#pragma once
// A straight stream of commands with numeric addresses, from the instructions' `asm` (else `emit`) texts.

#include <string>

#include "hwdesc/hardware_model.h"
#include "ir/program.h"
#include "support/result.h"

namespace isamap {

constexpr std::int64_t max_commands = 20'000'000;

/// The line that stands for the n-th nest a host executes; printed behind the comment sign.
std::string host_marker(std::int64_t number);

/// The text; in order of execution. What a scalar unit outside the device executes is a comment with a marker.
Result<std::string> print_assembly(const Program& program, const HardwareModel& model);

}  // namespace isamap
