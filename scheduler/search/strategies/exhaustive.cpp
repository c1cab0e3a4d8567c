// SPDX-License-Identifier: Apache-2.0
// Every point once, in odometer order, the last decision fastest. Only after the last point is the space exhausted.
// Points that repair would change are skipped: the repaired ones have their own place.

#include <fmt/format.h>

#include "isamap/search.h"

namespace isamap {

namespace {

/// Limit of points skipped in one call: bounds every call on spaces that are mostly repaired.
constexpr std::int64_t max_skips = 2'000'000;
constexpr std::size_t side = 32;

class Exhaustive final : public SearchStrategy {
 public:
  explicit Exhaustive(const SearchSpace& space) : space_(space) {
    at_.choice.assign(space.decisions().size(), 0);
    for (const Decision& d : space.decisions()) more_ = more_ && !d.labels.empty();
    done_ = !more_;
  }

  std::optional<Point> next() override {
    for (std::int64_t skipped = 0; more_ && skipped < max_skips; ++skipped) {
      const Point point = at_;
      more_ = turn();
      if (space_.repair(point) == point) {
        ++outstanding_;
        return point;
      }
    }
    done_ = !more_;
    return std::nullopt;
  }

  void report(const Point&, std::optional<double>) override {
    if (outstanding_ > 0) --outstanding_;  // points of earlier searches were not asked
    done_ = !more_ && outstanding_ == 0;
  }
  bool exhausted() const override { return done_; }
  std::size_t batch() const override { return side; }
  bool proposes_repaired() const override { return true; }

 private:
  /// False after the last point.
  bool turn() {
    for (std::size_t d = at_.choice.size(); d-- > 0;) {
      if (++at_.choice[d] < static_cast<int>(space_.decisions()[d].labels.size())) return true;
      at_.choice[d] = 0;
    }
    return false;
  }

  const SearchSpace& space_;
  Point at_;
  std::size_t outstanding_ = 0;  ///< asked, not yet told
  bool more_ = true, done_ = false;
};

}  // namespace

Result<std::unique_ptr<SearchStrategy>> make_strategy_exhaustive(const SearchSpace& space,
                                                                 const StrategyOptions& options, std::uint64_t) {
  if (!options.empty())
    return error(fmt::format("strategy exhaustive has no option '{}'", options.begin()->first),
                 "it has no options; --budget evals=N limits it");
  return std::unique_ptr<SearchStrategy>(std::make_unique<Exhaustive>(space));
}

}  // namespace isamap
