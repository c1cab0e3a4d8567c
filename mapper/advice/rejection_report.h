// SPDX-License-Identifier: Apache-2.0
#pragma once
// Why instructions do not map, and the nearest changes after which they do: the mapper has tried each change.

#include <string>
#include <vector>

#include "isamap/mapper.h"

namespace isamap {

/// One cause: the instructions of a machine that it rejects, the reasons, and changes that help.
struct Refusal {
  StatementId statement;
  std::vector<InstructionId> instructions;
  std::vector<std::string> reasons;
  std::string rule;                           ///< "all": a rule under which it maps unchanged; empty: none
  std::vector<std::string> kernel_changes;    ///< "pad k from 30 to 32, a multiple of 16"
  std::vector<Kernel> changed_kernels;        ///< one for each of them
  std::vector<std::string> hardware_changes;  ///< "a variant that takes s8 by s8 into s32"
  bool other_operation = false;               ///< the instructions compute another operation
};

/// Causes in the order of their first instruction, those of other operations last. At most three changes of each kind,
/// nearest first; a change of two steps only where one is not enough. `result`: of enumerate_mappings for the kernel
/// under `options`.
std::vector<Refusal> explain_refusals(const Kernel& kernel, const HardwareModel& model, const MapOptions& options,
                                      const MapResult& result);

}  // namespace isamap
