// SPDX-License-Identifier: Apache-2.0
#pragma once
// State requirements of a block of a C++ program: loop-invariant state that can be set before a loop, and state changed
// by its iterations.

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "backends/cpp/function/call_text.h"

namespace isamap {

/// Is it a parallel loop? Each thread has the state of its core and sets it itself.
bool in_threads(const Loop& loop, const HardwareModel& model);

/// Of all calls in a block, nested ones too; state needed by threads counts as disturbed, since they restore it.
struct StateNeeds {
  std::map<std::string, std::optional<std::int64_t>> values;  ///< nothing: different values are needed
  std::set<std::string> disturbed;                            ///< fields set by calls
  std::map<std::string, std::string> users;                   ///< the first instruction that needs the field
};
StateNeeds state_needs(std::span<const Item> items, CallContext& context);

/// Fields that setters inside the block may change: needed with different values or set by calls, and all fields of
/// their setters.
std::set<std::string> unstable_fields(const StateNeeds& needs, const HardwareModel& model);

/// Block-invariant needs: one value, and not unstable.
KnownState stable_needs(const StateNeeds& needs, const std::set<std::string>& unstable);

}  // namespace isamap
