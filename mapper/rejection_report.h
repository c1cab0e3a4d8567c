// SPDX-License-Identifier: Apache-2.0
#pragma once
// Why instructions do not map, and the nearest changes after which they would: each was made and the mapper asked.

#include <string>
#include <vector>

#include "isamap/mapper.h"

namespace isamap {

/// One cause: the instructions of a machine that it stops, what is wrong, and what would help.
struct Refusal {
  StatementId statement;
  std::vector<InstructionId> instructions;
  std::vector<std::string> reasons;
  std::string rule;                           ///< "all": the rule under which it maps as it is; empty: none does
  std::vector<std::string> kernel_changes;    ///< "pad k from 30 to 32, a multiple of 16"
  std::vector<Kernel> changed_kernels;        ///< one for each of them
  std::vector<std::string> hardware_changes;  ///< "a variant that takes s8 by s8 into s32"
  bool other_operation = false;               ///< the instructions compute something else altogether
};

/// Causes in the order of their first instruction, those of other operations last. At most three changes of each kind,
/// nearest first; a change of two steps only where one is not enough. `result` is what enumerate_mappings said of the
/// kernel under `options`.
std::vector<Refusal> explain_refusals(const Kernel& kernel, const HardwareModel& model, const MapOptions& options,
                                      const MapResult& result);

}  // namespace isamap
