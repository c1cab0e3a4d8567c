// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers and tables as text.

#include <string>
#include <vector>

namespace isamap {

/// Rows of cells in aligned columns, the first row underlined; numbers to the right.
std::string table(const std::vector<std::vector<std::string>>& rows);
/// 1234567 -> "1.23M", 12 -> "12": three significant digits.
std::string short_number(double value);

}  // namespace isamap
