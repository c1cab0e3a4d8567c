// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks and proofs that compare instructions with each other.

#include <cstddef>

namespace isamap {

/// They leave out machines with more instructions, whose pairs are too many.
inline constexpr std::size_t most_paired_instructions = 512;

}  // namespace isamap
