// SPDX-License-Identifier: Apache-2.0
#pragma once
// Search strategies as coroutines: a plain loop that awaits the costs of points.
//
//   SearchCoroutine climb(const SearchSpace& space, const History& known, Random& random) {
//     std::vector<Point> around = space.neighbours(known.best()->point);
//     const Costs costs = co_await Evaluate(around);
//     ...
//
// `make_coroutine_strategy` adapts it to ask and tell: points of one batch are independent and may be evaluated
// concurrently, known points are answered at once, and no point is evaluated twice. All searches share the initial
// sampling, so the loop starts with a legal point known.

#include <coroutine>
#include <exception>
#include <functional>
#include <unordered_map>

#include "isamap/interpret.h"
#include "isamap/search.h"
#include "scheduler/search/executor.h"
#include "scheduler/search/strategy_options.h"

namespace isamap {

using Costs = std::vector<std::optional<double>>;  ///< nothing: illegal

struct EvaluatedPoint {
  double objective = 0;
  Point point;
};

/// All evaluations told to a strategy.
class History {
 public:
  void tell(const Point& point, std::optional<double> objective);
  /// Null: not told yet.
  const std::optional<double>* find(const Point& point) const;
  const EvaluatedPoint* best() const { return legal_.empty() ? nullptr : &legal_[best_]; }
  const std::vector<EvaluatedPoint>& legal() const { return legal_; }  ///< in the order of telling
  const std::vector<Point>& illegal() const { return illegal_; }
  /// The cheapest evaluations, cheapest first; ties in the order of telling.
  std::vector<EvaluatedPoint> cheapest(std::size_t count) const;

 private:
  struct Hash {
    std::size_t operator()(const std::vector<int>& choice) const;
  };
  std::unordered_map<std::vector<int>, std::optional<double>, Hash> costs_;
  std::vector<EvaluatedPoint> legal_;
  std::vector<Point> illegal_;
  std::size_t best_ = 0;
};

/// Guesses of the points that will be asked after the current ones, at most so many (SearchStrategy::likely).
using Ahead = std::function<std::vector<Point>(std::size_t count)>;

class SearchCoroutine {
 public:
  struct promise_type {
    std::vector<Point> asked;
    const Ahead* ahead = nullptr;  ///< of the coroutine, until it resumes
    Costs answers;
    std::size_t count = 0;             ///< of points to be made; 0: those of `asked`
    const PointMaker* make = nullptr;  ///< of the coroutine, until it resumes
    std::vector<EvaluatedPoint> legal;
    SearchCoroutine get_return_object() {
      return SearchCoroutine(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { failure = std::current_exception(); }  // rethrown by resume()
    std::exception_ptr failure;
  };
  explicit SearchCoroutine(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  SearchCoroutine(SearchCoroutine&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  SearchCoroutine& operator=(SearchCoroutine&&) = delete;
  ~SearchCoroutine() {
    if (handle_) handle_.destroy();
  }
  bool done() const { return handle_.done(); }
  /// Rethrows exceptions of the coroutine.
  void resume() {
    handle_.resume();
    if (handle_.promise().failure) std::rethrow_exception(std::exchange(handle_.promise().failure, nullptr));
  }
  promise_type& promise() const { return handle_.promise(); }

 private:
  std::coroutine_handle<promise_type> handle_;
};

/// co_await Evaluate(points) gives a cost for each point. It holds only references: GCC 12 destroys members of
/// aggregate temporaries of a co_await twice.
class Evaluate {
 public:
  explicit Evaluate(const std::vector<Point>& points) : points_(&points) {}
  /// `ahead`: a variable of the coroutine.
  Evaluate(const std::vector<Point>& points, const Ahead& ahead) : points_(&points), ahead_(&ahead) {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<SearchCoroutine::promise_type> handle) {
    asker_ = handle;
    handle.promise().asked = *points_;
    handle.promise().ahead = ahead_;
    handle.promise().count = 0;
  }
  Costs await_resume() { return std::move(asker_.promise().answers); }

 private:
  const std::vector<Point>* points_;
  const Ahead* ahead_ = nullptr;
  std::coroutine_handle<SearchCoroutine::promise_type> asker_ = nullptr;
};

/// co_await EvaluateMade(count, make) gives the legal ones of make(0) .. make(count - 1), known ones included, with
/// their costs, in this order. Workers make and evaluate them, so `make`, a variable of the coroutine, only reads what
/// the coroutine has, and writes nothing but what belongs to its number. A `make` that makes no point may be any work
/// to be done side by side, such as ranking candidates.
class EvaluateMade {
 public:
  EvaluateMade(std::size_t count, const PointMaker& make) : count_(count), make_(&make) {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<SearchCoroutine::promise_type> handle) {
    asker_ = handle;
    handle.promise().asked.clear();
    handle.promise().ahead = nullptr;
    handle.promise().count = count_;
    handle.promise().make = make_;
  }
  std::vector<EvaluatedPoint> await_resume() { return std::move(asker_.promise().legal); }

 private:
  std::size_t count_;
  const PointMaker* make_;
  std::coroutine_handle<SearchCoroutine::promise_type> asker_ = nullptr;
};

/// Initial sampling: constructed starts and random points; then, while nothing legal has been seen, more random ones.
struct InitialSampling {
  std::size_t starts = 16;  ///< limit of constructed points
  std::size_t drawn = 16;   ///< random points
  std::size_t again = 16;   ///< random points in every further round
  std::uint64_t seed = 0;   ///< of all random draws of the search
  /// The search ends after so many batches in a row without a new point, since it cycles or has seen the space.
  std::size_t patience = 2000;
};

/// With the options `starts`, 0 to 1000: equally many random points, at least 8; and `patience`.
InitialSampling read_opening(OptionReader& read, std::uint64_t seed, std::size_t starts = 16);

/// Where makers try several points until one is new, a batch without a new point says as much as `made` single points.
std::size_t batches_of_patience(const InitialSampling& opening, std::size_t made);

/// `body` is called once, when a legal point is known; its arguments live as long as the strategy.
using SearchBody = std::function<SearchCoroutine(const History&, Random&)>;
std::unique_ptr<SearchStrategy> make_coroutine_strategy(const SearchSpace& space, const InitialSampling& opening,
                                                        SearchBody body);

/// The end of a strategy factory: diagnostics of the options, or the strategy with its settings.
template <class Settings>
Result<std::unique_ptr<SearchStrategy>> make_coroutine_strategy(
    const OptionReader& read, const SearchSpace& space, const InitialSampling& opening, const Settings& settings,
    SearchCoroutine (*body)(const SearchSpace&, const History&, Settings, Random&)) {
  if (Diagnostics problems = read.problems(); has_errors(problems)) return problems;
  return make_coroutine_strategy(space, opening, [&space, settings, body](const History& known, Random& random) {
    return body(space, known, settings, random);
  });
}

/// Cheapest first; stable.
void sort_by_cost(std::vector<EvaluatedPoint>& points);
/// The cheapest of some evaluated points; nothing if all are illegal.
std::optional<EvaluatedPoint> cheapest_of(const std::vector<Point>& points, const Costs& costs);
/// Random points.
std::vector<Point> draws(const SearchSpace& space, std::size_t count, Random& random);
/// `times` successive mutations.
Point perturbed(const SearchSpace& space, Point point, std::size_t times, Random& random);
template <class T>
void shuffle(std::vector<T>& items, Random& random) {
  for (std::size_t i = items.size(); i > 1; --i)
    std::swap(items[i - 1], items[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(i) - 1))]);
}
/// A random number from 0 to count - 1.
std::size_t pick(std::size_t count, Random& random);

}  // namespace isamap
