// SPDX-License-Identifier: Apache-2.0
#include "driver/bias_placement.h"

#include <algorithm>
#include <map>
#include <set>

#include "frontends/layers.h"
#include "planner/tensor_layouts.h"

namespace isamap {
namespace {

/// A form of the model with its plan, and the price of the chain of each statement.
struct PricedModel {
  Model model;
  double cost = 0;
  std::map<std::string, double> chain_of;  ///< by statement: cycles
};

PricedModel priced(Model model, PartStore& store, const PlanOptions& options) {
  PricedModel made{std::move(model), 0, {}};
  const ModelPlan plan = plan_model(made.model, store, options);
  made.cost = plan.cost;
  const Kernel kernel = in_order(made.model.kernel, plan.order);
  for (const Part& chain : chain_plan(kernel).parts) {
    const Kernel part =
        chain.statements.size() == kernel.statements.size() ? kernel : cut(kernel, chain.statements, "part");
    for (const std::size_t s : chain.statements) made.chain_of[kernel.statements[s].name] = store.price(part);
  }
  return made;
}

}  // namespace

Model place_biases(const Model& model, PartStore& store, const PlanOptions& options, bool strict_float) {
  const auto fitted = [&](std::set<std::string> behind) {
    return fitted_to(model, store.machine(), {strict_float, std::move(behind)});
  };
  Model in_front = fitted({});
  const std::vector<std::string> sums = sums_with_biases_first(in_front.kernel);
  if (sums.empty()) return in_front;
  PricedModel best = priced(std::move(in_front), store, options);
  const auto keep_cheaper = [&](PricedModel other) {
    if (other.cost < best.cost) best = std::move(other);
  };
  PricedModel none = priced(fitted({sums.begin(), sums.end()}), store, options);
  std::set<std::string> cheaper_behind;
  for (const std::string& sum : sums)
    if (none.chain_of.at(sum) < best.chain_of.at(sum)) cheaper_behind.insert(sum);
  const bool mixed = !cheaper_behind.empty() && cheaper_behind.size() < sums.size();
  keep_cheaper(std::move(none));
  if (mixed) keep_cheaper(priced(fitted(std::move(cheaper_behind)), store, options));
  return std::move(best.model);
}

}  // namespace isamap
