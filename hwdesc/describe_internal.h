#pragma once
// Private to the texts and pictures of a machine.

#include <cstdint>
#include <string>

namespace isamap {

std::string size_text(std::int64_t bytes);      ///< "256KiB"
std::string rate_text(double bytes_per_cycle);  ///< "16 B/cycle"; unlimited: ""

}  // namespace isamap
