// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which compiler was found to make the faster program of a text.

#include <string>

#include "isamap/backend.h"

namespace isamap {

/// The model whose programs the remembered compiler makes; as it is, where nothing is remembered of this text, the user
/// or the model has chosen, or that compiler is gone.
HardwareModel as_remembered(const HardwareModel& model, const std::string& kernel_text);

}  // namespace isamap
