// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows of a block in its memory: what the nests of a stitched launch (stitch_nests.h) tell one another, and what
// several of them read, passes through the outermost memory once or not at all.
//
//   for block:                                        for block:
//     for j:  M[row] max= X[row,j]                      for n:  X'[n] = X[row,n]           the one load
//     for j:  E[row,j] = exp(X[row,j] - M[row])   ->    for j:  M'[0] max= X'[j]
//     for j:  S[row] += E[row,j]                        for j:  E'[j] = exp(X'[j] - M'[0])
//     for j:  Y[row,j] = E[row,j] / S[row]              for j:  S'[0] += E'[j]
//                                                       for j:  Y[row,j] = E'[j] / S'[0]   the one store
//
// A block touches a window of a buffer where every access is at a place that its number alone gives, plus one that the
// loops inside give: the same first part in all accesses. Windows of local buffers that no other launch uses move into
// the block's memory; windows of what the launch only reads are copied there first, where that is fewer bytes through
// the outermost memory than the nests read of them. Most saved bytes for each byte come first, in at most half of the
// memory, so that one block loads while another computes.

#include "backends/cuda/stitch_nests.h"
#include "isamap/hardware.h"
#include "isamap/program.h"

namespace isamap {

/// Rewrites the stitched loops on blocks among `nests`, which are the launches of one entry; loops that a schedule put
/// on blocks keep the places that it chose. Adds buffers to the program.
void stage_rows(StitchedNests& nests, Program& program, const HardwareModel& model, UnitId grid);

}  // namespace isamap
