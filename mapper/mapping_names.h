// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names of the parts of a mapping, for JSON, tables and pictures.

#include <string>
#include <utility>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/mapper.h"
#include "isamap/mapping.h"

namespace isamap {

/// (instruction dim, columns of its digits), outermost first.
std::vector<std::pair<std::string, std::vector<std::string>>> named_digits(const Mapping& mapping,
                                                                           const HardwareModel& model);
/// (instruction operand, kernel tensor).
std::vector<std::pair<std::string, std::string>> named_operands(const Mapping& mapping, const Kernel& kernel,
                                                                const HardwareModel& model);
/// (cause of padding, instruction operand that neutralises it).
std::vector<std::pair<std::string, std::string>> named_carriers(const Mapping& mapping, const HardwareModel& model);
/// Has a digit another extent than its dim, so that columns alone do not describe the mapping?
bool has_partial_extents(const Mapping& mapping, const Kernel& kernel);
/// "i = n.p, j = k, k = c.r"
std::string digits_text(const Mapping& mapping, const HardwareModel& model);
std::string_view name(Proof proof);

}  // namespace isamap
