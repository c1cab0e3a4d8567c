// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/hierarchy/problems.h"

#include <algorithm>

namespace isamap::hierarchy {

namespace {

bool same_names(const Problem& a, const Problem& b) {
  const auto dims = [](const Dimension& x, const Dimension& y) { return x.name == y.name && x.extent == y.extent; };
  const auto operands = [](const Operand& x, const Operand& y) { return x.name == y.name; };
  return std::equal(a.dims.begin(), a.dims.end(), b.dims.begin(), b.dims.end(), dims) &&
         std::equal(a.operands.begin(), a.operands.end(), b.operands.begin(), b.operands.end(), operands);
}

}  // namespace

Result<std::vector<MappedProblem>> problems_of(const Kernel& kernel, StatementId statement,
                                               const std::vector<Mapping>& mappings, const HardwareModel& model) {
  std::vector<MappedProblem> problems;
  for (const Mapping& mapping : mappings) {
    if (mapping.statement != statement) continue;
    // Exchanged operands have the same traffic: problem_of requires one memory for all.
    if (std::any_of(problems.begin(), problems.end(),
                    [&](const MappedProblem& p) { return p.mapping.instruction == mapping.instruction; }))
      continue;
    auto problem = problem_of(kernel, statement, mapping, model);
    if (!problem) return problem.diagnostics();
    if (!problems.empty() && !same_names(problems.front().problem, *problem))
      return error("the exact search does not apply: the mappings have different dims");
    problems.push_back({mapping, std::move(*problem)});
  }
  return problems;
}

}  // namespace isamap::hierarchy
