// SPDX-License-Identifier: Apache-2.0
// Kernels of thread blocks begin when all before them have ended.
//
//   launches x launch
//
// A nest of calls is a kernel, and another one sets what a split reduction adds to. Scalar code that reads what another
// statement writes shares the kernel of that one, as the backend stitches nests (backends/cuda/stitch_nests.h), and so
// does what is fused with a producer.

#include <algorithm>

#include "scheduler/cost/term.h"

namespace isamap {

namespace {

bool is_fused_consumer(const ResolvedNest& view) {
  return std::any_of(view.stages.begin(), view.stages.end(),
                     [](const StagedTile& staged) { return !staged.stage.from.empty(); });
}

bool reads_what_another_writes(const ResolvedNest& view) {
  return std::any_of(view.statement.reads.begin(), view.statement.reads.end(), [&](const Access& read) {
    return read.tensor != view.statement.write.tensor &&
           std::any_of(view.kernel->statements.begin(), view.kernel->statements.end(),
                       [&](const Computation& other) { return other.write.tensor == read.tensor; });
  });
}

void launch_times(const TermContext& at, std::vector<TermTime>& times) {
  if (is_fused_consumer(at.view) || (at.scalar != nullptr && reads_what_another_writes(at.view))) return;
  const bool begins = at.blocks != nullptr && at.blocks->combine.valid() &&
                      !at.view.kernel->tensors[at.view.statement.write.tensor.index()].inout;
  times.push_back({"launch", "", (begins ? 2 : 1) * at.timing.launch});
}

}  // namespace

namespace terms {

extern const Term launches{"launch", "launches x launch", "timing.launch", "definition of the parameter", Overlap::once,
                           false,    launch_times};

}  // namespace terms
}  // namespace isamap
