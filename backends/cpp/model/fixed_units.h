// SPDX-License-Identifier: Apache-2.0
#pragma once
// The file of a model, to be compiled as one unit or in several ones side by side (ModelUnit::in_units).

#include <string>
#include <vector>

#include "backends/cpp/model/fixed_parts.h"

namespace isamap {

/// Are the parts worth several units?
bool splits_into_units(const std::vector<FixedPart>& parts, std::size_t least_bytes);

/// The parts and `rest`, which calls them, for one unit.
std::string text_of_one_unit(const std::vector<FixedPart>& parts, const std::string& rest);
/// For any number of units. `name`: the model's.
std::string text_of_units(const std::vector<FixedPart>& parts, const std::string& rest, const std::string& name);

}  // namespace isamap
