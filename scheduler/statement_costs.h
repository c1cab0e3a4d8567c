// SPDX-License-Identifier: Apache-2.0
#pragma once
// One cost model for the statements of a kernel, each of which has a model of its own.

#include <functional>
#include <map>
#include <memory>

#include "isamap/cost_model.h"

namespace isamap {

/// Costs of nests of any statement, by a model made for the space of the statement on first use. Of one thread.
class StatementCosts final : public CostModel {
 public:
  using ModelOf = std::function<Result<std::unique_ptr<CostModel>>(StatementId)>;
  explicit StatementCosts(ModelOf make) : make_(std::move(make)) {}

  Result<Cost> estimate(const Candidate& candidate) override;
  /// Why the last estimate was no valid cost.
  const Diagnostics& wrong() const { return wrong_; }

 private:
  ModelOf make_;
  Diagnostics wrong_;
  std::map<std::size_t, std::pair<std::unique_ptr<CostModel>, std::shared_ptr<StatementFacts>>> models_;
};

}  // namespace isamap
