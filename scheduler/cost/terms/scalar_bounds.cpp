// SPDX-License-Identifier: Apache-2.0
// Scalar code on the threads of blocks:
//
//   scalar code        points x accesses x access / threads that work at a time
//   memory             bytes of each tensor, once, / bandwidth of the outermost memory, shared by reads and writes
//   link               bytes read / (bandwidth of the link into registers x processors in use)
//   loads of a thread  (groups of loads - 1) x latency of the link: threads wait for the loads in flight together; the
//                      first group is in the latency
//
// The last two are of planned reductions. As many threads of a processor work at a time as requests of its port do, or
// as there are elements to distribute.

#include <algorithm>
#include <cmath>
#include <set>

#include "scheduler/cost/term.h"
#include "scheduler/nest/instruction_timing.h"

namespace isamap {

namespace {

void scalar_access_times(const TermContext& at, std::vector<TermTime>& times) {
  times.push_back(
      {"scalar code", "", at.scalar->points * access_count(at.view.statement) * at.timing.access / at.scalar->threads});
}

void scalar_memory_times(const TermContext& at, std::vector<TermTime>& times) {
  const Memory& home = at.view.model->memory(at.view.model->home());
  std::set<TensorId> seen;
  double cycles = 0;
  for (int a = 0; a < access_count(at.view.statement); ++a) {
    const double bandwidth = a == 0 ? home.write_bandwidth : home.read_bandwidth;
    if (is_fused(at.view, a) || bandwidth <= 0 || !seen.insert(access_of(at.view.statement, a).tensor).second) continue;
    cycles += bytes_once(at.view, a, at.scalar->points) / bandwidth;
  }
  times.push_back({.kind = "memory", .of = home.name, .cycles = cycles, .where = &home.bandwidth_where});
}

void scalar_link_times(const TermContext& at, std::vector<TermTime>& times) {
  const HardwareModel& model = *at.view.model;
  if (!at.scalar->planned || !at.scalar->registers.valid()) return;
  double bytes_read = 0, bandwidth = 0;
  for (int a = 1; a < access_count(at.view.statement); ++a) bytes_read += bytes_once(at.view, a, at.scalar->points);
  for (const LinkId link : links_between(model, model.home(), at.scalar->registers))
    if (const double here = model.link(link).bandwidth; here > 0)
      bandwidth = bandwidth > 0 ? std::min(bandwidth, here) : here;
  const double busy = at.scalar->processors_busy;
  if (bandwidth > 0)
    times.push_back({"link of", "", bytes_read / (bandwidth * busy), BoundOf::other, std::floor(busy), "processors"});
}

void scalar_load_times(const TermContext& at, std::vector<TermTime>& times) {
  const HardwareModel& model = *at.view.model;
  const ParallelReductionPlan& plan = at.scalar->plan;
  if (!at.scalar->planned || !at.scalar->registers.valid()) return;
  const double each = std::ceil(static_cast<double>(at.scalar->shape.terms) / static_cast<double>(plan.parts()));
  const double groups = std::ceil(each / static_cast<double>(plan.chunk * plan.loads_in_flight));
  times.push_back({"loads of a thread", "", (groups - 1) * latency_between(model, model.home(), at.scalar->registers)});
}

}  // namespace

namespace terms {

extern const Term scalar_accesses{"scalar code",
                                  "points x accesses x access / threads that work at a time",
                                  "timing.access, units.*.ports, count",
                                  "definition of throughput",
                                  Overlap::calls,
                                  true,
                                  scalar_access_times};

extern const Term scalar_memory{"memory",
                                "bytes of each tensor, once / bandwidth",
                                "memories.*.bandwidth",
                                "roofline",
                                Overlap::bound,
                                true,
                                scalar_memory_times};

extern const Term scalar_link{"link of",           "bytes read / (bandwidth x processors in use)",
                              "links.*.bandwidth", "roofline",
                              Overlap::bound,      true,
                              scalar_link_times};

extern const Term scalar_loads{"loads of a thread", "(groups of loads in flight - 1) x latency of the link",
                               "links.*.latency",   "Little's law",
                               Overlap::bound,      true,
                               scalar_load_times};

}  // namespace terms
}  // namespace isamap
