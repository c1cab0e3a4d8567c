// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/regression.h"

#include <algorithm>
#include <cmath>

#include "support/stop.h"

namespace isamap {

namespace {

class Ridge final : public Regression {
 public:
  explicit Ridge(double regularisation) : lambda_(regularisation) {}

  void fit(const std::vector<std::vector<double>>& rows, const std::vector<double>& targets) override {
    weights_.clear();
    mean_ = 0;
    if (rows.empty()) return;
    const std::size_t n = rows.front().size();
    const double count = static_cast<double>(rows.size());
    centre_.assign(n, 0);
    for (const auto& row : rows)
      for (std::size_t i = 0; i < n; ++i) centre_[i] += row[i] / count;
    for (const double target : targets) mean_ += target / count;
    std::vector<double> gram(n * n, 0), right(n, 0), shifted(n);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      leave_if_asked();
      for (std::size_t i = 0; i < n; ++i) shifted[i] = rows[r][i] - centre_[i];
      for (std::size_t i = 0; i < n; ++i) {
        if (shifted[i] == 0) continue;
        right[i] += shifted[i] * (targets[r] - mean_);
        for (std::size_t j = 0; j <= i; ++j) gram[i * n + j] += shifted[i] * shifted[j];
      }
    }
    for (std::size_t i = 0; i < n; ++i) gram[i * n + i] += lambda_;
    weights_ = solved(gram, right);
  }

  double predict(const std::vector<double>& row) const override {
    double sum = mean_;
    for (std::size_t i = 0; i < weights_.size(); ++i) sum += weights_[i] * (row[i] - centre_[i]);
    return sum;
  }

 private:
  /// Cholesky: the lower triangle of a positive definite matrix, in place, then two substitutions.
  static std::vector<double> solved(std::vector<double>& a, std::vector<double> x) {
    const std::size_t n = x.size();
    for (std::size_t j = 0; j < n; ++j) {
      leave_if_asked();
      for (std::size_t k = 0; k < j; ++k) a[j * n + j] -= a[j * n + k] * a[j * n + k];
      a[j * n + j] = std::sqrt(std::max(a[j * n + j], 1e-12));
      for (std::size_t i = j + 1; i < n; ++i) {
        double sum = a[i * n + j];
        for (std::size_t k = 0; k < j; ++k) sum -= a[i * n + k] * a[j * n + k];
        a[i * n + j] = sum / a[j * n + j];
      }
    }
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < i; ++k) x[i] -= a[i * n + k] * x[k];
      x[i] /= a[i * n + i];
    }
    for (std::size_t i = n; i-- > 0;) {
      for (std::size_t k = i + 1; k < n; ++k) x[i] -= a[k * n + i] * x[k];
      x[i] /= a[i * n + i];
    }
    return x;
  }

  double lambda_, mean_ = 0;
  std::vector<double> centre_, weights_;
};

std::string last_word(const std::string& name) { return name.substr(name.rfind(' ') + 1); }
std::string all_but_last(const std::string& name) { return name.substr(0, name.rfind(' ')); }

}  // namespace

std::unique_ptr<Regression> make_ridge(double lambda) { return std::make_unique<Ridge>(lambda); }

FeatureProducts::FeatureProducts(const std::vector<std::string>& names) {
  const auto is_size = [](const std::string& name) { return name.starts_with("log2 "); };
  for (std::size_t i = 0; i < names.size(); ++i)
    for (std::size_t j = 0; j <= i; ++j)
      if (is_size(names[i]) && is_size(names[j]) &&
          (last_word(names[i]) == last_word(names[j]) || all_but_last(names[i]) == all_but_last(names[j])))
        pairs_.emplace_back(i, j);
}

std::vector<double> FeatureProducts::of(std::vector<double> features) const {
  features.reserve(features.size() + pairs_.size());
  for (const auto& [i, j] : pairs_) features.push_back(features[i] * features[j]);
  return features;
}

}  // namespace isamap
