// SPDX-License-Identifier: Apache-2.0
#pragma once
// A straight-line command stream with numeric addresses, from the instructions' `asm` (else `emit`) texts.

#include <optional>
#include <string>
#include <string_view>

#include "isamap/hardware.h"
#include "isamap/program.h"
#include "isamap/result.h"

namespace isamap {

constexpr std::int64_t max_commands = 20'000'000;

/// The diagnostic for a program of more than `max_commands` commands; nothing: it has fewer.
std::optional<Diagnostic> too_many_commands(const Program& program);

/// Marker of the n-th host nest; printed as a comment.
std::string host_marker(std::int64_t number);

/// Text of the comment before the commands of part `number` of a model: "part 3: conv_2".
std::string part_marker(std::size_t number, const std::string& name);
/// The number; nothing: the text is no such marker.
std::optional<std::size_t> marked_part(std::string_view text);

/// The text in execution order. Host nests are comments with a marker. Commands of a part of a model stay behind its
/// marker, and before the next one.
Result<std::string> print_assembly(const Program& program, const HardwareModel& model);

}  // namespace isamap
