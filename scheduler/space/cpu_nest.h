// SPDX-License-Identifier: Apache-2.0
#pragma once
// The normal form of a nest (docs/schedule.md): the template that a search fills in.
//
//   packed copies at home
//   for each memory between home and the registers: parallel loops, the output's tile, reduction loops, input tiles
//   loops over blocks of parallel dims, over parts of reductions, over register tiles, accumulators, reduction loops,
//   input registers, unrolled loops, do

#include <map>
#include <string>
#include <vector>

#include "scheduler/nest/staged_tile.h"
#include "scheduler/space/operand_routes.h"

namespace isamap {

struct CpuTemplate {
  const Kernel* kernel = nullptr;
  const HardwareModel* model = nullptr;
  const Computation* statement = nullptr;  ///< fused
  const Mapping* mapping = nullptr;
  Pairing pairing;
  std::vector<Route> routes;                               ///< by access of the statement
  std::vector<std::map<std::string, std::int64_t>> tiles;  ///< per level between home and registers, outermost first
  std::vector<int> buffers;                                ///< per level: of each tile there; missing: one
  std::map<std::string, std::int64_t> cuts;    ///< reductions: size of the parts of a split one; missing: not split
  std::map<std::string, std::int64_t> blocks;  ///< parallel dims: cache blocks; missing: not blocked
  std::map<std::string, std::int64_t> register_tile;  ///< extent of each dim that is unrolled; missing: one step
  std::vector<std::string> parallel_order;            ///< parallel dims, outermost first
  std::vector<std::string> reduction_order;           ///< reduction dims, outermost first; empty: as stated
  struct OnUnit {
    std::string unit, dim;
    std::int64_t count = 1;
    UnitId id;
  };
  std::vector<OnUnit> units;  ///< dims distributed over instances, outermost unit first
  /// Of inputs in registers where the output is in a memory: buffers of their tiles, and whether these are outside of
  /// the tiles of the memories, as many steps of the reductions at a time as the registers hold.
  int register_buffers = 1;
  bool registers_outermost = false;
  bool streaming_stores = false;    ///< store output registers by `streaming_store_for`, where it applies
  std::vector<bool> ahead_of_time;  ///< per access: packed once, ahead of time
};

/// Reduction dims in the order of their loops, outermost first.
std::vector<std::string> reduction_dims(const CpuTemplate& form);
/// Elements of a dim covered by one step of the instruction.
std::int64_t step_of(const CpuTemplate& form, const std::string& dim);
/// Levels of addressed memories between home and the registers on the routes.
std::size_t levels_of(const std::vector<Route>& routes, const HardwareModel& model);
/// Does the instruction access this operand in a register memory?
bool in_registers(const CpuTemplate& form, int access);
int buffers_at(const CpuTemplate& form, std::size_t level);

Nest build_nest(const CpuTemplate& form);

}  // namespace isamap
