// SPDX-License-Identifier: Apache-2.0
#pragma once
// Text as UTF-8 (RFC 3629). Names from files are any bytes.

#include <cstddef>
#include <string>

namespace isamap {

/// Bytes of the character that begins at `i`, 1 to 4; 0: none begins there.
std::size_t utf8_length(const std::string& text, std::size_t i);

bool is_utf8(const std::string& text);

}  // namespace isamap
