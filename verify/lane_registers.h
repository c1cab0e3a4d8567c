// SPDX-License-Identifier: Apache-2.0
#pragma once
// Registers that many instances have a share of, moved instance by instance: what no move of the whole takes in or out
// is still what each instance has in its own registers, in their order.

#include <string>
#include <vector>

#include "isamap/hardware.h"
#include "scheduler/lowering/tile_copy.h"

namespace isamap {

/// Element `element` of the share of an instance: which of the operand's index points that is, over the instances'
/// loop variables, and where those loops stand. Outermost unit first.
struct Share {
  std::vector<std::pair<std::string, std::int64_t>> units;  ///< name, count
  std::int64_t elements = 1;
  FragmentLayout layout;

  std::vector<AffineExpr> at(const std::vector<AffineExpr>& instances, const AffineExpr& element) const;
};

/// Nothing: the operand is no fragment, or one whose shares depend on extents, or of units without instances.
std::optional<Share> share_of(const Operand& operand, const HardwareModel& model);

/// Moves of all shares, in loops over the instances: `registers` is indexed by the operand's index points, `memory`
/// says where in memory the element of an instance is. `fill`: into registers. Errors: no moves of one instance take so
/// few neighbours, or elements that follow one another there do not in memory.
Result<std::vector<Node>> move_shares(
    Lowering& lowering, const Share& share, BufferId registers, BufferId memory,
    const std::function<std::vector<AffineExpr>(const std::vector<AffineExpr>& instances, const AffineExpr& element)>&
        index,
    bool fill);

}  // namespace isamap
