// SPDX-License-Identifier: Apache-2.0
// A strategy and a cost model that fail at the third call, as the option `how` says: throw, number, exit; or `make`:
// when they are made.
#include <cstdlib>
#include <stdexcept>

#include "isamap/extension.h"

using namespace isamap;

namespace {

void fail_at_third(const std::string& how, int& calls) {
  if (++calls < 3) return;
  if (how == "throw") throw std::runtime_error("my code broke");
  if (how == "number") throw 5;
  if (how == "exit") std::exit(0);
}

std::string how_of(const StrategyOptions& options) {
  const auto found = options.find("how");
  const std::string how = found == options.end() ? "throw" : found->second;
  if (how == "make") throw std::runtime_error("my code broke");
  return how;
}

class Failing final : public SearchStrategy {
 public:
  Failing(const SearchSpace& space, std::string how) : space_(space), how_(std::move(how)) {}
  std::optional<Point> next() override {
    fail_at_third(how_, calls_);
    return space_.random(static_cast<std::uint64_t>(calls_));
  }
  void report(const Point&, std::optional<double>) override {}

 private:
  const SearchSpace& space_;
  std::string how_;
  int calls_ = 0;
};

class FailingCost final : public CostModel {
 public:
  explicit FailingCost(std::string how) : how_(std::move(how)) {}
  Result<Cost> estimate(const Candidate& candidate) override {
    fail_at_third(how_, calls_);
    return closed_form_->estimate(candidate);
  }

 private:
  std::string how_;
  int calls_ = 0;
  std::unique_ptr<CostModel> closed_form_ = make_cost_model_closed_form();
};

}  // namespace

ISAMAP_STRATEGY([](const SearchSpace& space, const StrategyOptions& options, std::uint64_t) {
  return std::make_unique<Failing>(space, how_of(options));
});

ISAMAP_COST_MODEL([](const SearchSpace&, const StrategyOptions& options) {
  return std::make_unique<FailingCost>(how_of(options));
});
