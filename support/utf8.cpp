// SPDX-License-Identifier: Apache-2.0
#include "support/utf8.h"

namespace isamap {

std::size_t utf8_length(const std::string& text, std::size_t i) {
  const auto byte = static_cast<unsigned char>(text[i]);
  const std::size_t length = byte < 0x80                   ? 1
                             : byte >= 0xc2 && byte < 0xe0 ? 2
                             : byte >= 0xe0 && byte < 0xf0 ? 3
                             : byte >= 0xf0 && byte < 0xf5 ? 4
                                                           : 0;
  if (length == 0 || i + length > text.size()) return 0;
  for (std::size_t k = 1; k < length; ++k)
    if ((static_cast<unsigned char>(text[i + k]) & 0xc0) != 0x80) return 0;
  // Neither longer than needed, nor a surrogate, nor beyond U+10FFFF (Unicode 15, table 3-7).
  const auto second = static_cast<unsigned char>(length > 1 ? text[i + 1] : 0);
  const bool refused = (byte == 0xe0 && second < 0xa0) || (byte == 0xed && second > 0x9f) ||
                       (byte == 0xf0 && second < 0x90) || (byte == 0xf4 && second > 0x8f);
  return refused ? 0 : length;
}

bool is_utf8(const std::string& text) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(text, i);
    if (length == 0) return false;
    i += length;
  }
  return true;
}

}  // namespace isamap
