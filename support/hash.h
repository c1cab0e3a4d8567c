// SPDX-License-Identifier: Apache-2.0
#pragma once
// Hashes that are equal on every machine: names of contents, not cryptographic.

#include <cstdint>
#include <span>
#include <string_view>

namespace isamap {

/// FNV-1a of 64 bits (Fowler, Noll, Vo): where it starts, and its step. A step takes a byte, or a number as a whole.
constexpr std::uint64_t fnv1a_start = 0xcbf29ce484222325ULL;
constexpr std::uint64_t fnv1a_step(std::uint64_t hash, std::uint64_t value) {
  return (hash ^ value) * 0x100000001b3ULL;
}

constexpr std::uint64_t fnv1a(std::string_view text, std::uint64_t hash = fnv1a_start) {
  for (const char c : text) hash = fnv1a_step(hash, static_cast<unsigned char>(c));
  return hash;
}

/// Each number is one step.
constexpr std::uint64_t fnv1a(std::span<const int> numbers, std::uint64_t hash = fnv1a_start) {
  for (const int number : numbers) hash = fnv1a_step(hash, static_cast<std::uint64_t>(number));
  return hash;
}

}  // namespace isamap
