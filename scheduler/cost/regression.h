// SPDX-License-Identifier: Apache-2.0
#pragma once
// Regression models: ridge, and boosted trees where XGBoost is installed.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace isamap {

class Regression {
 public:
  virtual ~Regression() = default;
  /// Leaves where it is asked to (support/stop.h); it has to be called again before `predict` then.
  virtual void fit(const std::vector<std::vector<double>>& rows, const std::vector<double>& targets) = 0;
  virtual double predict(const std::vector<double>& row) const = 0;
};

/// Minimises |y - b - X w|^2 + lambda |w|^2 (Hoerl, Kennard 1970), by Cholesky.
std::unique_ptr<Regression> make_ridge(double lambda);

/// Chen, Guestrin, "XGBoost", KDD 2016. One thread and a seed, so results repeat.
bool has_boosted_trees();
std::unique_ptr<Regression> make_boosted_trees(std::uint64_t seed);  ///< null without XGBoost

/// Adds squares and products of related sizes: of one dim, or of one level.
class FeatureProducts {
 public:
  explicit FeatureProducts(const std::vector<std::string>& names);
  std::vector<double> of(std::vector<double> features) const;

 private:
  std::vector<std::pair<std::size_t, std::size_t>> pairs_;
};

}  // namespace isamap
