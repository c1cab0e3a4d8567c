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
  /// tell. `objective`: to be made small; nothing: the point is illegal.
  virtual void report(const Point& point, std::optional<double> objective) = 0;
  /// Has every point of the space been asked for? Then the best is the optimum of the space under its cost model.
  virtual bool exhausted() const { return false; }
};

using StrategyOptions = std::map<std::string, std::string>;  ///< key=value of --strategy NAME:key=value,...
using StrategyFactory = Result<std::unique_ptr<SearchStrategy>> (*)(const SearchSpace&, const StrategyOptions&,
                                                                    std::uint64_t seed);

/// Built from the file names in scheduler/strategies: `greedy.cpp` defines make_strategy_greedy.
const std::vector<std::pair<std::string, StrategyFactory>>& strategies();

}  // namespace isamap
