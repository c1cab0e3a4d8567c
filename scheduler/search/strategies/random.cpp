// SPDX-License-Identifier: Apache-2.0
// Points drawn at random, each at most once: what any other strategy has to beat.

#include <fmt/format.h>

#include <set>

#include "isamap/interpret.h"
#include "isamap/search.h"

namespace isamap {

namespace {

constexpr int max_repeats = 1000;  ///< draws of known points in a row: the space is as good as seen
constexpr std::size_t max_remembered = 1 << 20;
constexpr std::size_t drawn_together = 32;

class Drawn final : public SearchStrategy {
 public:
  Drawn(const SearchSpace& space, std::uint64_t seed) : space_(space), random_(seed) {}

  std::optional<Point> next() override {
    for (int repeats = 0; repeats < max_repeats; ++repeats) {
      const Point point = space_.repair(space_.random(random_.next()));
      if (seen_.size() >= max_remembered || seen_.insert(point.choice).second) return point;
    }
    return std::nullopt;
  }
  void report(const Point&, std::optional<double>) override {}
  std::size_t batch() const override { return drawn_together; }
  bool makes_when_asked() const override { return true; }
  bool proposes_repaired() const override { return true; }

 private:
  const SearchSpace& space_;
  Random random_;
  std::set<std::vector<int>> seen_;
};

}  // namespace

Result<std::unique_ptr<SearchStrategy>> make_strategy_random(const SearchSpace& space, const StrategyOptions& options,
                                                             std::uint64_t seed) {
  if (!options.empty())
    return error(fmt::format("strategy random has no option '{}'", options.begin()->first),
                 "it has no options; it draws until the budget ends");
  return std::unique_ptr<SearchStrategy>(std::make_unique<Drawn>(space, seed));
}

}  // namespace isamap
