// SPDX-License-Identifier: Apache-2.0
#pragma once
// Remembers the compiler that produced the fastest program of a text.

#include <string>

#include "isamap/backend.h"

namespace isamap {

/// The model with the remembered compiler; unchanged if nothing is remembered of this text, the user or the model chose
/// a compiler, or that compiler is gone.
HardwareModel as_remembered(const HardwareModel& model, const std::string& kernel_text);

}  // namespace isamap
