// SPDX-License-Identifier: Apache-2.0
#include "scheduler/statement_costs.h"

#include <functional>

#include "isamap/search.h"
#include "support/overloaded.h"

namespace isamap {

namespace {

constexpr std::size_t most_known_costs = 20000;  ///< nests, of some kilobytes each

/// Of what usually differs between nests of a statement: equality decides.
std::size_t hash_of(StatementId statement, const Nest& nest) {
  std::size_t hash = statement.index();
  const auto add = [&](const auto& value) {
    hash = hash * 1000003 ^ std::hash<std::decay_t<decltype(value)>>()(value);
  };
  for (const Line& line : nest.lines)
    std::visit(overloaded{[&](const For& loop) {
                            for (const TiledLoop& tiled : loop.loops) add(tiled.dim), add(tiled.tile);
                            add(loop.unroll);
                          },
                          [&](const Stage& stage) {
                            add(stage.tensor), add(stage.memory), add(stage.from);
                            add(stage.then.size()), add(stage.via.size());
                          },
                          [&](const Do& call) { add(call.instruction); }},
               line.is);
  return hash;
}

}  // namespace

std::optional<Cost> KnownCosts::find(StatementId statement, const Nest& nest) const {
  const std::size_t hash = hash_of(statement, nest);
  const std::lock_guard lock(mutex_);
  const auto same = costs_.find(hash);
  if (same == costs_.end()) return std::nullopt;
  for (const auto& [known, cost] : same->second)
    if (known == nest) return cost;
  return std::nullopt;
}

void KnownCosts::insert(StatementId statement, const Nest& nest, const Cost& cost) {
  const std::size_t hash = hash_of(statement, nest);
  const std::lock_guard lock(mutex_);
  if (++count_ > most_known_costs) costs_.clear(), count_ = 1;
  costs_[hash].emplace_back(nest, cost);
}

Result<Cost> StatementCosts::estimate(const Candidate& candidate) {
  if (known_ == nullptr) return made_estimate(candidate);
  if (auto known = known_->find(candidate.statement, candidate.nest)) return std::move(*known);
  auto cost = made_estimate(candidate);
  if (cost) known_->insert(candidate.statement, candidate.nest, *cost);
  return cost;
}

Result<Cost> StatementCosts::made_estimate(const Candidate& candidate) {
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
  if (cost)
    if (auto finer = model->refine(known, *cost)) cost = std::move(*finer);
  wrong_ = cost ? not_a_cost(*cost) : Diagnostics();
  if (!cost) return cost;
  if (!wrong_.empty()) return wrong_;
  return cost;
}

}  // namespace isamap
