// SPDX-License-Identifier: Apache-2.0
#pragma once
// The normal form of a nest (docs/schedule.md): what a search decides, and the lines it stands for.
//
//   packed copies at home
//   for each memory between home and the registers: runs over parallel dims, the output's tile, runs over reductions,
//     the inputs' tiles
//   runs over blocks of parallel dims, over parts of reductions, over the register tile, accumulators, runs over
//   reductions, input registers, unrolled loops, do

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
  std::vector<Route> routes;                               ///< one for each access of the statement, in order
  std::vector<std::map<std::string, std::int64_t>> tiles;  ///< per level between home and registers, outermost first
  std::vector<int> buffers;                                ///< per level: of each tile there; missing: one
  std::map<std::string, std::int64_t> cuts;    ///< reductions: done in parts of so many, outside; missing: whole
  std::map<std::string, std::int64_t> blocks;  ///< parallel dims: run over in blocks outside all else; missing: not
  std::map<std::string, std::int64_t> register_tile;  ///< extent of each dim that is unrolled; missing: one step
  std::vector<std::string> parallel_order;            ///< parallel dims, outermost first
  struct OnUnit {
    std::string unit, dim;
    std::int64_t count = 1;
    UnitId id;
  };
  std::vector<OnUnit> units;  ///< dims distributed to instances, outermost unit first
  bool passing = false;  ///< the output's registers are stored past the caches where `streaming_store_for` finds how
  std::vector<bool> ahead_of_time;  ///< per access: its packed copy is made once, before
};

/// Elements of a dim that one step of the instruction takes.
std::int64_t step_of(const CpuTemplate& form, const std::string& dim);
/// How many levels of addressed memories between home and the registers the routes have.
std::size_t levels_of(const std::vector<Route>& routes, const HardwareModel& model);
/// Does the instruction take (or keep) this access in a register memory?
bool in_registers(const CpuTemplate& form, int access);
int buffers_at(const CpuTemplate& form, std::size_t level);

Nest build_nest(const CpuTemplate& form);

}  // namespace isamap
