// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which chains of a model gain when they are one part: neighbours are compiled together to learn their price.
//
// In host code a join saves what is passed in registers or caches. On machines of command streams it saves a store and
// a load of what stays inside (driver/plan/resident_intermediates.h), so only neighbours between which something can
// are priced; how many of them in a row is decided by the memories, which lowering fills by the lifetimes of buffers.

#include <vector>

#include "driver/plan/part_store.h"
#include "driver/plan/plan_model.h"

namespace isamap {

/// Chains in the order of execution.
struct ChainsToJoin {
  const Kernel& kernel;  ///< stored in the orders of the plan
  const std::vector<Part>& chains;
  const std::vector<std::vector<std::size_t>>& before;  ///< by chain: those that it needs, ascending
  const std::vector<double>& prices;                    ///< by chain: cycles
  const std::vector<double>& fetched;                   ///< by chain: those of `prices` for evicted inputs
};

struct PricedJoins {
  std::vector<std::vector<std::size_t>> chains;  ///< of each join, ascending
  std::vector<double> prices;                    ///< cycles; infinite without a program
  std::vector<RefusedJoin> refused;              ///< those that gain nothing
};

/// Pairs with the most bytes between them; on machines of command streams a pair that is cheaper than apart also with
/// the neighbours that make it cheaper still, one after the other.
PricedJoins price_joins(const ChainsToJoin& input, PartStore& store, const PlanOptions& options);

/// Ascending.
std::vector<std::size_t> statements_of(const std::vector<Part>& chains, const std::vector<std::size_t>& set);

}  // namespace isamap
