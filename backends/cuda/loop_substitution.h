// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loops that are counted in another way: their variables become expressions of other numbers.

#include <map>
#include <string>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/program.h"

namespace isamap {

using Values = std::map<std::string, AffineExpr>;

/// The variables of `loops`, one inside the other, whose steps are counted as one `number`, the last loop fastest.
Values numbers_of(const std::vector<Loop>& loops, const AffineExpr& number, const Ranges& ranges);

/// The nodes with values in place of variables. `ranges`: of the variables in the values and of the loops around.
std::vector<Node> with_values(const std::vector<Node>& nodes, const Values& values, Ranges ranges,
                              const HardwareModel& model);

}  // namespace isamap
