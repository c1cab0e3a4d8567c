// SPDX-License-Identifier: Apache-2.0
#pragma once
// Routes of an operand from the home memory to the operand memory of an instruction.
//
// *Match* means that an instruction computes the right value; *addressability*, that some move can load the operand
// from its layout. An operand that no move can address gets a packed copy, made element by element by a scalar unit, in
// the digits of the instruction: [k/32, c, k%32].

#include <map>
#include <string>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/mapping.h"
#include "isamap/schedule.h"

namespace isamap {

/// One memory on the path, outermost first; the last is the operand memory of the instruction if that is not home.
struct Hop {
  MemoryId memory;
  std::vector<LayoutDigit> layout;  ///< empty: derived from the operand (registers) or the tensor's own
  bool packed = false;              ///< filled (or drained) element by element by a scalar unit
  InstructionId move;               ///< representative move into (out of) this memory; invalid when packed
};

struct Route {
  int access = 0;         ///< of the kernel statement
  std::vector<Hop> hops;  ///< empty: a memory operand at home
  bool packed = false;    ///< some hop is packed
  bool skips = false;     ///< out-of-bounds points are skipped
};

/// All candidate routes, direct ones first; none: `reasons` says what no move can do.
struct Routes {
  std::vector<Route> routes;
  std::vector<std::string> reasons;  ///< "row-major B is not addressable by load: neighbours 29 elements apart, ..."
};
/// `statement` is fused (include/isamap/mapping.h).
Routes routes(const Kernel& kernel, const Computation& statement, const Mapping& mapping, int instruction_access,
              const HardwareModel& model);

/// Memoised routes for the mappings of one statement: mappings that differ only in dims of other operands share them.
/// References live as long as the table.
class RouteTable {
 public:
  RouteTable(const Kernel& kernel, const HardwareModel& model) : kernel_(&kernel), model_(&model) {}
  const Routes& of(const Computation& statement, const Mapping& mapping, int instruction_access);

 private:
  const Kernel* kernel_;
  const HardwareModel* model_;
  std::map<std::string, Routes> known_;  ///< by all inputs of routes
};

}  // namespace isamap
