// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sums that threads share, of a nest in device memory, and what follows them element by element.
//
// Few sums of many terms are added up by whole blocks (hwdesc/model/parallel_reduction_plan.h), which is a launch of
// its own. Nests that compute one element for each sum, from that sum and from what the launch does not write, become
// part of it: a bias, an activation and a residual behind a product.
//
//   for i, j:  Y[i,j] = 0                          for i, j:
//   for i, j, k:  Y[i,j] += A[i,k] * B[k,j]   ->     for k:  Y[i,j] += A[i,k] * B[k,j]     shared by threads of a block
//   for i, j:  Z[i,j] = max(Y[i,j] + C[j], 0)        Z[i,j] = max(Y[i,j] + C[j], 0)        by the one that has the sum

#include <map>
#include <string>
#include <vector>

#include "backends/cuda/nest_rows.h"

namespace isamap {

enum class SharedBy { nobody, few_warps, rows_of_blocks, columns_of_blocks };

/// Too few sums for the memory are split over all threads of a block, or over several of its warps: by few, if the
/// threads of a block that has other nests, too, would not wait longer for the terms than a launch takes.
SharedBy sums_shared_by(const NestToStitch& nest, const Program& program, const HardwareModel& model, UnitId grid);

/// The nest with its loops over sums outermost.
NestToStitch sums_outermost(NestToStitch nest);

/// May `next` be computed where the sums of the first of `nests` are, each element behind those of the others? All
/// but the first do so.
bool finishes(const NestToStitch& next, const std::vector<NestToStitch>& nests);

/// The nests as one: each sum, and behind it the elements that the others compute from it.
Node finished_sums(const std::vector<NestToStitch>& nests, const HardwareModel& model);

/// Sums that begin with their first value, by the outermost variable of their nests: nothing is stored before them.
using BegunSums = std::map<std::string, BufferId>;

/// Where the nest of the launch `before` is one of `begun`, its sums are stored, not added, in `nodes`, the same launch
/// distributed over blocks and threads.
void store_begun_sums(std::vector<Node>& nodes, const std::vector<Node>& before, const BegunSums& begun);

}  // namespace isamap
