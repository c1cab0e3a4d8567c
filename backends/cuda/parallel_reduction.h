// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reductions that several instances share: what each of them adds up, and how the parts come together.
//
//   for i, on warps:                              where there are few i:
//     each lane:  P = its steps of  P += X[i, ..]    for i, on blocks:
//     exchanges:  P is the sum of all lanes            each warp: the same, then one lane: S[warp] = P
//     one lane:   Y[i] += P                            barrier
//                                                      first warp: P = S[lane], exchanges, one lane: Y[i] += P
//
// Steps that lie side by side in memory are loaded in chunks (vector_access.h), several loads in flight before the
// first is added up. How many warps share an element: hwdesc/model/parallel_reduction_plan.h. Sums whose terms are not
// contiguous are column_reduction.h's.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "backends/cuda/lane_exchange.h"
#include "backends/cuda/vector_access.h"
#include "hwdesc/model/parallel_reduction_plan.h"

namespace isamap {

/// Iterations of loops, one inside the other.
std::int64_t steps_of(const std::vector<Loop>& loops);

/// The one element statement of these nodes; null: there is something else.
const Element* only_element(const std::vector<Node>& nodes);

class ParallelReduction {
 public:
  using Fresh = std::function<std::string(const std::string& hint)>;
  /// `inside`: units of the threads of a block, outermost first. `ranges`: of the loops around.
  ParallelReduction(Program& program, const HardwareModel& model, UnitId grid, const std::vector<UnitId>& inside,
                    Ranges ranges, Fresh fresh, ParallelReductionPlan plan)
      : program_(program),
        model_(model),
        grid_(grid),
        inside_(inside),
        ranges_(std::move(ranges)),
        fresh_(std::move(fresh)),
        plan_(std::move(plan)) {}
  /// A variable of a loop around.
  void around(const std::string& variable, Interval range) { ranges_[variable] = range; }

  /// What one instance of the unit around the innermost does for an element, or a block; nothing: registers cannot be
  /// exchanged.
  std::optional<std::vector<Node>> combined(const std::vector<Loop>& kept, const std::vector<Node>& body);

 private:
  Node on_lanes(const std::string& variable, std::vector<Node> nodes) const;
  Node first_lane(Node node);
  void exchange(const Element& element, const Partial& partial, const std::vector<InstructionId>& steps,
                std::vector<Node>& out);
  Node part_of_each(const std::vector<Loop>& kept, const std::vector<Node>& body, const Partial& partial);
  struct ChunkNumbers {  ///< variables that count chunks, and where they begin
    std::string lane, round, turn, each;
    std::int64_t turns, done;
  };
  ChunkElement chunk(const std::vector<Loop>& kept, const std::vector<Node>& body, const ChunkNumbers& numbers,
                     std::int64_t count) const;
  std::optional<Neighbours> chunks(const std::vector<Loop>& kept, const std::vector<Node>& body) const;
  std::int64_t chunks_of_each(const std::vector<Loop>& kept, const std::vector<Node>& body, const Partial& partial,
                              const std::string& lane, std::vector<Node>& nodes);
  std::vector<Node> of_block(const Element& element, const Partial& partial, const std::vector<InstructionId>& steps,
                             std::vector<Node> of_warp);
  std::vector<Node> on_warps(std::vector<Node> nodes, const std::vector<std::string>& names) const;
  std::int64_t lanes() const { return model_.unit(inside_.back()).count; }
  std::int64_t warps() const;

  Program& program_;
  const HardwareModel& model_;
  UnitId grid_;
  const std::vector<UnitId>& inside_;
  Ranges ranges_;
  Fresh fresh_;
  ParallelReductionPlan plan_;  ///< warps: instances of each unit around the innermost that share an element
  AffineExpr warp_;             ///< the number of such an instance, in the loops that are being made
  Ranges warp_ranges_;
};

}  // namespace isamap
