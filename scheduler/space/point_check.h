// SPDX-License-Identifier: Apache-2.0
#pragma once
// Points of strategies that others wrote are looked at before they are used: a choice for each decision, each within
// its domain. `SearchSpace` itself takes any point: `build` refuses one that is not of the space with words, its other
// members repair it first.

#include "isamap/search.h"

namespace isamap {

/// Has the point a choice for each decision, each within its domain? It may still be illegal.
bool in_space(const Point& point, const std::vector<Decision>& decisions);
/// "choice 3 (registers j) is 1000000; there are 15"; of a point of the space, nothing.
std::string not_in_space(const Point& point, const std::vector<Decision>& decisions);

}  // namespace isamap
