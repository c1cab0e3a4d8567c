// SPDX-License-Identifier: Apache-2.0
#include "scheduler/search/executor.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "scheduler/search/search_stop.h"

namespace isamap {

namespace {

/// A cost model and what it knows of the space. Of one thread at a time.
struct Pricing {
  std::unique_ptr<CostModel> model;
  std::shared_ptr<StatementFacts> facts;
};

/// A point of a batch that is made by who evaluates it.
struct Item {
  enum class State { unknown, nothing, made, known, taken };  ///< nothing: no point
  PointResult at;
  State state = State::unknown;
  std::size_t first = 0;  ///< the item that evaluates this point
};

/// Which of equal points is evaluated: the one that was made first, on whatever thread.
class FirstOfEqual {
 public:
  std::size_t of(const Point& point, std::size_t number) {
    const std::lock_guard lock(mutex_);
    return numbers_.emplace(point.choice, number).first->second;
  }

 private:
  std::mutex mutex_;
  std::map<std::vector<int>, std::size_t> numbers_;
};

/// In the order of their numbers, up to the first that is not known.
std::vector<PointResult> each_once(std::vector<Item>& items) {
  std::vector<PointResult> results;
  for (const Item& item : items) {
    if (item.state == Item::State::unknown) break;
    if (item.state == Item::State::nothing) continue;
    Item& evaluated = items[item.first];
    if (evaluated.state == Item::State::taken) continue;
    if (evaluated.state != Item::State::known) break;
    results.push_back(std::move(evaluated.at));
    evaluated.state = Item::State::taken;
  }
  return results;
}

class ThreadExecutor final : public Executor {
 public:
  ThreadExecutor(const SearchSpace& space, const CostModelFactory& costs, std::shared_ptr<Workers> workers,
                 bool with_nests)
      : workers_(std::move(workers)), space_(space), costs_(costs), with_nests_(with_nests) {}

  /// The first model; others are made when a second worker has something to do.
  Diagnostics begin() {
    auto made = costs_(space_);
    if (!made) return made.diagnostics();
    idle_.push_back(pricing(std::move(*made)));
    return {};
  }

  std::vector<PointResult> submit(std::vector<Point> batch, const std::function<bool()>& go_on) override {
    std::vector<PointResult> results(batch.size());
    std::vector<char> known(batch.size(), 0);
    for (std::size_t i = 0; i < batch.size(); ++i) results[i].point = std::move(batch[i]);
    Permission permission(go_on);
    workers_->for_each(
        results.size(),
        [&](std::size_t i) {
          if (permission.given()) known[i] = evaluate(results[i], permission) ? 1 : 0;
        },
        [&] { permission.given(); });
    results.erase(results.begin() + (std::find(known.begin(), known.end(), 0) - known.begin()), results.end());
    return results;
  }

  std::vector<PointResult> submit_made(std::size_t count, const PointMaker& make,
                                       const std::function<bool()>& go_on) override {
    std::vector<Item> items(count);
    FirstOfEqual first;
    Permission permission(go_on);
    workers_->for_each(
        count,
        [&](std::size_t i) {
          if (!permission.given()) return;
          auto point = make(i);
          items[i].state = point ? Item::State::made : Item::State::nothing;
          if (!point) return;
          items[i].first = first.of(*point, i);
          items[i].at.point = std::move(*point);
          if (items[i].first == i && evaluate(items[i].at, permission)) items[i].state = Item::State::known;
        },
        [&] { permission.given(); });
    return each_once(items);
  }

  void complete(PointResult& at) override { price(*Lent(*this), at); }

  bool refine(PointResult& at) override {
    const Lent lent(*this);
    if (!at.cost || !at.nest) price(*lent, at);
    if (!at.cost || !at.nest || !at.problems.empty()) return false;
    auto finer = (*lent).model->refine({&space_.kernel(), space_.statement(), &space_.model(), *at.nest, (*lent).facts},
                                       *at.cost);
    if (!finer) return false;
    at.cost = std::move(*finer);
    return true;
  }

 private:
  /// A model for one thread at a time; it is given back.
  class Lent {
   public:
    explicit Lent(ThreadExecutor& from) : from_(from) {
      const std::lock_guard lock(from.mutex_);  // factories of users are not asked by two threads at once
      if (from.idle_.empty()) {
        if (auto made = from.costs_(from.space_)) pricing_ = from.pricing(std::move(*made));
        return;
      }
      pricing_ = std::move(from.idle_.back());
      from.idle_.pop_back();
    }
    ~Lent() {
      const std::lock_guard lock(from_.mutex_);
      if (pricing_.model) from_.idle_.push_back(std::move(pricing_));
    }
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;
    const Pricing& operator*() const { return pricing_; }

   private:
    ThreadExecutor& from_;
    Pricing pricing_;
  };

  Pricing pricing(std::unique_ptr<CostModel> model) const {
    return {std::move(model), statement_facts(space_.kernel(), space_.statement(), space_.model())};
  }

  void price(const Pricing& pricing, PointResult& at) const {
    if (!pricing.model) {
      at.problems = {error("the cost model factory returned no model")};
      return;
    }
    auto nest = space_.build(at.point);
    if (!nest) {
      at.problems = nest.diagnostics();
      return;
    }
    at.nest = std::move(*nest);
    auto cost = checked_estimate(*pricing.model,
                                 {&space_.kernel(), space_.statement(), &space_.model(), *at.nest, pricing.facts});
    if (cost)
      at.cost = std::move(*cost);
    else
      at.problems = cost.diagnostics();
  }

  /// Without a nest if the model allows it. False: ended early.
  bool evaluate(PointResult& at, Permission& permission) {
    const Lent lent(*this);
    const Pricing& pricing = *lent;
    const PermissionScope scope(permission);
    try {
      if (!with_nests_ && pricing.model)
        if (const auto point = space_.hierarchy_point(at.point)) at.cost = pricing.model->quick_estimate(*point);
      if (at.cost) at.problems = not_a_cost(*at.cost);
      if (!at.problems.empty()) at.cost.reset();
      if (!at.cost && at.problems.empty()) price(pricing, at);
    } catch (const EndedEarly&) {
      return false;
    }
    return true;
  }

  std::shared_ptr<Workers> workers_;  // first: processes of models end with the threads that started them
  const SearchSpace& space_;
  const CostModelFactory& costs_;
  const bool with_nests_;
  std::mutex mutex_;
  std::vector<Pricing> idle_;
};

}  // namespace

std::vector<PointResult> Executor::submit_made(std::size_t count, const PointMaker& make,
                                               const std::function<bool()>& go_on) {
  std::vector<Point> batch;
  std::set<std::vector<int>> seen;
  for (std::size_t i = 0; i < count; ++i)
    if (auto point = make(i); point && seen.insert(point->choice).second) batch.push_back(std::move(*point));
  return batch.empty() ? std::vector<PointResult>{} : submit(std::move(batch), go_on);
}

Result<std::unique_ptr<Executor>> make_thread_executor(const SearchSpace& space, const CostModelFactory& costs,
                                                       std::shared_ptr<Workers> workers, bool with_nests) {
  auto made = std::make_unique<ThreadExecutor>(space, costs, std::move(workers), with_nests);
  if (Diagnostics problems = made->begin(); !problems.empty()) return problems;
  return std::unique_ptr<Executor>(std::move(made));
}

}  // namespace isamap
