// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loads and stores of a fragment instance by instance: without a move of the whole operand, each instance moves the
// elements of its own registers, in their order.

#include <string>
#include <vector>

#include "isamap/hardware.h"
#include "scheduler/lowering/tile_copy.h"

namespace isamap {

/// The share of an instance in a fragment: the operand's index point of element `element`, over the instances' loop
/// variables. Outermost unit first.
struct Share {
  std::vector<std::pair<std::string, std::int64_t>> units;  ///< name, count
  std::int64_t elements = 1;
  FragmentLayout layout;

  std::vector<AffineExpr> at(const std::vector<AffineExpr>& instances, const AffineExpr& element) const;
};

/// Nothing: the operand is no fragment, or one whose shares depend on extents, or of units without instances.
std::optional<Share> share_of(const Operand& operand, const HardwareModel& model);

/// Moves of all shares, in loops over the instances: `registers` is indexed by the operand's index points, `index`
/// gives the position in `memory` of an instance's element. `fill`: into registers. Errors: no move of one instance has
/// so few elements, or they are not contiguous in memory.
Result<std::vector<Node>> move_shares(
    Lowering& lowering, const Share& share, BufferId registers, BufferId memory,
    const std::function<std::vector<AffineExpr>(const std::vector<AffineExpr>& instances, const AffineExpr& element)>&
        index,
    bool fill);

}  // namespace isamap
