// SPDX-License-Identifier: Apache-2.0
#pragma once
// How threads share the sums of a statement: which part of a reduction each of them adds up.
//
//   each thread its own sums      enough sums to keep the memory busy, or sums too short to be split
//   rows: lanes and warps         terms of a sum are contiguous: the lanes of a warp, and of several warps, take parts
//                                 of one sum; registers are exchanged between lanes (lane_exchanges.h)
//   columns side by side          sums are contiguous: a block has columns x parts threads, each adds up every parts-th
//                                 row of its column, so that neighbouring threads load neighbouring elements
//
// Threads needed to keep the memory busy: bandwidth x latency bytes are in flight then (Little's law), twice that, as
// requests are not spread evenly over time. Each thread has `loads_in_flight` loads in flight.
//
// The price (scheduler/cost/scalar_work.h) and the CUDA backend (backends/cuda/distribute_loops.h) both use
// this function: what is printed is what is priced.
//
// Parts of one sum stay within a block. Atomic instructions of a machine file add whole fragments, not the partial sum
// of a lane, and float sums would depend on the order of the blocks; a second kernel would need a buffer in device
// memory and another launch. Instead a block takes fewer columns, down to one transaction of the memory in each row,
// so that more blocks, and processors, take part.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "isamap/affine.h"
#include "isamap/hardware.h"

namespace isamap {

inline constexpr std::int64_t usual_threads = 256;  ///< of a block whose threads have sums or elements of their own
inline constexpr std::int64_t usual_loads = 4;      ///< in flight, of one thread: compilers unroll plain loops as often

struct ReductionLoop {
  std::string variable;
  std::int64_t trip = 0;
};

/// A reduction statement, as far as the plan depends on it.
struct ReductionShape {
  std::int64_t sums = 1, terms = 1;  ///< elements that are written; terms of each
  DType type = DType::f32;           ///< of the sums
  bool along_terms = false;          ///< a read is contiguous along the terms of a sum
  bool along_sums = false;           ///< a read that the terms of a sum differ in is contiguous along the sums
  std::int64_t widest_read = 1;      ///< bytes of an element
  std::int64_t chunk_bytes = 0;      ///< alignment of a row in the reads along its terms; 0: any
};

/// `reads`: element offsets in the outermost memory, in the loops' variables, and types. The order of the loops does
/// not matter.
ReductionShape reduction_shape(const std::vector<ReductionLoop>& sums, const std::vector<ReductionLoop>& terms,
                               const std::vector<std::pair<AffineExpr, DType>>& reads, DType type);

struct ParallelReductionPlan {
  std::int64_t lanes = 1;           ///< parts of a sum over the lanes of a warp
  std::vector<std::int64_t> warps;  ///< parts of a sum over the units around the lane, outermost first; empty: one
  std::int64_t columns = 1;         ///< sums side by side in the lanes of a warp
  std::int64_t blocks = 1;          ///< of the launch
  std::int64_t chunk = 1;           ///< neighbouring terms that one load fetches
  std::int64_t loads_in_flight = 1;
  bool operator==(const ParallelReductionPlan&) const = default;

  std::int64_t warp_parts() const {
    std::int64_t count = 1;
    for (const std::int64_t n : warps) count *= n;
    return count;
  }
  std::int64_t parts() const { return lanes * warp_parts(); }  ///< of each sum
  bool split() const { return parts() > 1; }
  bool by_rows() const { return split() && columns == 1; }
  bool by_columns() const { return split() && columns > 1; }
};

/// The registers of each instance of a unit, which hold its parts; invalid: it has none.
inline MemoryId registers_of(const HardwareModel& model, UnitId unit) {
  for (std::size_t m = 0; m < model.memories().size(); ++m)
    if (model.memories()[m].is_register() && model.memories()[m].per == unit) return make_id<MemoryId>(m);
  return {};
}

/// What may share the sums of a statement.
enum class ReductionScope {
  launch,  ///< all blocks: the statement is alone in its launch
  block,   ///< the usual threads of the one block that the sums are of
  warp,    ///< lanes of a warp: a schedule has given the warps other work, or parts have no place in the block's memory
};

/// `threads_scheduled`: loops or calls have work for several threads of a block; `alone`: the launch has nothing else,
/// neither loops on units nor tiles.
inline ReductionScope reduction_scope(bool threads_scheduled, bool alone) {
  return threads_scheduled ? ReductionScope::warp : alone ? ReductionScope::launch : ReductionScope::block;
}

/// `block`: the unit of the blocks of a launch.
ParallelReductionPlan parallel_reduction_plan(const ReductionShape& shape, const HardwareModel& model, UnitId block,
                                              ReductionScope scope);

}  // namespace isamap
