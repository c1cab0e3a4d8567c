// SPDX-License-Identifier: Apache-2.0
#pragma once
// Hashes that are equal on every machine: names of contents, not cryptographic.

#include <cstdint>
#include <string_view>

namespace isamap {

/// FNV-1a of 64 bits: Fowler, Noll, Vo.
constexpr std::uint64_t fnv1a(std::string_view text, std::uint64_t hash = 0xcbf29ce484222325ULL) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

}  // namespace isamap
