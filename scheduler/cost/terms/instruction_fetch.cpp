// SPDX-License-Identifier: Apache-2.0
// Instruction fetch: `fetch` cycles for each call in the emitted code, unrolled ones and tails included.

#include "scheduler/cost/term.h"

namespace isamap {

namespace {

void instruction_fetch_times(const TermContext& at, std::vector<TermTime>& times) {
  times.push_back({"instruction fetch", "", at.printed_calls * at.timing.fetch});
}

}  // namespace

namespace terms {

extern const Term instruction_fetch{"instruction fetch",    "calls printed x fetch",
                                    "timing.fetch",         "fitted, docs/cost_measured.md",
                                    Overlap::contended,     false,
                                    instruction_fetch_times};

}  // namespace terms
}  // namespace isamap
