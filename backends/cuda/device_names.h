// SPDX-License-Identifier: Apache-2.0
#pragma once
// Standard library functions that are host-only without special compiler options: printed files define device versions
// under other names, so they compile without options and warnings.

#include <string>
#include <vector>

namespace isamap {

/// `std::numeric_limits<float>::max()` becomes `limits_of<float>::max()`; used ones are defined first.
std::string with_device_names(std::string text);

/// Reserved in the file.
std::vector<std::string> device_names();

/// Every `from` replaced.
std::string replaced(std::string text, const std::string& from, const std::string& to);

}  // namespace isamap
