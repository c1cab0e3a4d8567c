// SPDX-License-Identifier: Apache-2.0
#pragma once
// Threads of an emitted model. Its parts are executed by all members of a team, each with its iterations of the loops
// that the schedules distribute; what is outside of such loops is executed by one of them. Members wait for each other
// after every such loop.
//
// A run takes the team, and begins alone: the others join at the first distributed part where all of them are awake. A
// run that finds the team taken stays alone.

#include <cstdint>
#include <string>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/program.h"

namespace isamap {

/// Threads of programs for this machine: instances of the units that have `threads`.
std::int64_t threads_of(const HardwareModel& machine);

/// Is some loop distributed over threads?
bool distributes(const std::vector<Node>& nodes, const HardwareModel& machine);

/// The last parameter of a distributed function, and its type.
inline constexpr const char* member_name = "team";
inline constexpr const char* member_type = "isamap_member";
/// A statement: all members of a function are here.
inline constexpr const char* wait_for_all = "isamap_wait_for_all(team);";
/// Of a function with local arrays that its members share: where they are.
inline constexpr const char* team_memory_name = "team_memory";

/// Statements that one member executes, while the others wait for it.
std::string alone_text(const std::string& statements);

/// Where local arrays are that members share: in memory of the caller, or of the parts.
enum class TeamMemory { of_caller, of_parts };
/// Of memory of a part, which each member may have: that of the first member.
inline constexpr const char* memory_of_first = "isamap_of_first";

/// Types and functions of a team, in front of the parts. NAME is the model's.
std::string team_text(const HardwareModel& machine, TeamMemory memory = TeamMemory::of_caller);

}  // namespace isamap
