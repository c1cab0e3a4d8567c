// SPDX-License-Identifier: Apache-2.0
// Points drawn at random, each at most once: what any other strategy has to beat.

#include <algorithm>
#include <deque>
#include <set>
#include <utility>

#include "isamap/interpret.h"
#include "isamap/search.h"
#include "scheduler/search/strategy_options.h"

namespace isamap {

namespace {

constexpr std::size_t max_remembered = 1 << 20;
constexpr std::size_t drawn_together = 32;

class Drawn final : public SearchStrategy {
 public:
  Drawn(const SearchSpace& space, std::size_t redraws, std::uint64_t seed)
      : space_(space), redraws_(redraws), random_(seed) {}

  std::optional<Point> next() override {
    if (queue_.empty() && makes() > 0)
      for (std::size_t i = 0; i < drawn_together; ++i)
        if (auto point = make(i); point && std::find(queue_.begin(), queue_.end(), *point) == queue_.end())
          queue_.push_back(std::move(*point));
    if (queue_.empty()) return std::nullopt;
    Point point = std::move(queue_.front());
    queue_.pop_front();
    return point;
  }

  std::size_t makes() override {
    if (!std::exchange(told_, false)) return 0;
    batch_ = random_.next();
    return drawn_together;
  }
  std::optional<Point> make(std::size_t number) override {
    Random random(batch_ ^ number);
    for (std::size_t draw = 0; draw <= redraws_; ++draw) {
      Point point = space_.repair(space_.random(random.next()));
      if (seen_.size() >= max_remembered || !seen_.contains(point.choice)) return point;
    }
    return std::nullopt;
  }
  void report(const Point& point, std::optional<double>) override {
    told_ = true;
    if (seen_.size() < max_remembered) seen_.insert(point.choice);
  }
  bool proposes_repaired() const override { return true; }

 private:
  const SearchSpace& space_;
  std::size_t redraws_;  ///< of a point that is known; then none is drawn
  Random random_;
  std::uint64_t batch_ = 0;
  bool told_ = true;  ///< something of the last batch
  std::deque<Point> queue_;
  std::set<std::vector<int>> seen_;
};

}  // namespace

Result<std::unique_ptr<SearchStrategy>> make_strategy_random(const SearchSpace& space, const StrategyOptions& options,
                                                             std::uint64_t seed) {
  OptionReader read("random", options);
  const std::size_t redraws = read.count("redraws", 31, 0, 100000);
  if (Diagnostics problems = read.problems(); !problems.empty()) return problems;
  return std::unique_ptr<SearchStrategy>(std::make_unique<Drawn>(space, redraws, seed));
}

}  // namespace isamap
