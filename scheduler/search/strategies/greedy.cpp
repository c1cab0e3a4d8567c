// SPDX-License-Identifier: Apache-2.0
// Greedy descent from a few constructed starts: all are evaluated, the best are improved by single steps until none
// helps. Hardware-aligned constructed starts make it good at once; compare one-shot schedulers such as CoSA (Huang et
// al., ISCA 2021).

#include <algorithm>
#include <deque>
#include <map>

#include "isamap/search.h"

namespace isamap {

namespace {

class Greedy final : public SearchStrategy {
 public:
  Greedy(const SearchSpace& space, std::size_t starts, std::size_t descents) : space_(space), descents_(descents) {
    for (Point& point : space.starts(starts))  // asked together, so each once
      if (std::find(queue_.begin(), queue_.end(), point) == queue_.end()) queue_.push_back(std::move(point));
  }

  std::optional<Point> next() override {
    while (true) {
      if (queue_.empty()) {
        if (!descending_ && outstanding_ > 0) return std::nullopt;  // all starts are told first
        if (!descending_ && found_.empty() && draws_ < max_draws) {
          queue_.push_back(space_.repair(space_.random(static_cast<std::uint64_t>(draws_++))));
          continue;
        }
        if (!descend()) return std::nullopt;
        continue;
      }
      Point point = std::move(queue_.front());
      queue_.pop_front();
      if (seen_.contains(point.choice)) continue;
      ++outstanding_;
      return point;
    }
  }

  void report(const Point& point, std::optional<double> objective) override {
    if (outstanding_ > 0) --outstanding_;
    seen_[point.choice] = objective;
    if (!objective) return;
    if (!descending_) {
      found_.emplace_back(*objective, point);
    } else if (*objective < best_) {
      best_ = *objective;
      at_ = point;
      queue_.clear();  // first improvement: continue from here
    }
  }
  bool proposes_repaired() const override { return true; }
  /// All starts; then one at a time, since the first improvement ends a step.
  std::size_t batch() const override {
    return descending_ ? 1 : std::max<std::size_t>(1, queue_.size() + outstanding_);
  }
  std::vector<Point> likely(std::size_t count) const override {
    std::vector<Point> points;
    for (std::size_t i = 0; descending_ && i < queue_.size() && points.size() < count; ++i)
      if (!seen_.contains(queue_[i].choice)) points.push_back(queue_[i]);
    return points;
  }

 private:
  // Refills the empty queue: neighbours of the current point, or of the next start at a local optimum.
  bool descend() {
    if (!descending_)
      std::stable_sort(found_.begin(), found_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    else if (moved_from_ != at_)
      return expand();
    descending_ = true;
    if (descent_ >= std::min(descents_, found_.size())) return false;
    std::tie(best_, at_) = found_[descent_++];
    return expand();
  }

  bool expand() {
    moved_from_ = at_;
    for (Point& point : space_.neighbours(at_)) queue_.push_back(std::move(point));
    return true;
  }

  // No constructed start is legal: use the first legal random point.
  static constexpr int max_draws = 1000;

  const SearchSpace& space_;
  int draws_ = 0;
  std::size_t descents_, descent_ = 0;
  std::deque<Point> queue_;
  std::size_t outstanding_ = 0;  ///< asked, not yet told
  std::map<std::vector<int>, std::optional<double>> seen_;
  std::vector<std::pair<double, Point>> found_;
  bool descending_ = false;
  double best_ = 0;
  Point at_, moved_from_;
};

}  // namespace

Result<std::unique_ptr<SearchStrategy>> make_strategy_greedy(const SearchSpace& space, const StrategyOptions& options,
                                                             std::uint64_t /*seed*/) {
  std::size_t starts = 48, descents = 4;
  for (const auto& [key, value] : options) {
    std::size_t* target = key == "starts" ? &starts : key == "descents" ? &descents : nullptr;
    if (!target) return error("greedy has no option '" + key + "'", "its options: starts, descents");
    const bool digits = !value.empty() && value.size() < 6 &&
                        std::all_of(value.begin(), value.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!digits) return error("option " + key + " of greedy is a number, found '" + value + "'");
    *target = std::stoul(value);
    if (starts == 0) return error("greedy needs a start, found starts=0", "starts=1 descends from the best one only");
  }
  return std::unique_ptr<SearchStrategy>(std::make_unique<Greedy>(space, starts, descents));
}

}  // namespace isamap
