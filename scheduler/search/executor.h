// SPDX-License-Identifier: Apache-2.0
#pragma once
// Who evaluates the points of a batch: threads of this process, other processes, or one measuring process that has a
// device to itself. The search loop submits a batch and gets its results in the order of the points, so neither a
// strategy nor a result depends on how many workers there are. Batches are a property of the strategy.

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "isamap/search.h"
#include "support/threads.h"

namespace isamap {

/// A point and what is known of it: a cost, or problems.
struct PointResult {
  Point point;
  std::optional<Nest> nest;  ///< where it was built: a point may be priced without one, or in another process
  std::optional<Cost> cost;
  Diagnostics problems;    ///< why it has no cost; empty: it has one
  bool elsewhere = false;  ///< by another process, which had a nest: `cost` has totals only, `complete` adds the rest
};

/// Makes the point of that number; nothing: none. Called by several threads at once.
using PointMaker = std::function<std::optional<Point>(std::size_t number)>;

class Executor {
 public:
  virtual ~Executor() = default;
  /// In the order of the batch. `go_on` is asked by the calling thread, every few tens of milliseconds; after a false
  /// the results are those of the first points only, as many as are known. An exception of a cost model, or of `go_on`,
  /// comes out of this call, of several that of the first point.
  virtual std::vector<PointResult> submit(std::vector<Point> batch, const std::function<bool()>& go_on) = 0;
  /// The same for make(0) .. make(count - 1), equal points once: who evaluates a point makes it.
  virtual std::vector<PointResult> submit_made(std::size_t count, const PointMaker& make,
                                               const std::function<bool()>& go_on);
  /// Adds the nest, and the cost that goes with it: of the best points only, by the calling thread.
  virtual void complete(PointResult& at) = 0;
  /// The same with the finer estimate of the cost model (CostModel::refine), of a point that has a nest and a cost
  /// without asking for these again. False: the model knows none.
  virtual bool refine(PointResult& /*at*/) { return false; }
};

/// Up to `workers->jobs()` points at a time, each worker with a cost model of its own from `costs`. `with_nests`: of
/// every point. Diagnostics: the factory made no model.
Result<std::unique_ptr<Executor>> make_thread_executor(const SearchSpace& space, const CostModelFactory& costs,
                                                       std::shared_ptr<Workers> workers, bool with_nests);

}  // namespace isamap
