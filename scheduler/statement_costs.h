// SPDX-License-Identifier: Apache-2.0
#pragma once
// One cost model for the statements of a kernel, each of which has a model of its own.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "isamap/cost_model.h"

namespace isamap {

/// Costs of nests that were estimated before, whoever asked: fusions with other tiles of a statement have most of their
/// nests in common. Of all threads; forgets everything when it is full.
class KnownCosts {
 public:
  std::optional<Cost> find(StatementId statement, const Nest& nest) const;
  void insert(StatementId statement, const Nest& nest, const Cost& cost);

 private:
  mutable std::mutex mutex_;
  std::size_t count_ = 0;
  std::unordered_map<std::size_t, std::vector<std::pair<Nest, Cost>>> costs_;  ///< by hash of statement and nest
};

/// Costs of nests of any statement, by a model made for the space of the statement on first use. Of one thread.
class StatementCosts final : public CostModel {
 public:
  using ModelOf = std::function<Result<std::unique_ptr<CostModel>>(StatementId)>;
  /// `known` outlives it; nullptr: every estimate is made.
  explicit StatementCosts(ModelOf make, KnownCosts* known = nullptr) : make_(std::move(make)), known_(known) {}

  Result<Cost> estimate(const Candidate& candidate) override;
  /// Why the last estimate was no valid cost.
  const Diagnostics& wrong() const { return wrong_; }

 private:
  Result<Cost> made_estimate(const Candidate& candidate);

  ModelOf make_;
  KnownCosts* known_;
  Diagnostics wrong_;
  std::map<std::size_t, std::pair<std::unique_ptr<CostModel>, std::shared_ptr<StatementFacts>>> models_;
};

}  // namespace isamap
