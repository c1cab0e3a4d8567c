// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ask and tell: a strategy proposes points and is told what they cost. It sees the space, never the hardware.
//
//   class Lottery final : public SearchStrategy { ... };
//   ScheduleOptions options;
//   options.user_strategy = [](const SearchSpace& space, const StrategyOptions&, std::uint64_t seed) {
//     return std::make_unique<Lottery>(space, seed);
//   };
//
// Points need not be right: the loop repairs those that are too short, too long or out of range.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "scheduler/cost_model.h"
#include "scheduler/search_space.h"

namespace isamap {

class SearchStrategy {
 public:
  virtual ~SearchStrategy() = default;
  virtual std::optional<Point> next() = 0;  ///< ask; nothing: done
  /// tell. `objective`: to be made small; nothing: the point is illegal. The point is the one that was evaluated, i.e.
  /// repaired. Points that it did not ask for may be told too, before the first question: what is known from earlier
  /// searches.
  virtual void report(const Point& point, std::optional<double> objective) = 0;
  /// Has every point of the space been asked for? Then the best is the optimum of the space under its cost model.
  virtual bool exhausted() const { return false; }
  /// How many points may be asked for before the first of them is told: these are evaluated side by side. A property
  /// of the strategy, so that what it does never depends on the number of threads.
  virtual std::size_t batch() const { return 1; }
  /// Is every point that it proposes a result of `SearchSpace::repair`, or equal to one? Others are repaired first.
  virtual bool proposes_repaired() const { return false; }
  /// Why `next` gave nothing, where that is a failure: a strategy in a process of its own has died.
  virtual Diagnostics problems() const { return {}; }
};

using StrategyOptions = std::map<std::string, std::string>;  ///< key=value of --strategy NAME:key=value,...

/// Makes a strategy for a space; called once for each space that is searched, i.e. for each statement. Made of any
/// function of (space, options, seed), or of the space alone, that gives a pointer to a strategy or a Result of one.
class StrategyFactory {
 public:
  using Made = Result<std::unique_ptr<SearchStrategy>>;

  StrategyFactory() = default;
  template <class Make>
  requires(!std::is_same_v<std::decay_t<Make>, StrategyFactory>)
      StrategyFactory(Make make)  // NOLINT: implicit on purpose
      : make_([make = std::move(make)](const SearchSpace& space, const StrategyOptions& options,
                                       std::uint64_t seed) mutable {
          if constexpr (std::is_invocable_v<Make&, const SearchSpace&, const StrategyOptions&, std::uint64_t>)
            return made(make(space, options, seed));
          else
            return made(make(space));
        }) {}

  explicit operator bool() const { return static_cast<bool>(make_); }
  /// Diagnostics where the factory gives none, or a null pointer.
  Made operator()(const SearchSpace& space, const StrategyOptions& options, std::uint64_t seed) const;

 private:
  template <class T>
  static Made made(T result) {
    if constexpr (std::is_convertible_v<T, Made>)
      return result;
    else
      return std::unique_ptr<SearchStrategy>(std::move(result));
  }
  std::function<Made(const SearchSpace&, const StrategyOptions&, std::uint64_t)> make_;
};

/// Built from the file names in scheduler/strategies: `greedy.cpp` defines make_strategy_greedy.
const std::vector<std::pair<std::string, StrategyFactory>>& strategies();
/// The strategy of that name, or an error that lists them.
Result<std::unique_ptr<SearchStrategy>> strategy_named(const std::string& name, const SearchSpace& space,
                                                       const StrategyOptions& options, std::uint64_t seed);

}  // namespace isamap
