// SPDX-License-Identifier: Apache-2.0
#pragma once
// The word that an instruction takes instead of an address, computed where the kernel runs.

#include <functional>
#include <string>

#include "isamap/hardware.h"

namespace isamap {

/// `text_of` a reference: "A" for the operand's address, a number for anything else. As an expression of 64 bits at
/// most.
std::string word_text(const FormatUse& use, const Format& format,
                      const std::function<std::string(const Reference&)>& text_of);

}  // namespace isamap
