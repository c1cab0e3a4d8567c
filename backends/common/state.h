// SPDX-License-Identifier: Apache-2.0
#pragma once
// State fields and the setters that give them values: known values are carried along the commands, and a setter is
// placed before a use that needs another value.
//
// The printers of assembly and C++ share it. A field is named "dma.pitch"; one that every register of a file carries is
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
/// What holds in both.
KnownState meet(const KnownState& a, const KnownState& b);

/// The fields that a name in `sets` stands for: itself, or one for each register of a file.
std::vector<std::string> field_instances(const HardwareModel& model, const std::string& field);
/// Does the compiler of the program's language keep this field itself?
bool kept_by_language(const HardwareModel& model, const std::string& field);

/// What `instruction` needs where `value_of` tells its references; "D.rows" is that of D's register. Fields that the
/// language's compiler keeps are left out.
Result<KnownState> needed_state(const Instruction& instruction, const HardwareModel& model,
                                const std::function<std::optional<std::int64_t>(const Reference&)>& value_of);

/// A setter and the values of all fields it sets.
struct SetterUse {
  const Instruction* setter = nullptr;
  KnownState values;
};

/// The setters that make every field of `needed` hold; `known` is updated. An error names the field, what it holds,
/// what is needed and by whom: `user_of` tells for a field.
using UserOf = std::function<std::string(const std::string& field)>;
Result<std::vector<SetterUse>> place_setters(const HardwareModel& model, const KnownState& needed,
                                             const UserOf& user_of, KnownState& known);

}  // namespace isamap
