// SPDX-License-Identifier: Apache-2.0
#pragma once
// All mappings of a statement as levelled problems.

#include "scheduler/cost/hierarchy/problem.h"

namespace isamap::levelled {

struct MappedProblem {
  Mapping mapping;
  Problem problem;
};

/// Those that are the same problem (operands exchanged) once. Diagnostics: one of them does not have this form, or they
/// differ in their dims or operands.
Result<std::vector<MappedProblem>> problems_of(const Kernel& kernel, StatementId statement,
                                               const std::vector<Mapping>& mappings, const HardwareModel& model);

}  // namespace isamap::levelled
