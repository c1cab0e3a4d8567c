// SPDX-License-Identifier: Apache-2.0
#pragma once
// How an operand gets from the memory where tensors live to where an instruction takes it.
//
// *Match* says that an instruction computes the right thing; *addressability* says whether some move can fetch the
// operand as it lies. A route that nothing can address directly gets a packed copy, made element by element by a
// scalar unit, whose layout is the instruction's own digits: [k/32, c, k%32].

#include <map>
#include <string>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/mapping.h"
#include "isamap/schedule.h"

namespace isamap {

/// One memory on the way, outermost first; the last is the instruction's operand memory when that is not home.
struct Hop {
  MemoryId memory;
  std::vector<LayoutDigit> layout;  ///< empty: derived from the operand (registers) or the tensor's own
  bool packed = false;              ///< filled (or drained) element by element by a scalar unit
  InstructionId move;               ///< representative move into (out of) this memory; invalid when packed
};

struct Route {
  int access = 0;         ///< of the kernel statement
  std::vector<Hop> hops;  ///< empty: the instruction takes the operand where it lies
  bool packed = false;    ///< some hop is packed
  bool skips = false;     ///< what it would read outside the tensor is not computed
};

/// All routes worth considering, direct ones first; none: `reasons` says what no move can do.
struct Routes {
  std::vector<Route> routes;
  std::vector<std::string> reasons;  ///< "row-major B is not addressable by load: neighbours 29 elements apart, ..."
};
/// `statement` is fused (include/isamap/mapping.h).
Routes routes(const Kernel& kernel, const Computation& statement, const Mapping& mapping, int instruction_access,
              const HardwareModel& model);

/// The same for many mappings of one statement: mappings that differ in dims that an operand does not have share its
/// routes. What is told of an access lives as long as the table.
class RouteTable {
 public:
  RouteTable(const Kernel& kernel, const HardwareModel& model) : kernel_(&kernel), model_(&model) {}
  const Routes& of(const Computation& statement, const Mapping& mapping, int instruction_access);

 private:
  const Kernel* kernel_;
  const HardwareModel* model_;
  std::map<std::string, Routes> known_;  ///< by everything that routes depend on
};

}  // namespace isamap
