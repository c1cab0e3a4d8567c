// SPDX-License-Identifier: Apache-2.0
#pragma once
// Keywords of schedule lines, for printing and parsing.

#include <array>
#include <string_view>

namespace isamap {

inline constexpr std::array<std::string_view, 3> tail_names{"", "pad", "split"};       // as in Tail
inline constexpr std::array<std::string_view, 3> first_names{"fill", "flag", "load"};  // as in First
inline constexpr std::array<std::string_view, 2> outside_names{"pad", "skip"};         // as in Outside

inline int ahead_by_default(int buffers) { return buffers > 1 ? buffers - 1 : 0; }

}  // namespace isamap
