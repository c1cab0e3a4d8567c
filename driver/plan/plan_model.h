// SPDX-License-Identifier: Apache-2.0
#pragma once
// The plan of a model: orders of the axes of stored tensors, and which statements share a part, by the prices of
// compiled parts.

#include <cstdint>
#include <string>

#include "driver/plan/part_store.h"
#include "frontends/model.h"
#include "planner/plan.h"

namespace isamap {

/// A part is a statement and the element-wise ones that follow it, each reading what the one before it wrote, at most
/// 12 of them. A model with steps in time is one part. Tensors keep their orders. Nothing is priced.
ModelPlan chain_plan(const Kernel& kernel);

struct PlanOptions {
  std::string search = "ours";  ///< of cover_strategies()
  std::uint64_t seed = 0;
  /// Orders whose chains cost at most this share more than the cheapest, and how many of them are tried with joins and
  /// bands too, which save about that.
  double order_ties = 0.05;
  std::size_t tied_orders = 1;
  /// Of a pair that is priced, but on machines of command streams: each candidate of its search lowers all statements,
  /// which takes minutes for large ones.
  std::size_t joined_statements = 4;
  std::size_t joins = 12;         ///< pairs of neighbouring chains that are compiled together to learn their price
  std::size_t band_parts = 4;     ///< of a path that may run in bands
  std::size_t band_kernels = 48;  ///< parts on a few rows that are compiled to learn the price of bands, half as many
                                  ///< of sums, and twice as many of ties; 0: no bands
  /// Share of the price of its parts that a group must save: call overheads that no description states are about that
  /// (bands of one row of 28 were predicted 1 % faster and measured 5 % slower).
  double band_gain = 0.02;
  /// Plans that cost at most this share more than the cheapest are as cheap as it, since prices of parts are not better
  /// known; the one of fewest parts is taken. Groups of bands that cost up to twice the share more than their parts are
  /// tried for it. 0: the cheapest.
  double plan_ties = 0.005;
};

/// 1. Orders: the chains are priced with all tensors between parts as in the file, and with one axis moved innermost,
///    for each axis of each rank; the cheapest are kept, rank by rank. Those that cost about as much are priced with
///    the joins and bands that follow, too, and the cheapest plan is kept.
/// 2. Parts: pairs of chains whose tensor is the largest between them are priced together, and the cover search puts
///    chains and pairs together.
///    On machines of command streams a join gains what stays inside: pairs are those of which a tensor between can, and
///    a pair that is cheaper grows by its neighbours while that is cheaper again, so by as many as fit.
/// 3. Bands: paths of chains that are cheaper in bands of rows (driver/plan/plan_bands.h) are candidates of the same
///    search.
/// 4. Ties: of plans that cost as much as the cheapest, one of few parts, by further groups of bands.
///
/// Prices are those that `store` finds, which may search less than the final one: layouts and joins differ by more than
/// the last evaluations bring. They are prices of parts on their own and add up, with weights as cold as the cost model
/// takes them. Parts that have no program make their plan infinitely expensive; the plan of least cost is
/// returned whatever its cost is.
ModelPlan plan_model(const Model& model, PartStore& store, const PlanOptions& options);

}  // namespace isamap
