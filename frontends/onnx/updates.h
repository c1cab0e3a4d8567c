// SPDX-License-Identifier: Apache-2.0
#pragma once
// Updates of elements at positions: scatters (ir/scatter.h). `hit` is whether update u is one of the element.

#include <string>

#include "frontends/onnx/maker.h"

namespace isamap::importing {

/// `element` combined with the updates that hit it; `how`: the attribute `reduction`.
std::string combined_update(Maker& m, const std::string& element, const std::string& how, const std::string& hit,
                            const std::string& update);

/// `to` = the number of the last update that hits, negative without one.
std::string last_update(const std::string& to, const std::string& hit);

}  // namespace isamap::importing
