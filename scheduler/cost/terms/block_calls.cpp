// SPDX-License-Identifier: Apache-2.0
// Calls of thread blocks: throughput of the ports of a processor, and the dependence chains of one instance.
//
//   compute              waves x calls of a block x interval / ports
//   latency of its calls waves x calls of an instance in sequence x latency / accumulators

#include "scheduler/cost/term.h"
#include "scheduler/nest/instruction_timing.h"

namespace isamap {

namespace {

void block_call_times(const TermContext& at, std::vector<TermTime>& times) {
  const Instruction& instruction = *at.view.instruction;
  const double interval = interval_of(instruction, at.view.call_extents(), *at.view.model);
  times.push_back({"compute", "",
                   at.blocks->calls * interval / ports_of_processor(instruction, *at.view.model) * at.blocks->waves,
                   BoundOf::calls});
}

void block_chain_times(const TermContext& at, std::vector<TermTime>& times) {
  const double latency = latency_of(*at.view.instruction, at.view.call_extents(), *at.view.model);
  times.push_back(
      {"latency of its calls", "", at.blocks->calls_in_sequence * latency / at.blocks->chains * at.blocks->waves});
}

}  // namespace

namespace terms {

extern const Term block_calls{"compute",
                              "waves x calls of a block x interval / ports of a processor",
                              "instructions.*.timing, units.*.ports, count",
                              "definition of throughput",
                              Overlap::calls,
                              true,
                              block_call_times};

extern const Term block_chains{"latency of its calls",
                               "waves x calls of an instance in sequence x latency / accumulators",
                               "instructions.*.timing.latency",
                               "definition of latency",
                               Overlap::bound,
                               true,
                               block_chain_times};

}  // namespace terms
}  // namespace isamap
