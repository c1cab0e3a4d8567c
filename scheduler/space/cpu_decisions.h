// SPDX-License-Identifier: Apache-2.0
#pragma once
// Decisions of the normal form, and the template that a point stands for (docs/schedule.md).
//
// Decisions have the same names and order for every mapping, so that a point stays meaningful when its mapping changes;
// what a mapping lacks (a second digit, a memory level) is read as its first value.

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "isamap/search.h"
#include "scheduler/space/cpu_nest.h"

namespace isamap {

inline constexpr std::size_t max_routes = 3;
// Steps of a dim in one tile: few in registers, many in scratchpads.
inline const std::vector<std::int64_t> register_steps = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28};
// Parts of a split reduction, with partial sums in memory; 0: not split.
inline const std::vector<std::int64_t> cut_steps = {0, 512, 256, 128, 64, 32, 16, 8};
inline constexpr std::int64_t least_cut = 32;  ///< shorter reductions stay whole
// Blocks of a parallel dim (cache blocking): what its tiles share stays in a cache during the loops inside.
inline const std::vector<std::int64_t> block_steps = {1024, 512, 256, 128, 64};
inline const std::vector<std::int64_t> level_steps = {1,  2,  3,  4,  6,  7,  8,   12,  14,     16,
                                                      24, 28, 32, 48, 64, 96, 128, 256, 1 << 20};

/// Of the tiles of inputs in registers below an output in memory.
struct RegisterForm {
  const char* label;
  int buffers;
  bool outermost;
};
inline constexpr std::array<RegisterForm, 3> register_forms{
    {{"innermost", 1, false}, {"innermost x2", 2, false}, {"outermost", 1, true}}};

/// A mapping with everything that does not depend on the point.
struct PreparedMapping {
  Computation statement;
  Pairing pairing;
  std::vector<Routes> routes;           ///< by access of the statement
  std::vector<std::string> fused_dims;  ///< by dim of the unfused one: the dim that starts with it; empty: none does
  std::string problem;                  ///< non-empty: no route for some operand
  std::vector<std::string> notes;
};

class CpuDecisions {
 public:
  CpuDecisions(const Kernel& kernel, StatementId statement, std::vector<Mapping> mappings, const HardwareModel& model,
               const SpaceOptions& options);

  Kernel kernel;
  StatementId statement;
  std::vector<Mapping> mappings;
  const HardwareModel* model;
  SpaceOptions options;
  std::vector<Decision> decisions;
  std::vector<CpuTemplate::OnUnit> units;  ///< each a decision: its dim
  std::size_t accesses = 0, dims = 0, levels = 0;
  std::vector<std::size_t> cuts;  ///< reduction dims with a decision on their parts, in decision order

  // Positions of decisions.
  std::size_t route_at(std::size_t access) const { return 1 + access; }
  std::size_t register_at(std::size_t dim) const { return 1 + accesses + dim; }
  std::size_t level_at(std::size_t level, std::size_t dim) const { return 1 + accesses + dims * (1 + level) + dim; }
  std::size_t order_at() const { return 1 + accesses + dims * (1 + levels); }
  std::size_t unit_at(std::size_t unit) const { return order_at() + 1 + unit; }
  std::size_t buffers_at(std::size_t level) const { return unit_at(units.size()) + level; }
  /// The decision on tiles of inputs in registers: its values are those of `register_forms`. Nothing: there are none,
  /// or the output is in registers too.
  std::optional<std::size_t> held_at() const { return held_at_; }
  /// Nothing for parallel dims, and where memories between home and the registers hold tiles of the inputs.
  std::optional<std::size_t> cut_at(std::size_t dim) const;

  /// The decision on the order of the reduction loops: as stated, or by `reductions_by_memory`. Nothing: the two are
  /// one.
  std::optional<std::size_t> reductions_at() const { return reductions_at_; }

  bool chooses_buffers() const {
    return levels > 0 && buffers_at(0) < decisions.size() && decisions[buffers_at(0)].labels.size() > 1;
  }
  const Computation& unfused() const { return kernel.statements[statement.index()]; }
  /// The choice that makes a dim outermost; nothing for reductions, which are inside.
  std::optional<int> outermost(std::size_t dim) const;
  const PreparedMapping& prepare(std::size_t m) const;
  CpuTemplate form_of(const PreparedMapping& p, const Point& point) const;

 private:
  /// Maximal steps of a tile of this dim (or of the fused dim it begins) under any mapping.
  std::int64_t most_steps(const Dim& dim) const;
  /// Addressed memories between home and the operands.
  std::size_t most_levels() const;
  void make_decisions();
  void make_reduction_decisions();
  void make_stream_decisions();
  /// Does every instruction occupy instances of this unit itself, as a warp its lanes?
  bool inside_calls(UnitId unit) const;
  /// Units with several addressable instances, or a mesh, outermost first. Of a queue as many instances as tiles.
  std::vector<CpuTemplate::OnUnit> loopable_units() const;
  std::unique_ptr<PreparedMapping> make(const Mapping& mapping) const;
  std::int64_t extent(const PreparedMapping& p, const std::string& dim) const;
  /// `steps` steps of a dim as a tile; under `dividing` the largest that divides the extent.
  std::int64_t tile(const CpuTemplate& form, const PreparedMapping& p, const std::string& dim,
                    std::int64_t steps) const;

  /// Does a mapping take an input in registers, and its output in a memory?
  bool holds_inputs_in_registers() const;

  /// `by_memory_` as dims of the fused statement, in the order of their loops.
  std::vector<std::string> reordered(const PreparedMapping& p) const;

  std::optional<std::size_t> held_at_;
  std::optional<std::size_t> streaming_at_;  ///< decision on streaming stores; nothing: not possible
  std::optional<std::size_t> blocked_at_;    ///< decisions on the blocked dim and its block; nothing: no long dim
  std::optional<std::size_t> reductions_at_;
  std::vector<std::string> by_memory_;  ///< dims of the unfused statement
  mutable std::vector<std::unique_ptr<PreparedMapping>> prepared_;
  mutable std::vector<std::atomic<const PreparedMapping*>> ready_;  ///< asked for every point: without the mutex
  mutable RouteTable routes_;
  mutable std::mutex mutex_;
};

}  // namespace isamap
