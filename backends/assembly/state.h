#pragma once
// State fields and the setters that give them values: known values are carried along the line of commands, and a setter
// is placed before a use that needs another value.

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "hwdesc/hardware_model.h"
#include "support/result.h"

namespace isamap {

using KnownState = std::map<std::string, std::int64_t>;  ///< "ld.stride" -> value; absent: unknown

std::string field_name(const Reference& reference);  ///< {"ld", "stride"} gives "ld.stride"
KnownState reset_values(const HardwareModel& model);

/// A setter and the values of all fields it sets.
struct SetterUse {
  const Instruction* setter = nullptr;
  KnownState values;
};

/// The setters that make every field of `needed` hold; `known` is updated. An error names the field, what it holds,
/// what is needed and by whom.
Result<std::vector<SetterUse>> place_setters(const HardwareModel& model, const KnownState& needed,
                                             const std::string& user, KnownState& known);

}  // namespace isamap
