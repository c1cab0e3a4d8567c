// SPDX-License-Identifier: Apache-2.0
#pragma once
// A nest with its names resolved, the input of schedule verification and cost models.
//
// Order of lines is nesting. Every dim has a chain of tiles: a loop sets the dim's tile for the lines below, and its
// last tile may be a tail. A stage holds the footprint of the lines below it.

#include <optional>
#include <string>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/kernel.h"
#include "isamap/mapping.h"
#include "isamap/schedule.h"
#include "scheduler/nest/nest_facts.h"
#include "scheduler/nest/staged_tile.h"

namespace isamap {

struct LoopLevel : LoopKeywords {
  int dim = 0;  ///< of the fused statement
  std::int64_t tile = 1;
  UnitId unit;    ///< invalid: sequential
  int axis = -1;  ///< of the unit; -1: the unit has none
  /// Adds the partial sums of the instances; invalid: no split reduction.
  InstructionId combine = {};
  int line = 0;
};

/// One access whose tensor a `stage` line holds.
///
/// In a command stream a stage below sequential loops that its tensor does not use is moved above them: its tile stays
/// as it is there, so that it is filled and drained once and not at each of their steps. Elsewhere a tile stays where
/// it is written, as compilers move loads themselves.
struct StagedTile {
  int access = 0;  ///< of the statement
  MemoryId memory;
  int loops = 0;    ///< number of loops above, once moved
  int parent = -1;  ///< the stage that fills it; -1: the tensor at home
  int line = 0;
  std::shared_ptr<const StageFacts> facts;
  SourceLocation where;  ///< of the line
  const Stage& stage = facts->stage;
};

/// Cache lines of an access are prefetched `steps` steps ahead, of the last of the first `loops` loops. `spread`: of
/// the last that uses the access, and the lines are spread over the steps of the others.
struct Prefetch {
  int access = 0, loops = 0, steps = 0;
  bool spread = false;
};

struct ResolvedNest {
  explicit ResolvedNest(std::shared_ptr<const NestFacts> of) : facts(std::move(of)) {}

  std::shared_ptr<const NestFacts> facts;
  const Kernel* kernel = facts->kernel;
  const HardwareModel* model = facts->model;
  StatementId id = facts->id;
  const Computation& statement = facts->statement;
  const Mapping& mapping = facts->mapping;
  const InstructionForm& instruction = facts->instruction;
  const std::vector<std::int64_t>& block = facts->block;
  const std::vector<int>& instruction_dim = facts->instruction_dim;
  const double in_bounds = facts->in_bounds;
  std::vector<LoopLevel> loops;      ///< outermost first
  std::vector<StagedTile> stages;    ///< outermost first, those at one place in textual order
  std::vector<int> innermost;        ///< per access: its last stage, or -1
  std::vector<Prefetch> prefetches;  ///< into caches

  int dim_count() const { return static_cast<int>(statement.domain.dims.size()); }
  MemoryId memory_of(int stage) const {
    return stage < 0 ? model->home() : stages[static_cast<std::size_t>(stage)].memory;
  }
  /// Moves named by the schedule (`via`).
  const std::vector<std::string>& via(int stage) const {
    static const std::vector<std::string> any;
    return stage < 0 ? any : stages[static_cast<std::size_t>(stage)].stage.via;
  }
  /// Extent of each dim below the first `loops` loops: full tiles.
  std::vector<std::int64_t> tiles(int loops) const;
  /// Per dim of the instruction: its extent in one call, tails apart; 1 for virtual dims.
  std::vector<std::int64_t> call_extents() const;
};

/// The mapping that a `do` line states.
Result<Mapping> mapping_of(const Do& line, const Kernel& kernel, StatementId statement, const HardwareModel& model);
/// The line that states a mapping.
Do do_line(const Mapping& mapping, const Kernel& kernel, const HardwareModel& model);

/// Every problem of names, tiles, layouts and order, at the place of its line.
Result<ResolvedNest> resolve(const Nest& nest, const Kernel& kernel, StatementId statement, const HardwareModel& model);
/// The same with facts of earlier nests of the statement.
Result<ResolvedNest> resolve(const Nest& nest, StatementFacts& facts);

/// The instruction access mapped to kernel access `access`, or -1.
int instruction_access(const Mapping& mapping, int access);
/// The memory of the operand of a kernel access; invalid: immediate, state, or no operand (scalar code).
MemoryId operand_memory(const ResolvedNest& view, int access);

}  // namespace isamap
