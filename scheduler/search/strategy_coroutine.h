// SPDX-License-Identifier: Apache-2.0
#pragma once
// A search written as a plain loop. A coroutine asks for points and goes on when it is told what they cost:
//
//   Inquiry climb(const SearchSpace& space, const Knowledge& known, Random& random) {
//     std::vector<Point> around = space.neighbours(known.best()->point);
//     const Costs costs = co_await Ask(around);
//     ...
//
// `make_coroutine_strategy` makes ask and tell of it: points of one question are independent and may be evaluated side
// by side, what is known already is answered at once, and nothing is asked for twice. Every search opens alike, so the
// loop begins with some legal point known.

#include <coroutine>
#include <exception>
#include <functional>
#include <unordered_map>

#include "isamap/interpret.h"
#include "isamap/search.h"
#include "scheduler/search/strategy_options.h"

namespace isamap {

using Costs = std::vector<std::optional<double>>;  ///< nothing: illegal

struct Evaluation {
  double objective = 0;
  Point point;
};

/// Everything that a strategy has been told.
class History {
 public:
  void tell(const Point& point, std::optional<double> objective);
  /// Null: not told yet.
  const std::optional<double>* find(const Point& point) const;
  const Evaluation* best() const { return legal_.empty() ? nullptr : &legal_[best_]; }
  const std::vector<Evaluation>& legal() const { return legal_; }  ///< in the order of telling
  const std::vector<Point>& illegal() const { return illegal_; }
  /// The cheapest ones, cheapest first; of equals the one told first.
  std::vector<Evaluation> cheapest(std::size_t count) const;

 private:
  struct Hash {
    std::size_t operator()(const std::vector<int>& choice) const;
  };
  std::unordered_map<std::vector<int>, std::optional<double>, Hash> costs_;
  std::vector<Evaluation> legal_;
  std::vector<Point> illegal_;
  std::size_t best_ = 0;
};

class SearchCoroutine {
 public:
  struct promise_type {
    std::vector<Point> asked;
    Costs answers;
    SearchCoroutine get_return_object() {
      return SearchCoroutine(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { failure = std::current_exception(); }  // for whoever resumes it
    std::exception_ptr failure;
  };
  explicit SearchCoroutine(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  SearchCoroutine(SearchCoroutine&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  SearchCoroutine& operator=(SearchCoroutine&&) = delete;
  ~SearchCoroutine() {
    if (handle_) handle_.destroy();
  }
  bool done() const { return handle_.done(); }
  /// Throws what the coroutine throws.
  void resume() {
    handle_.resume();
    if (handle_.promise().failure) std::rethrow_exception(std::exchange(handle_.promise().failure, nullptr));
  }
  promise_type& promise() { return handle_.promise(); }

 private:
  std::coroutine_handle<promise_type> handle_;
};

/// co_await Ask(points) gives a cost for each point. It holds only a reference: GCC 12 destroys what temporaries of a
/// co_await own twice when they are aggregates.
class Evaluate {
 public:
  explicit Evaluate(const std::vector<Point>& points) : points_(&points) {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<SearchCoroutine::promise_type> handle) {
    asker_ = handle;
    handle.promise().asked = *points_;
  }
  Costs await_resume() { return std::move(asker_.promise().answers); }

 private:
  const std::vector<Point>* points_;
  std::coroutine_handle<SearchCoroutine::promise_type> asker_ = nullptr;
};

/// The points that a search asks for first: constructed starts and drawn points; then, while nothing legal has been
/// seen, more drawn ones.
struct InitialSampling {
  std::size_t starts = 16;  ///< constructed ones, at most
  std::size_t drawn = 16;   ///< beside them
  std::size_t again = 16;   ///< drawn in every further round
  std::uint64_t seed = 0;   ///< of all that the search draws
};

/// With the option `starts`, 0 to 1000: as many points are drawn, and 8 at least.
InitialSampling read_opening(OptionReader& read, std::uint64_t seed, std::size_t starts = 16);

/// `go_on` is called once, when a legal point is known; what it is given lives as long as the strategy.
using SearchBody = std::function<SearchCoroutine(const History&, Random&)>;
std::unique_ptr<SearchStrategy> make_coroutine_strategy(const SearchSpace& space, const InitialSampling& opening,
                                                        SearchBody go_on);

/// How factories end: what is wrong with the options, or the search with its settings.
template <class Settings>
Result<std::unique_ptr<SearchStrategy>> make_coroutine_strategy(
    const OptionReader& read, const SearchSpace& space, const InitialSampling& opening, const Settings& settings,
    SearchCoroutine (*go_on)(const SearchSpace&, const History&, Settings, Random&)) {
  if (Diagnostics problems = read.problems(); has_errors(problems)) return problems;
  return make_coroutine_strategy(space, opening, [&space, settings, go_on](const History& known, Random& random) {
    return go_on(space, known, settings, random);
  });
}

/// Cheapest first; equals stay in their order.
void sort_by_cost(std::vector<Evaluation>& points);
/// The cheapest of some points that were asked for, or nothing when none is legal.
std::optional<Evaluation> cheapest_of(const std::vector<Point>& points, const Costs& costs);
/// Drawn points.
std::vector<Point> draws(const SearchSpace& space, std::size_t count, Random& random);
/// `times` mutations, one after the other.
Point perturbed(const SearchSpace& space, Point point, std::size_t times, Random& random);
template <class T>
void shuffle(std::vector<T>& items, Random& random) {
  for (std::size_t i = items.size(); i > 1; --i)
    std::swap(items[i - 1], items[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(i) - 1))]);
}
/// One of 0 .. count - 1.
std::size_t pick(std::size_t count, Random& random);

}  // namespace isamap
