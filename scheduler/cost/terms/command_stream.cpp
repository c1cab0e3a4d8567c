// SPDX-License-Identifier: Apache-2.0
// A stream of commands: cycles counted over the rounds of its tiles (scheduler/cost/command_stream_model.h), and copies
// by a scalar unit, which does not overlap with it.

#include "scheduler/cost/command_stream_model.h"
#include "scheduler/cost/packing_time.h"
#include "scheduler/cost/term.h"

namespace isamap {

namespace {

void stream_times(const TermContext& at, std::vector<TermTime>& times) {
  times.push_back(stream_time(at.view, at.counts, at.traffic).bound);
}

void stream_copy_times(const TermContext& at, std::vector<TermTime>& times) {
  times.push_back({"copies by a scalar unit", "", copying_cycles(at.view, at.counts, at.traffic)});
}

}  // namespace

namespace terms {

extern const Term stream{
    "commands of the stream",
    "max(rounds of calls with stalls, busiest port of a unit, memory or links)",
    "instructions.*.timing, program.window, units.*.ports, memories.*.bandwidth, links.*.bandwidth, latency, port",
    "list scheduling with a window, docs/cost.md",
    Overlap::calls,
    true,
    stream_times};

extern const Term stream_copies{"copies by a scalar unit",
                                "elements x cycles of a copied element",
                                "timing.copy_*, interleaved_rows, vector_trips",
                                "measured, docs/cost_measured.md",
                                Overlap::exposed,
                                false,
                                stream_copy_times};

}  // namespace terms
}  // namespace isamap
