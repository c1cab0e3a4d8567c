// SPDX-License-Identifier: Apache-2.0
#include "scheduler/statement_costs.h"

#include "isamap/search.h"

namespace isamap {

Result<Cost> StatementCosts::estimate(const Candidate& candidate) {
  auto& [model, facts] = models_[candidate.statement.index()];
  if (!model) {
    auto made = make_(candidate.statement);
    if (!made) return wrong_ = made.diagnostics();
    model = std::move(*made);
    facts = statement_facts(*candidate.kernel, candidate.statement, *candidate.model);
  }
  Candidate known = candidate;
  known.facts = facts;
  auto cost = model->estimate(known);
  wrong_ = cost ? not_a_cost(*cost) : Diagnostics();
  if (!cost) return cost;
  if (!wrong_.empty()) return wrong_;
  return cost;
}

}  // namespace isamap
