// SPDX-License-Identifier: Apache-2.0
// A strategy and a cost model of one's own as a shared object (docs/library.md):
//   c++ -std=c++20 -O2 -shared -fPIC -I PREFIX/include hill.cpp -o hill.so
//   isamap schedule examples/gemm.yaml --target x86_avx512 --strategy extension:file=./hill.so,steps=3
//   isamap lab run small --strategies extension:file=./hill.so:steps=3,random --cost extension:file=./hill.so
#include <cstdlib>
#include <memory>

#include "isamap/extension.h"

namespace {

using namespace isamap;

/// From the best point a few mutations on.
class Hill final : public SearchStrategy {
 public:
  Hill(const SearchSpace& space, int steps, std::uint64_t seed) : space_(space), steps_(steps), seed_(seed) {
    starts_ = space.starts(8);
  }
  std::optional<Point> next() override {
    if (asked_ < starts_.size()) return starts_[asked_++];
    Point point = best_ ? best_point_ : space_.random(seed_ + asked_);
    for (int step = 0; best_ && step < steps_; ++step) point = space_.mutate(point, seed_ * 7919 + asked_ * 31 + step);
    ++asked_;
    return point;
  }
  void report(const Point& point, std::optional<double> objective) override {
    if (objective && (!best_ || *objective < *best_)) best_ = objective, best_point_ = point;
  }

 private:
  const SearchSpace& space_;
  int steps_;
  std::uint64_t seed_, asked_ = 0;
  std::vector<Point> starts_;
  std::optional<double> best_;
  Point best_point_;
};

/// The closed form, and so many cycles more for each line of the nest.
class LinesCost final : public CostModel {
 public:
  explicit LinesCost(double cycles) : cycles_(cycles) {}
  Result<Cost> estimate(const Candidate& candidate) override {
    auto cost = closed_form_->estimate(candidate);
    if (cost) cost->cycles += cycles_ * static_cast<double>(candidate.nest.lines.size());
    return cost;
  }

 private:
  double cycles_;
  std::unique_ptr<CostModel> closed_form_ = make_cost_model_closed_form();
};

std::string option(const StrategyOptions& options, const std::string& key, const std::string& otherwise) {
  const auto found = options.find(key);
  return found == options.end() ? otherwise : found->second;
}

}  // namespace

ISAMAP_STRATEGY([](const SearchSpace& space, const StrategyOptions& options,
                   std::uint64_t seed) -> Result<std::unique_ptr<SearchStrategy>> {
  const int steps = std::atoi(option(options, "steps", "2").c_str());
  if (steps < 1) return error("option steps of hill is a number from 1");
  return std::unique_ptr<SearchStrategy>(std::make_unique<Hill>(space, steps, seed));
});

ISAMAP_COST_MODEL([](const SearchSpace&, const StrategyOptions& options) {
  return std::make_unique<LinesCost>(std::atof(option(options, "cycles", "10").c_str()));
});
