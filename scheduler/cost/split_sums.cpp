// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/split_sums.h"

#include "scheduler/nest/instruction_timing.h"
#include "scheduler/nest/split_reduction.h"

namespace isamap {

bool combined_in_cache(const ResolvedNest& view, const BlockWork& work) {
  const Instruction& by = view.model->instruction(work.combine);
  for (const LinkId l : links_between(*view.model, combine_source(by), combine_target(by)))
    for (const MemoryId cache : view.model->link(l).via)
      if (static_cast<double>(view.model->memory(cache).capacity) >= tensor_bytes(view, 0)) return true;
  return false;
}

}  // namespace isamap
