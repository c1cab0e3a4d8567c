// SPDX-License-Identifier: Apache-2.0
#pragma once
// State fields and their setters: known values are propagated along the commands (constant propagation), and a setter
// is inserted before a use that needs another value.
//
// Shared by the assembly and C++ printers. A field is named "dma.pitch"; a field of each register of a file is
// "tile3.rows", and a setter of "tile.rows" sets it for all registers at once.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/result.h"

namespace isamap {

using KnownState = std::map<std::string, std::int64_t>;  ///< "ld.stride" -> value; absent: unknown

std::string field_name(const Reference& reference);  ///< {"ld", "stride"} gives "ld.stride"
KnownState reset_values(const HardwareModel& model);
/// The intersection of both.
KnownState meet(const KnownState& a, const KnownState& b);

/// The fields that a name in `sets` denotes: itself, or one per register of a file.
std::vector<std::string> field_instances(const HardwareModel& model, const std::string& field);
/// Does the target's compiler manage this field?
bool kept_by_language(const HardwareModel& model, const std::string& field);

/// State needed by `instruction` with references evaluated by `value_of`; "D.rows" is that of D's register. Fields
/// managed by the target's compiler are left out.
Result<KnownState> needed_state(const Instruction& instruction, const HardwareModel& model,
                                const std::function<std::optional<std::int64_t>(const Reference&)>& value_of);

/// A setter and the values of all fields it sets.
struct SetterUse {
  const Instruction* setter = nullptr;
  KnownState values;
};

/// The setters that establish `needed`; `known` is updated. The error names the field, its value, the needed value and
/// the instruction that needs it (`user_of`).
using UserOf = std::function<std::string(const std::string& field)>;
Result<std::vector<SetterUse>> place_setters(const HardwareModel& model, const KnownState& needed,
                                             const UserOf& user_of, KnownState& known);

}  // namespace isamap
