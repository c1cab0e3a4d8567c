// SPDX-License-Identifier: Apache-2.0
// Initialising the output of a split reduction with the identity is a launch of its own: it writes the output once and
// completes before the next launch starts.
//
//   bytes of the output / write bandwidth + latency of the links

#include "scheduler/cost/term.h"
#include "scheduler/nest/instruction_timing.h"
#include "scheduler/nest/split_reduction.h"

namespace isamap {

namespace {

void initialisation_times(const TermContext& at, std::vector<TermTime>& times) {
  const InstructionId combine = at.blocks->combine;
  if (!combine.valid() || at.view.kernel->tensors[at.view.statement.write.tensor.index()].inout) return;
  const Instruction& by = at.view.model->instruction(combine);
  const Memory& to = at.view.model->memory(combine_target(by));
  double cycles = to.write_bandwidth > 0 ? tensor_bytes(at.view, 0) / to.write_bandwidth : 0;
  for (const LinkId l : links_between(*at.view.model, combine_source(by), combine_target(by)))
    cycles += at.view.model->link(l).latency;
  times.push_back({"initialisation of split sums", "", cycles});
}

}  // namespace

namespace terms {

extern const Term split_sum_initialisation{"initialisation of split sums",
                                           "bytes of the output / write bandwidth + latency of the links",
                                           "memories.*.bandwidth, links.*.latency",
                                           "definition of a launch",
                                           Overlap::once,
                                           true,
                                           initialisation_times};

}  // namespace terms
}  // namespace isamap
