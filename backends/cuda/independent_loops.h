// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loops without dependences: no two of their iterations touch the same element.
//
// A loop nest is free of them where every buffer that it writes is only accessed at  L(v) + R  with some of the nest's
// variables v in L and the rest in R, and L takes values further apart than R spans: then no two iterations meet. Which
// variables those are is found from the writes.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/program.h"

namespace isamap {

/// One use of a buffer in memory.
struct OffsetUse {
  AffineExpr offset;  ///< in elements
  bool written = false;
};
using OffsetUses = std::map<std::int32_t, std::vector<OffsetUse>>;  ///< by buffer

/// Do the nodes work on elements one after the other: without barriers, loops on units, masks, or calls executed by
/// another unit than `unit`?
bool only_elements(const std::vector<Node>& nodes, const HardwareModel& model, UnitId unit);

/// The uses in the nodes; adds the ranges of their loops and calls. Nothing: a register is used, which has no offset.
std::optional<OffsetUses> offset_uses(const std::vector<Node>& nodes, const Program& program,
                                      const HardwareModel& model, Ranges& ranges);

/// Variables of the loops of `nest` that tell iterations apart wherever something is written; empty: none do.
/// `ranges`: of all variables; `around`: of those of loops around the nest, the same for all its iterations.
std::set<std::string> independent_loops(const std::vector<Loop>& nest, const OffsetUses& uses, const Ranges& ranges,
                                        const Ranges& around);

}  // namespace isamap
