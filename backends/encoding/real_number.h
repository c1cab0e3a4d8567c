// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers that a command carries and that are not integers: state fields and constants of a real dtype.
//
// They are known by the bits that they have in their type; as text they are decimal numbers.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "isamap/hardware.h"

namespace isamap {

/// The type of what a reference names: `st.scale` of a real field, `X` of a real constant; nothing for integers.
std::optional<DType> real_type(const Reference& reference, const Instruction& instruction, const HardwareModel& model);

/// What a placeholder prints: a real number alone in decimal, `16`, `0.25`; all else is an integer.
std::string number_text(std::int64_t value, const Placeholder& placeholder, const Instruction& instruction,
                        const HardwareModel& model);
/// The inverse for real numbers: the one at the beginning of `text` is taken away, its bits are given back.
std::optional<std::int64_t> take_real(DType type, std::string_view& text);

}  // namespace isamap
