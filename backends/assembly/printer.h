// SPDX-License-Identifier: Apache-2.0
#pragma once
// A straight-line command stream with numeric addresses, from the instructions' `asm` (else `emit`) texts.

#include <optional>
#include <string>

#include "isamap/hardware.h"
#include "isamap/program.h"
#include "isamap/result.h"

namespace isamap {

constexpr std::int64_t max_commands = 20'000'000;

/// The diagnostic for a program of more than `max_commands` commands; nothing: it has fewer.
std::optional<Diagnostic> too_many_commands(const Program& program);

/// Marker of the n-th host nest; printed as a comment.
std::string host_marker(std::int64_t number);

/// The text in execution order. Host nests are comments with a marker.
Result<std::string> print_assembly(const Program& program, const HardwareModel& model);

}  // namespace isamap
