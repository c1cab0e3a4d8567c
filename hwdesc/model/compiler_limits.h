// SPDX-License-Identifier: Apache-2.0
#pragma once
// What compilers do with printed programs. Unrolling of loops without an `unroll` mark has two limits for two
// questions: which loops are unrolled, and for how many of the values that unrolling keeps alive a schedule has
// registers.

#include <cstdint>

namespace isamap {

/// A loop of at most so many steps is unrolled fully (GCC: max-completely-peel-times; Clang unrolls more).
inline constexpr std::int64_t steps_unrolled_by_compilers = 16;

/// ... if its steps have at most so many calls together (GCC: max-completely-peeled-insns).
inline constexpr std::int64_t calls_unrolled_by_compilers = 300;

/// GCC copies a known number of bytes by moves that overlap, of up to so many where registers hold them. Where these
/// are shorter it copies by 16 bytes.
inline constexpr std::int64_t bytes_moved_at_once = 64;

/// Steps of a window (`I[2*q + s]` along s) whose re-read values a register tile leaves room for. Windows of networks
/// have one to seven steps. Along longer ones the tile takes the registers, and the printed program keeps compilers
/// from holding the values (backends/cpp/function/register_hints.h).
inline constexpr std::int64_t window_steps_in_registers = 8;
static_assert(window_steps_in_registers <= steps_unrolled_by_compilers, "a loop that is not unrolled keeps nothing");

/// Registers that are left free where values are kept: compilers load somewhat earlier than written.
inline constexpr std::int64_t spare_registers = 2;

}  // namespace isamap
