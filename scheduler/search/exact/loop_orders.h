// SPDX-License-Identifier: Apache-2.0
#pragma once
// Orders of the loops of one level that can differ in cost: a few classes instead of all permutations.
//
// What an operand pays for the step of a loop depends on which of its own loops stand inside: none, and the step costs
// nothing (loops of other dims) or moves a window; some, and it pays unless these have a single step, which happens in
// last tiles only. So an order is described by, for each operand and loop, the set of the operand's own loops inside
// it; with tiles that divide only whether it is empty counts. An order whose sets are all contained in those of another
// costs no more.

#include <map>
#include <vector>

#include "scheduler/cost/hierarchy/problem.h"

namespace isamap::hierarchy {

using Order = std::array<std::uint8_t, max_dims>;  ///< outermost first

class LoopOrders {
 public:
  explicit LoopOrders(const Problem& problem) : problem_(problem) {}
  /// `loops`: dims with more than one step at the level; `short_tails`: those of them whose last tile may have one.
  const std::vector<Order>& of(std::uint32_t loops, std::uint32_t short_tails);

 private:
  std::vector<Order> make(std::uint32_t loops, std::uint32_t short_tails) const;
  const Problem& problem_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Order>> known_;
};

}  // namespace isamap::hierarchy
