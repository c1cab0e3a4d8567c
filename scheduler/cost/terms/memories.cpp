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
    const auto add = [&](double moved, double bandwidth, BoundOf bound_of) {
      if (bandwidth > 0)
        times.push_back({.kind = "memory",
                         .of = m.name,
                         .cycles = moved / bandwidth * at.view.in_bounds,
                         .bound_of = bound_of,
                         .where = &m.bandwidth_where});
    };
    add(read, m.read_bandwidth, BoundOf::memory_reads);
    add(written, m.write_bandwidth, BoundOf::memory_writes);
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
