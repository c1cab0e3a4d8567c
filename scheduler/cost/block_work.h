// SPDX-License-Identifier: Apache-2.0
#pragma once
// The work of thread blocks, from which their terms are computed (scheduler/cost/terms/block_*.cpp).
//
// Blocks execute in waves on the processors of a machine: waves = ceil(blocks / processors). The blocks of one
// processor run one after another or concurrently and share its ports, so a wave takes the longest of its bounds.

#include <optional>
#include <string_view>
#include <vector>

#include "scheduler/cost/access_counts.h"

namespace isamap {

/// Refills (of an output: drains) of one stage in one block.
struct BlockRefill {
  const StagedTile* stage = nullptr;
  MemoryId source, target;
  double times = 1;                   ///< in a block
  double elements = 0, bytes = 0;     ///< of all times
  double latency = 0;                 ///< of the links
  const Instruction* move = nullptr;  ///< nullptr: a scalar copy
  bool output = false, registers = false;
  bool first_at_its_loop = true;  ///< stages at the same loop are filled and awaited together
};

struct BlockWork {
  UnitId block;
  double processors = 1, waves = 1;
  bool persistent = false;                  ///< each processor loops over its blocks
  InstructionId combine;                    ///< adds partial sums; invalid: no reduction is split
  double partial_sums = 1;                  ///< of each sum
  double calls = 1, calls_in_sequence = 1;  ///< of a block; of one of its instances
  double chains = 1;                        ///< accumulators of an instance
  std::vector<BlockRefill> refills;
};

BlockWork block_work(const ResolvedNest& view, const TileCounts& counts, UnitId block);

/// Does the loop distribute blocks (not instances inside them)?
bool is_on_blocks(const ResolvedNest& view, const BlockWork& work, std::size_t loop);
/// Ports of a processor for these calls or moves, shared by the instances inside it.
double ports_of_processor(const Instruction& instruction, const HardwareModel& model);
/// Innermost instances (lanes) of the instruction: they work in parallel.
double lanes_of(const Instruction& instruction, const HardwareModel& model);
/// Has the unit no unit inside it?
bool is_innermost_unit(const HardwareModel& model, UnitId unit);
/// Cycles of the barrier of all instances of a block; 0: the machine describes none.
double barrier_latency(const HardwareModel& model, UnitId block);
/// Bytes of the tensor of an access.
double tensor_bytes(const ResolvedNest& view, int access);

}  // namespace isamap
