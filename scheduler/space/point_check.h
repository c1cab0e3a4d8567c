// SPDX-License-Identifier: Apache-2.0
#pragma once
// Validation of points of user-provided strategies: a choice for each decision, within its domain. `SearchSpace`
// accepts any point: `build` refuses one outside of the space with a message, its other members repair it first.

#include "isamap/search.h"

namespace isamap {

/// Does the point have a choice for each decision, within its domain? It may still be illegal.
bool in_space(const Point& point, const std::vector<Decision>& decisions);
/// "choice 3 (registers j) is 1000000; there are 15"; empty for a point of the space.
std::string not_in_space(const Point& point, const std::vector<Decision>& decisions);

}  // namespace isamap
