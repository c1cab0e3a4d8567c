// SPDX-License-Identifier: Apache-2.0
#pragma once
// What each role of a kernel does, and what is left for the others: the same loops, with the rest taken out.
//
//   for n in 64                       loader: for n in 64                others: for n in 64
//     role loader                               wait until free[n % 4]             wait until ready[n % 4]
//       wait until free[n % 4]                  copies                             products
//       copies                                                                     arrive at free[n % 4]
//     wait until ready[n % 4]
//     products
//     arrive at free[n % 4]
//
// In the program's order the copies of a step come some steps before its products; what really orders them are the
// counters, so each part may run ahead of the other as far as there are places.

#include <string>
#include <vector>

#include "isamap/program.h"

namespace isamap {

/// Names of the roles, in the order in which they appear.
std::vector<std::string> roles_of(const std::vector<Node>& nodes);

/// What `role` does; empty: what no role does. Loops that only a condition on their variable shortens are shorter.
std::vector<Node> part_of(const std::vector<Node>& nodes, const std::string& role);

}  // namespace isamap
