// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tiles that take turns, filled by moves that complete by a counter.

#include "isamap/result.h"
#include "scheduler/lowering/async_groups.h"
#include "scheduler/lowering/lower_nest_internal.h"

namespace isamap {

/// Tiles that take turns, and what counts how far each is: `ready` when all its bytes are there; `free` when all that
/// use it are through with it, where those who fill it do nothing else.
struct CircularBuffer {
  std::string object;  ///< by which its moves complete; empty: they complete otherwise
  BufferId ready, free;
  std::int64_t tiles = 1;
};

/// Fills of tile number `number` (counted since the kernel began), whose calls now complete by the ring's counter:
/// what is expected stands before them, and the wait for a free place. Errors: how many bytes come depends on where.
Result<std::vector<Node>> complete_by_counter(std::vector<Node> fills, const CircularBuffer& circular,
                                              const AffineExpr& number, UnitId executor, const Program& program,
                                              const HardwareModel& model);
/// Until tile `number` is there.
Node wait_for_tile(const CircularBuffer& circular, const AffineExpr& number, UnitId executor);
/// Every instance that uses tiles is through with this one.
Node release_tile(const CircularBuffer& circular, const AffineExpr& number, UnitId each);

/// Are these stages filled by a role, or by moves that complete by a counter, of which even a single step must know?
bool use_counters(const NestParts& parts, const std::vector<std::size_t>& stages);

/// Why a stage whose moves a counter or a role completes is in no ring: it is not right below a loop in time, has one
/// place, or the stages above it there have others.
Diagnostic no_circular_buffer(const NestParts& parts, std::size_t line, const std::string& moves);

/// The counters of stages right below a loop of `dim`, whose first fills are these; without an object where their moves
/// complete otherwise. Errors: stages that cannot be counted together.
Result<CircularBuffer> make_circular_buffer(const NestParts& parts, const std::vector<std::size_t>& stages,
                                            const std::string& dim, const Nodes& fills);

/// Who arrives when a tile is no more needed: those who compute together, where that is one instance, or everyone.
UnitId consumer_unit(const NestParts& parts);

}  // namespace isamap
