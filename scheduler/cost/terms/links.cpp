// SPDX-License-Identifier: Apache-2.0
// Bytes over a link / its bandwidth / instances of it. Skipped points are not loaded.

#include "scheduler/cost/term.h"

namespace isamap {

namespace {

void link_times(const TermContext& at, std::vector<TermTime>& times) {
  for (const auto& [id, moved] : at.traffic.link_bytes) {
    const Link& link = at.view.model->link(id);
    const auto copies = at.traffic.link_instances.find(id);
    const double shared = copies == at.traffic.link_instances.end() ? 1 : copies->second;
    if (link.bandwidth > 0)
      times.push_back({.kind = "link",
                       .of = link.name,
                       .cycles = moved / link.bandwidth / shared * at.view.in_bounds,
                       .bound_of = BoundOf::link,
                       .where = &link.bandwidth_where});
  }
}

}  // namespace

namespace terms {

extern const Term links{"link",
                        "bytes / bandwidth / instances",
                        "links.*.bandwidth",
                        "roofline (Williams et al., CACM 52(4), 2009)",
                        Overlap::bound,
                        true,
                        link_times};

}  // namespace terms
}  // namespace isamap
