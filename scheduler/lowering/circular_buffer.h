// SPDX-License-Identifier: Apache-2.0
#pragma once
// Circular buffers of tiles in a pipelined loop, synchronized by full and empty counters (mbarriers; CUTLASS:
// PipelineTmaAsync).

#include "isamap/result.h"
#include "scheduler/lowering/async_groups.h"
#include "scheduler/lowering/lower_nest_internal.h"

namespace isamap {

/// A circular buffer of `tiles` tiles and its counters: `ready` (full) when all bytes of a tile have arrived; `free`
/// (empty) when all consumers have released it, only with warp specialization.
struct CircularBuffer {
  std::string object;  ///< completion object of its moves; empty: they have no counter
  BufferId ready, free;
  std::int64_t tiles = 1;
};

/// The producer side: fills of tile `number` (since the start of the kernel) that signal `ready`, after the wait for a
/// free buffer and the expected bytes. Errors: the number of bytes depends on a condition.
Result<std::vector<Node>> complete_by_counter(std::vector<Node> fills, const CircularBuffer& circular,
                                              const AffineExpr& number, UnitId executor, const Program& program,
                                              const HardwareModel& model);
/// The consumer side: waits until tile `number` is full.
Node wait_for_tile(const CircularBuffer& circular, const AffineExpr& number, UnitId executor);
/// The consumer side: each instance of `each` releases tile `number`.
Node release_tile(const CircularBuffer& circular, const AffineExpr& number, UnitId each);

/// Do these stages need counters, since a role or moves that complete by a counter fill them?
bool use_counters(const NestParts& parts, const std::vector<std::size_t>& stages);

/// Why a stage with counters or a role has no circular buffer: it is not right below a sequential loop, has one buffer,
/// or the stages above it there differ in buffers or distance.
Diagnostic no_circular_buffer(const NestParts& parts, std::size_t line, const std::string& moves);

/// The circular buffer of stages right below a loop of `dim`, whose first fills are these; without an object if they
/// need no counters. Errors: stages that cannot share counters.
Result<CircularBuffer> make_circular_buffer(const NestParts& parts, const std::vector<std::size_t>& stages,
                                            const std::string& dim, const Nodes& fills);

/// The unit whose instances release a tile: the one that executes the instruction, if asynchronous, else each thread.
UnitId consumer_unit(const NestParts& parts);

}  // namespace isamap
