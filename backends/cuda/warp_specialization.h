// SPDX-License-Identifier: Apache-2.0
#pragma once
// Warp specialization: the part of a kernel that each role executes, and the part of all other warps; the same loops,
// filtered.
//
//   for n in 64                       loader: for n in 64                others: for n in 64
//     role loader                               wait until free[n % 4]             wait until ready[n % 4]
//       wait until free[n % 4]                  copies                             products
//       copies                                                                     arrive at free[n % 4]
//     wait until ready[n % 4]
//     products
//     arrive at free[n % 4]
//
// In program order the copies of a step precede its products by some steps; at run time the counters order them, so the
// producer may run ahead by the number of buffers.

#include <string>
#include <vector>

#include "isamap/program.h"

namespace isamap {

/// Names of the roles, in order of appearance.
std::vector<std::string> roles_of(const std::vector<Node>& nodes);

/// The nodes of `role`; empty: the nodes of no role. A loop whose body is guarded by a bound on its variable is
/// shortened.
std::vector<Node> part_of(const std::vector<Node>& nodes, const std::string& role);

}  // namespace isamap
