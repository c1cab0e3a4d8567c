// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions of the standard that are the host's for a compiler to which no option says otherwise: printed files have
// their own under other names, so they compile without options and without warnings.

#include <string>
#include <vector>

namespace isamap {

/// `std::numeric_limits<float>::max()` becomes `limits_of<float>::max()`, and what is used is defined in front.
std::string with_device_names(std::string text);

/// Nothing else in the file may take them.
std::vector<std::string> device_names();

/// Every `from` replaced.
std::string replaced(std::string text, const std::string& from, const std::string& to);

}  // namespace isamap
