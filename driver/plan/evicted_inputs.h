// SPDX-License-Identifier: Apache-2.0
#pragma once
// Inputs of parts that the model evicts before they are read.

#include <set>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/kernel.h"
#include "planner/plan.h"

namespace isamap {

/// Cycles of the link into the second cache for inputs of part `p`, of parts that run one after another, that the price
/// of the part alone finds in it. That is the price of a kernel that runs over and over: of an input as much is there
/// as the part's tensors leave room for. In the model the parts from the one that touched it last to this one may touch
/// more activations than that (a reuse distance: Mattson et al., "Evaluation techniques for storage hierarchies",
/// 1970). `except`: inputs that do not count. None on machines that have no bands.
double evicted_input_cycles(const Kernel& kernel, const std::vector<Part>& parts, std::size_t p,
                            const HardwareModel& machine, const std::set<TensorId>& except = {});

/// The price of a part that also fetches so much.
double with_evicted_inputs(double price, double cycles, const HardwareModel& machine);

/// A part of the parts that run one after another.
struct PartOfModel {
  const Kernel& kernel;
  const std::vector<Part>& parts;
  std::size_t part;
};

/// Cycles by which evicted inputs exceed the price of a part alone; `except`: inputs that do not count.
double fetched_inputs(const PartOfModel& of, double price, const HardwareModel& machine,
                      const std::set<TensorId>& except = {});

}  // namespace isamap
