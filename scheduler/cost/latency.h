// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cycles with exposed latency: tiles needed before the first call, results drained after the last, single-buffered
// tiles, ports and links shared by several transfers. Formulae: docs/cost.md, "Latency".

#include "scheduler/cost/resource_usage.h"
#include "scheduler/cost/term.h"

namespace isamap {

struct Latency {
  double cycles = 0;
  double fill = 0;             ///< until the first call
  double compute = 0;          ///< calls at work
  double drain = 0;            ///< after the last one
  std::vector<double> waited;  ///< stalls that its tile ends
  std::vector<double> busy;    ///< busy cycles, prologue and epilogue included
  Bottleneck bound;            ///< the largest part
};

Latency latency_of_nest(const ResolvedNest& view, const TileCounts& counts, const NestFlow& flow);

}  // namespace isamap
