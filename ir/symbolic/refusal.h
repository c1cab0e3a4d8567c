// SPDX-License-Identifier: Apache-2.0
#pragma once
// Messages of kernels that have no program for all sizes.

#include <string>
#include <string_view>

namespace isamap {

inline constexpr std::string_view no_program_for_all_sizes = "no program for all sizes: ";

/// "no program for all sizes: WHY".
inline std::string refused_for_all_sizes(const std::string& why) { return std::string(no_program_for_all_sizes) + why; }

/// The WHY of such a message; of others the message.
inline std::string why_refused_for_all_sizes(const std::string& message) {
  return message.starts_with(no_program_for_all_sizes) ? message.substr(no_program_for_all_sizes.size()) : message;
}

}  // namespace isamap
