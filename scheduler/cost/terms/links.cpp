// SPDX-License-Identifier: Apache-2.0
// Bytes that one instance receives or sends over a link / its bandwidth. Each instance has a link of its own that does
// not multicast: what several instances receive goes over the link of each. Links of one `port` take turns:
//
//   port: sum over its links of bytes of an instance / bandwidth
//
// Skipped points are not loaded.

#include <algorithm>
#include <boost/container/small_vector.hpp>

#include "scheduler/cost/term.h"

namespace isamap {

namespace {

void link_times(const TermContext& at, std::vector<TermTime>& times) {
  struct Port {
    int links = 0;
    TermTime time;
  };
  boost::container::small_vector<Port, 4> ports;
  for (const auto& [id, moved] : at.traffic.link_loads) {
    const Link& link = at.view.model->link(id);
    if (link.bandwidth <= 0) continue;
    times.push_back({.kind = "link",
                     .of = link.name,
                     .cycles = moved / link.bandwidth * at.view.in_bounds,
                     .bound_of = BoundOf::link,
                     .where = &link.bandwidth_where});
    if (link.port.empty()) continue;
    auto port = std::find_if(ports.begin(), ports.end(), [&](const Port& p) { return p.time.of == link.port; });
    if (port == ports.end()) {
      ports.push_back({0, times.back()});
      port = ports.end() - 1;
      port->time.kind = "links of port", port->time.of = link.port, port->time.cycles = 0;
    }
    ++port->links;
    port->time.cycles += times.back().cycles;
  }
  for (const Port& port : ports)
    if (port.links > 1) times.push_back(port.time);
}

}  // namespace

namespace terms {

extern const Term links{"link",
                        "bytes of an instance / bandwidth; summed over links of one port",
                        "links.*.bandwidth, port",
                        "roofline (Williams et al., CACM 52(4), 2009)",
                        Overlap::bound,
                        true,
                        link_times};

}  // namespace terms
}  // namespace isamap
