// SPDX-License-Identifier: Apache-2.0
#pragma once
// The closed form with a learned correction: log(measured / predicted) from features of a nest and its predicted cost
// (Chen et al., "Learning to optimize tensor programs", NeurIPS 2018, learn the cost itself).

#include <string>
#include <vector>

#include "isamap/cost_model.h"

namespace isamap {

/// Features defined for any nest on any machine; their names, in the same order.
std::vector<double> nest_features(const Nest& nest, const Cost& predicted);
const std::vector<std::string>& nest_feature_names();

/// A training sample from an earlier measurement.
struct Lesson {
  std::vector<double> features;  ///< nest_features
  double ratio = 1;              ///< measured / predicted cycles
};

/// `observe` adds a sample; `estimate` is the closed form until a few candidates have been observed. `trees`: XGBoost,
/// where installed; ridge regression otherwise. Only measured cycles are learned.
std::unique_ptr<CostModel> make_cost_model_learned(const std::vector<Lesson>& lessons = {}, bool trees = false,
                                                   std::uint64_t seed = 0);

}  // namespace isamap
