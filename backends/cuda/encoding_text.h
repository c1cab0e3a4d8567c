// SPDX-License-Identifier: Apache-2.0
#pragma once
// Packed operands (matrix descriptors) as C++ expressions that the kernel evaluates.

#include <functional>
#include <string>

#include "isamap/hardware.h"

namespace isamap {

/// `text_of` a reference: "A" for the operand's address, a number for anything else. The result is an expression of at
/// most 64 bits.
std::string word_text(const FormatUse& use, const Format& format,
                      const std::function<std::string(const Reference&)>& text_of);

}  // namespace isamap
