// SPDX-License-Identifier: Apache-2.0
#pragma once
// Scalar code distributed over the threads of blocks: element-wise statements and reductions that no instruction covers
// (backends/cuda/distribute_loops.h distributes such loops), from which their terms are computed
// (scheduler/cost/terms/scalar_*.cpp).
//
// A dim tells elements apart if it stands in the index that is written. Sums are split by the plan that the backend
// prints (hwdesc/model/parallel_reduction_plan.h); only processors that have a block of it work.

#include <optional>

#include "hwdesc/model/parallel_reduction_plan.h"
#include "ir/scatter.h"
#include "scheduler/cost/access_counts.h"

namespace isamap {

struct ScalarWork {
  UnitId lane, block;
  MemoryId registers;  ///< of a lane; invalid: none
  double points = 0;   ///< of the statement
  double processors_busy = 1, waves = 1;
  double threads = 1;  ///< that work at a time
  ReductionShape shape;
  ParallelReductionPlan plan;
  bool planned = false;  ///< the launch is that of the plan
};

ScalarWork scalar_work(const ResolvedNest& view, const TileCounts& counts, UnitId block);

/// Share of the points of a scatter that are executed: one of those along the innermost loop over each digit
/// (ir/scatter.h). 1: it is none.
double executed_share(const ResolvedNest& view, const TileCounts& counts);
/// The loop whose iterations follow each other: the innermost one, of a scatter the innermost one below its place.
/// -1: there is none.
int innermost_scalar_loop(const ResolvedNest& view, const std::optional<Scatter>& scatter);

/// Is the tile of an access fused with a producer or a consumer? It costs its accesses, no bytes.
bool is_fused(const ResolvedNest& view, int access);
/// Bytes of the tensor of an access, of at most so many points.
double bytes_once(const ResolvedNest& view, int access, double points);
/// Latency of the links between two memories.
double latency_between(const HardwareModel& model, MemoryId from, MemoryId to);

}  // namespace isamap
