// SPDX-License-Identifier: Apache-2.0
#pragma once
// Private to the texts and pictures of a machine.

#include <cstdint>
#include <string>
#include <vector>

#include "isamap/hardware.h"

namespace isamap {

std::string values_text(const StateField& field);  ///< "0 to 255 step 8"

std::string size_text(std::int64_t bytes);      ///< "256KiB"
std::string rate_text(double bytes_per_cycle);  ///< "16 B/cycle"; unlimited: ""

const char* colour(MemoryKind kind);            ///< of its box in both pictures, "#cfe3f7"
std::string memory_size(const Memory& memory);  ///< "256KiB"; registers: "32 x 64B"
std::string unit_title(const Unit& unit);       ///< "lane x 32"
std::vector<std::size_t> units_inside(const HardwareModel& model, UnitId parent);

}  // namespace isamap
