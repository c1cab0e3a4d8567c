// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sums over the rows of a matrix: each block has columns x parts threads.
//
//   for b, on blocks:
//     for w, on warps; for l, on lanes:         thread t = 32 w + l has column t % columns and part t / columns
//       P = 0;  for n:  P += X[part + parts*n, columns*b + column]
//       S[t] = P
//     while parts > 1:  barrier;  parts /= 2;  threads t < columns * parts:  P += S[t + columns * parts];  S[t] = P
//     threads t < columns:  Y[columns*b + t] += P, and what is computed from it
//
// Neighbouring lanes load neighbouring columns: a row's part of a block is one transaction or more. All loads of a
// step (`loads_in_flight`) are independent of each other. The parts are combined as a tree in shared memory (M. Harris,
// "Optimizing Parallel Reduction in CUDA", 2007, kernel 3), which needs no exchange of registers, so any type will do.

#include <functional>
#include <string>
#include <vector>

#include "hwdesc/model/parallel_reduction_plan.h"
#include "isamap/program.h"

namespace isamap {

struct ColumnReduction {
  std::vector<Loop> sums, terms;  ///< loops over the columns and over the rows, the last one fastest
  std::vector<Node> body;         ///< one element statement
  std::vector<Node> finish;       ///< computed by the thread that has stored a sum
  Ranges ranges;                  ///< of the loops around
};

/// The loop over the blocks of a launch. The program gets registers and an array in the block's memory.
Node column_reduction(const ColumnReduction& reduction, const ParallelReductionPlan& plan, Program& program,
                      const HardwareModel& model, UnitId block,
                      const std::function<std::string(const std::string& hint)>& fresh);

}  // namespace isamap
