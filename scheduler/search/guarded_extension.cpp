// SPDX-License-Identifier: Apache-2.0
#include "scheduler/search/guarded_extension.h"

#include <exception>

#include "scheduler/search/first_failure.h"

namespace isamap {

namespace {

/// What `call` returns; `otherwise` after an exception, which `failure` then has.
template <class Call, class T>
T guarded(const std::string& file, const char* what, FirstFailure& failure, T otherwise, const Call& call) {
  const auto failed = [&](const std::string& words) {
    failure.add(error_at({file, 0, 0}, std::string("its ") + what + " has failed: " + words));
    return std::move(otherwise);
  };
  try {
    return call();
  } catch (const std::exception& thrown) {
    return failed(thrown.what());
  } catch (...) {
    return failed("an exception that is no std::exception");
  }
}

class GuardedStrategy final : public SearchStrategy {
 public:
  GuardedStrategy(std::string file, std::unique_ptr<SearchStrategy> inner, std::shared_ptr<FirstFailure> failure)
      : file_(std::move(file)), inner_(std::move(inner)), failure_(std::move(failure)) {}

  std::optional<Point> next() override {
    return call(std::optional<Point>(), [&] { return inner_->next(); });
  }
  void report(const Point& point, std::optional<double> objective) override {
    call(false, [&] {
      inner_->report(point, objective);
      return true;
    });
  }
  bool exhausted() const override {
    return call(false, [&] { return inner_->exhausted(); });
  }
  std::size_t batch() const override {
    return call(std::size_t{1}, [&] { return inner_->batch(); });
  }
  std::size_t makes() override {
    return call(std::size_t{0}, [&] { return inner_->makes(); });
  }
  std::optional<Point> make(std::size_t number) override {
    return call(std::optional<Point>(), [&] { return inner_->make(number); });
  }
  std::vector<Point> likely(std::size_t count) const override {
    return call(std::vector<Point>(), [&] { return inner_->likely(count); });
  }
  bool proposes_repaired() const override {
    return call(false, [&] { return inner_->proposes_repaired(); });
  }
  Diagnostics problems() const override {
    Diagnostics all = call(Diagnostics(), [&] { return inner_->problems(); });
    remember(all, failure_->problems());
    return all;
  }

 private:
  /// After a failure its code is not called again.
  template <class Call, class T>
  T call(T otherwise, const Call& what) const {
    if (!inner_ || has_errors(failure_->problems())) return otherwise;
    return guarded(file_, "strategy", *failure_, std::move(otherwise), what);
  }

  std::string file_;
  std::unique_ptr<SearchStrategy> inner_;
  std::shared_ptr<FirstFailure> failure_;
};

class GuardedCost final : public CostModel {
 public:
  GuardedCost(std::string file, std::unique_ptr<CostModel> inner, std::shared_ptr<FirstFailure> failure)
      : file_(std::move(file)), inner_(std::move(inner)), failure_(std::move(failure)) {}

  Result<Cost> estimate(const Candidate& candidate) override {
    auto cost = call(std::optional<Result<Cost>>(), [&] { return std::optional(inner_->estimate(candidate)); });
    if (cost) return std::move(*cost);
    return failure_->problems();
  }
  std::optional<Cost> quick_estimate(const HierarchyPoint& point) override {
    return call(std::optional<Cost>(), [&] { return inner_->quick_estimate(point); });
  }
  std::optional<Cost> refine(const Candidate& candidate, const Cost& estimated) override {
    return call(std::optional<Cost>(), [&] { return inner_->refine(candidate, estimated); });
  }
  void observe(const Candidate& candidate, const Cost& measured) override {
    call(false, [&] {
      inner_->observe(candidate, measured);
      return true;
    });
  }

 private:
  template <class Call, class T>
  T call(T otherwise, const Call& what) const {
    if (!inner_ || has_errors(failure_->problems())) return otherwise;
    return guarded(file_, "cost model", *failure_, std::move(otherwise), what);
  }

  std::string file_;
  std::unique_ptr<CostModel> inner_;
  std::shared_ptr<FirstFailure> failure_;
};

}  // namespace

Result<std::unique_ptr<SearchStrategy>> guarded_strategy(const std::string& file, const StrategyFactory& factory,
                                                         const SearchSpace& space, const StrategyOptions& options,
                                                         std::uint64_t seed) {
  const auto failure = std::make_shared<FirstFailure>();
  std::unique_ptr<SearchStrategy> inner;
  Diagnostics refused;
  guarded(file, "strategy", *failure, false, [&] {
    auto made = factory(space, options, seed);
    if (made)
      inner = std::move(*made);
    else
      refused = made.diagnostics();
    return true;
  });
  if (has_errors(refused)) return refused;
  return std::unique_ptr<SearchStrategy>(std::make_unique<GuardedStrategy>(file, std::move(inner), failure));
}

CostModelFactory guarded_cost_models(const std::string& file, const CostModelMaker& maker,
                                     const StrategyOptions& options) {
  const auto failure = std::make_shared<FirstFailure>();
  return CostModelFactory(
      [=](const SearchSpace& space) -> std::unique_ptr<CostModel> {
        auto inner =
            guarded(file, "cost model", *failure, std::unique_ptr<CostModel>(), [&] { return maker(space, options); });
        if (!inner && !has_errors(failure->problems())) return nullptr;
        return std::make_unique<GuardedCost>(file, std::move(inner), failure);
      },
      [failure] { return failure->problems(); });
}

}  // namespace isamap
