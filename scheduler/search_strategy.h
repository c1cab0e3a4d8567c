#pragma once
// Ask and tell: a strategy proposes points and is told what they cost. It sees the space, never the hardware.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/cost_model.h"
#include "scheduler/search_space.h"

namespace isamap {

class SearchStrategy {
 public:
  virtual ~SearchStrategy() = default;
  virtual std::optional<Point> next() = 0;  ///< ask; nothing: done
  /// tell. `objective`: to be made small; nothing: the point is illegal. Points that it did not ask for may be told
  /// too, before the first question: what is known from earlier searches.
  virtual void report(const Point& point, std::optional<double> objective) = 0;
  /// Has every point of the space been asked for? Then the best is the optimum of the space under its cost model.
  virtual bool exhausted() const { return false; }
  /// How many points may be asked for before the first of them is told: these are evaluated side by side. A property
  /// of the strategy, so that what it does never depends on the number of threads.
  virtual std::size_t batch() const { return 1; }
  /// Why `next` gave nothing, where that is a failure: a strategy in a process of its own has died.
  virtual Diagnostics problems() const { return {}; }
};

using StrategyOptions = std::map<std::string, std::string>;  ///< key=value of --strategy NAME:key=value,...
using StrategyFactory = Result<std::unique_ptr<SearchStrategy>> (*)(const SearchSpace&, const StrategyOptions&,
                                                                    std::uint64_t seed);

/// Built from the file names in scheduler/strategies: `greedy.cpp` defines make_strategy_greedy.
const std::vector<std::pair<std::string, StrategyFactory>>& strategies();
/// The strategy of that name, or an error that lists them.
Result<std::unique_ptr<SearchStrategy>> strategy_named(const std::string& name, const SearchSpace& space,
                                                       const StrategyOptions& options, std::uint64_t seed);

}  // namespace isamap
