// SPDX-License-Identifier: Apache-2.0
#pragma once
// Binds loops of a kernel to blocks and threads, and computes loop variables from the thread indices.
//
// The grid unit is the outermost unit with an `index`; its instances are the thread blocks of a launch, the units
// inside it are the threads of a block. Nested loops on one unit are digits of its index: with trip counts 4 and 2 the
// outer variable is index / 2, the inner one index % 2.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backends/cpp/function/dialect.h"
#include "isamap/hardware.h"
#include "isamap/program.h"

namespace isamap {

/// Nothing: the machine has no such unit.
std::optional<UnitId> grid_unit(const HardwareModel& model);

/// Is the unit mapped to thread blocks: the grid unit or one around it?
bool is_grid_level(const HardwareModel& model, UnitId grid, UnitId unit);

/// Number of instances of each unit that the nodes of a kernel use: grid and block size.
class ThreadBinding {
 public:
  /// `grid_loops`: loops on grid units are blocks, since all statements of the kernel are nested in the same number of
  /// them.
  /// `trips`: text of trips that are known at the call, by loop variable; null: there are none.
  ThreadBinding(const std::vector<Node>& kernel, const HardwareModel& model, UnitId grid,
                const std::map<std::string, std::string>* trips = nullptr);

  std::int64_t blocks() const;
  std::string blocks_text() const;                         ///< the same, as an expression
  bool loops_blocks() const { return grid_loops_; }        ///< loops on the grid unit are blocks of the launch
  std::int64_t threads() const;                            ///< of a block
  UnitId first_inside() const { return inside_.front(); }  ///< the outermost unit of the threads of a block
  bool has_threads() const { return !inside_.empty(); }
  std::int64_t asked(UnitId unit) const { return used(unit); }  ///< instances used by loops
  std::vector<std::int64_t> digits(
      UnitId unit) const;  ///< digits of its index, outermost first; empty: no loop uses it
  bool asks_for_threads()
      const;  ///< a loop is on a unit inside the grid unit, or a call is collective over several of its threads

  std::optional<Dialect::Number> number(const Dialect::Around& around) const;
  std::string chosen(const Dialect::Around& around, UnitId executor, bool one) const;

 private:
  bool same_digit(UnitId a, UnitId b) const;
  void collect(const std::vector<Node>& nodes, std::vector<const Loop*>& around);
  bool of_several_threads(const Call& call) const;
  std::size_t depth_of(const Dialect::Around& around, UnitId unit, std::size_t before) const;
  std::int64_t instances(UnitId unit) const;
  std::int64_t used(UnitId unit) const;
  std::string grid_digits_text(std::size_t from) const;
  Dialect::Number number_of_block(const std::string& index, std::size_t depth, const Loop& loop) const;

  const HardwareModel& model_;
  UnitId grid_;
  bool grid_loops_ = true, seen_grid_ = false, calls_of_several_ = false;
  std::int64_t turns_ = 0;      ///< persistent blocks of a kernel; 0: one iteration per block
  std::vector<UnitId> inside_;  ///< units inside the grid unit, outermost first
  std::map<std::int32_t, std::vector<std::int64_t>>
      digits_;  ///< largest trip at each depth, by unit (grid: all grid units)
  const std::map<std::string, std::string>* trips_;
  std::vector<std::string> grid_trips_;  ///< with `trips_`: of the loops on grid units, by depth
};

}  // namespace isamap
