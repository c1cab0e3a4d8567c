// SPDX-License-Identifier: Apache-2.0
#pragma once
// Two blocks that differ in the extents of calls only: one program serves both, with the extents known at the call.

#include <optional>
#include <set>

#include "isamap/hardware.h"
#include "isamap/program.h"

namespace isamap {

/// The extents of `a` that are larger by `more` in `b`, if the programs are equal but for these and for the shapes of
/// arguments, and if no other extent of `a` has the same number. Empty: they are equal.
std::optional<std::set<std::int64_t>> masked_extents(const Program& a, const Program& b, std::int64_t more);

/// The same where other extents may have the same number: a program of another extent serves both.
std::optional<std::set<std::int64_t>> differing_extents(const Program& a, const Program& b, std::int64_t more);

/// How much larger the extents of `a` that differ in `b` may become: what the instructions compute at most. 0: none
/// differs, or more than extents do.
std::int64_t masked_room(const Program& a, const Program& b, std::int64_t more, const HardwareModel& model);

}  // namespace isamap
