// SPDX-License-Identifier: Apache-2.0
// The only file that includes XGBoost (optional; Debian: libxgboost-dev).

#include "scheduler/cost/regression.h"

#ifdef ISAMAP_WITH_XGBOOST
#include <xgboost/c_api.h>

#include <limits>
#include <memory>

#include "support/stop.h"

namespace isamap {

namespace {

constexpr int rounds = 60;

class Trees final : public Regression {
 public:
  explicit Trees(std::uint64_t seed) : seed_(seed) {}
  ~Trees() override { forget(); }
  Trees(const Trees&) = delete;
  Trees& operator=(const Trees&) = delete;

  void fit(const std::vector<std::vector<double>>& rows, const std::vector<double>& targets) override {
    forget();
    if (rows.empty()) return;
    const Matrix owned(matrix(rows));
    DMatrixHandle data = owned.get();
    const std::vector<float> labels(targets.begin(), targets.end());
    XGDMatrixSetFloatInfo(data, "label", labels.data(), labels.size());
    XGBoosterCreate(&data, 1, &booster_);
    const std::string seed = std::to_string(seed_ % 1'000'000);
    for (const auto& [key, value] : {std::pair<const char*, const char*>{"nthread", "1"},
                                     {"seed", seed.c_str()},
                                     {"max_depth", "6"},
                                     {"eta", "0.2"},
                                     {"tree_method", "exact"},
                                     {"verbosity", "0"}})
      XGBoosterSetParam(booster_, key, value);
    for (int round = 0; round < rounds; ++round) {
      leave_if_asked();
      XGBoosterUpdateOneIter(booster_, round, data);
    }
  }

  double predict(const std::vector<double>& row) const override {
    if (!booster_) return 0;
    const Matrix data(matrix({row}));
    bst_ulong count = 0;
    const float* values = nullptr;
    XGBoosterPredict(booster_, data.get(), 0, 0, 0, &count, &values);
    return count > 0 ? static_cast<double>(values[0]) : 0;
  }

 private:
  struct FreeMatrix {
    void operator()(void* data) const { XGDMatrixFree(data); }
  };
  using Matrix = std::unique_ptr<void, FreeMatrix>;

  static DMatrixHandle matrix(const std::vector<std::vector<double>>& rows) {
    std::vector<float> flat;
    for (const auto& row : rows) flat.insert(flat.end(), row.begin(), row.end());
    DMatrixHandle data = nullptr;
    XGDMatrixCreateFromMat(flat.data(), rows.size(), rows.front().size(), std::numeric_limits<float>::quiet_NaN(),
                           &data);
    return data;
  }
  void forget() {
    if (booster_) XGBoosterFree(booster_);
    booster_ = nullptr;
  }

  std::uint64_t seed_;
  BoosterHandle booster_ = nullptr;
};

}  // namespace

bool has_boosted_trees() { return true; }
std::unique_ptr<Regression> make_boosted_trees(std::uint64_t seed) { return std::make_unique<Trees>(seed); }

}  // namespace isamap

#else

namespace isamap {

bool has_boosted_trees() { return false; }
std::unique_ptr<Regression> make_boosted_trees(std::uint64_t) { return nullptr; }

}  // namespace isamap

#endif
