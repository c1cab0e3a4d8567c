// SPDX-License-Identifier: Apache-2.0
// Points drawn at random, each at most once: what any other strategy has to beat.

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <set>
#include <utility>

#include "isamap/interpret.h"
#include "isamap/search.h"

namespace isamap {

namespace {

constexpr int max_repeats = 32;  ///< draws of known points in a row for one point: the space is as good as seen
constexpr std::size_t max_remembered = 1 << 20;
constexpr std::size_t drawn_together = 32;

class Drawn final : public SearchStrategy {
 public:
  Drawn(const SearchSpace& space, std::uint64_t seed) : space_(space), random_(seed) {}

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
    for (int repeats = 0; repeats < max_repeats; ++repeats) {
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
  Random random_;
  std::uint64_t batch_ = 0;
  bool told_ = true;  ///< something of the last batch
  std::deque<Point> queue_;
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
