// SPDX-License-Identifier: Apache-2.0
#pragma once
// All mappings of a statement as problems of the per-memory form.

#include "scheduler/cost/hierarchy/problem.h"

namespace isamap::hierarchy {

struct MappedProblem {
  Mapping mapping;
  Problem problem;
};

/// Equal problems (exchanged operands) once. Diagnostics: one of them does not have this form, or they differ in dims
/// or operands.
Result<std::vector<MappedProblem>> problems_of(const Kernel& kernel, StatementId statement,
                                               const std::vector<Mapping>& mappings, const HardwareModel& model);

}  // namespace isamap::hierarchy
