// SPDX-License-Identifier: Apache-2.0
#pragma once
// The types that operators take.

#include <vector>

#include "frontends/onnx/maker.h"

namespace isamap::importing {

/// Throws a contradiction where an input has a type that no operator set allows there. `inputs`: null: left out.
void check_types(const Node& node, const std::vector<const Value*>& inputs);

}  // namespace isamap::importing
