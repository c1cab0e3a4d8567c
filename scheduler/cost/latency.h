// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cycles with what overlap cannot hide: tiles that must be there before the first call, results drained after the last,
// tiles with one buffer, ports and links that several transfers share. Formulae: docs/cost.md, "Latency".

#include "scheduler/cost/resource_usage.h"

namespace isamap {

struct Latency {
  double cycles = 0;
  double fill = 0;             ///< until the first call
  double compute = 0;          ///< calls at work
  double drain = 0;            ///< after the last one
  std::vector<double> waited;  ///< by flow: cycles between calls that its tile takes last
  std::vector<double> busy;    ///< by resource: cycles in work, the fill and the drain included
  std::string bound;           ///< the largest part: "compute", "fill of A in GLB"
};

Latency latency_of_nest(const ResolvedNest& view, const TileCounts& counts, const NestFlow& flow);

}  // namespace isamap
