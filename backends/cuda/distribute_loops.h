// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loops whose iterations touch different elements are distributed to the threads that are there.
//
// Which loops of a nest those are: independent_loops.h; loops over the others stay inside. All trips together are one
// number, counted by thread, warp, block:
//
//   for i in 30 { for j in 50 { C[i,j] = .. } }   becomes   thread n of 1500: C[n / 50, n % 50] = ..
//
// How threads share the sums of a reduction: hwdesc/model/parallel_reduction_plan.h; what is printed then:
// parallel_reduction.h (rows) and column_reduction.h.

#include <vector>

#include "hwdesc/model/parallel_reduction_plan.h"
#include "isamap/hardware.h"
#include "isamap/program.h"

namespace isamap {

/// The nodes of one launch; the program gets the registers of partial sums. Of a unit without a fixed count as many
/// instances are asked for as make about `threads` threads in a block, unless loops of the kernel ask for a number
/// themselves.
std::vector<Node> distribute_loops(const std::vector<Node>& kernel, Program& program, const HardwareModel& model,
                                   UnitId grid, std::int64_t threads = usual_threads);

}  // namespace isamap
