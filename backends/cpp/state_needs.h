// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which state a block of a C++ program needs: what a loop may set once before it, and what its iterations change.

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "backends/cpp/call_text.h"

namespace isamap {

/// Are its steps taken by threads? Each has the state of its core, and sets what it needs itself.
bool in_threads(const Loop& loop, const HardwareModel& model);

/// Of all calls in a block, nested ones too; what threads need is disturbed, since they give it back.
struct StateNeeds {
  std::map<std::string, std::optional<std::int64_t>> values;  ///< nothing: several values are needed
  std::set<std::string> disturbed;                            ///< fields that calls themselves set
  std::map<std::string, std::string> users;                   ///< the first instruction that needs the field
};
StateNeeds state_needs(std::span<const Item> items, CallContext& context);

/// Fields that setters inside the block may change: needed with several values or set by calls, and all fields of the
/// setters that may set those.
std::set<std::string> unstable_fields(const StateNeeds& needs, const HardwareModel& model);

/// What can be set once for the whole block: needed with one value and not unstable.
KnownState stable_needs(const StateNeeds& needs, const std::set<std::string>& unstable);

}  // namespace isamap
