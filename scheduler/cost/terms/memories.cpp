// SPDX-License-Identifier: Apache-2.0
// Words read from a memory, and filled or updated in it, in bytes of one instance / the bandwidth of its ports.

#include "scheduler/cost/term.h"

namespace isamap {

namespace {

void memory_times(const TermContext& at, std::vector<TermTime>& times) {
  for (const auto& [id, tensors] : at.traffic.memories) {
    const Memory& m = at.view.model->memory(id);
    double read = 0, written = 0;
    for (const auto& [tensor, t] : tensors) {
      read += t.reads * t.element_bytes / t.instances;
      written += (t.fills + t.updates) * t.element_bytes / t.instances;
    }
    if (m.read_bandwidth > 0)
      times.push_back({"memory", m.name, read / m.read_bandwidth * at.view.in_bounds, BoundOf::memory_reads});
    if (m.write_bandwidth > 0)
      times.push_back({"memory", m.name, written / m.write_bandwidth * at.view.in_bounds, BoundOf::memory_writes});
  }
}

}  // namespace

namespace terms {

extern const Term memories{"memory",
                           "bytes of an instance / bandwidth, reads apart from fills and updates",
                           "memories.*.bandwidth",
                           "roofline; access counts as Timeloop (Parashar et al., ISPASS 2019)",
                           Overlap::bound,
                           true,
                           memory_times};

}  // namespace terms
}  // namespace isamap
