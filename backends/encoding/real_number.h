// SPDX-License-Identifier: Apache-2.0
#pragma once
// Floating-point values in commands: state fields and constants of a real dtype.
//
// Represented by their bit pattern; printed as decimal numbers.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "isamap/hardware.h"

namespace isamap {

/// The dtype of a reference: `st.scale` of a real field, `X` of a real constant; nothing for integers.
std::optional<DType> real_type(const Reference& reference, const Instruction& instruction, const HardwareModel& model);

/// Text of a placeholder: a single real value in decimal, `16`, `0.25`; any other expression is an integer.
std::string number_text(std::int64_t value, const Placeholder& placeholder, const Instruction& instruction,
                        const HardwareModel& model);
/// The inverse for real numbers: consumes the number at the start of `text` and returns its bits.
std::optional<std::int64_t> take_real(DType type, std::string_view& text);

}  // namespace isamap
