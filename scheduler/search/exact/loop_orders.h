// SPDX-License-Identifier: Apache-2.0
#pragma once
// Dominant loop orders of one level: a few classes instead of all permutations.
//
// Traffic of an operand at a step of a loop depends on which of its own loops are inside: with none the step is free
// (loops of other dims) or slides a window; with some it reloads unless these have a single step, which only tails
// have. So an order is characterised, for each operand and loop, by the set of inner loops of the operand; with
// dividing tiles only by whether it is empty. An order whose sets are all subsets of those of another costs no more.

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
