// SPDX-License-Identifier: Apache-2.0
#pragma once
// How long the calls stand still when tiles are renewed together: the longest way through drains and fills, where a
// child's fill waits for its parent's, a tile with one buffer for its drain, and transfers share resources. Times count
// from the end of the last call; a tile with two buffers has begun before.

#include "scheduler/cost/access_counts_by_step.h"
#include "scheduler/cost/resource_usage.h"

namespace isamap {

class RefillPath {
 public:
  RefillPath(const NestFlow& flow, std::size_t resources);

  /// The tile of `flow` whose place the next one takes is drained from `since` on: 0, it is the `last` one; before 0,
  /// it is the one `before` that, from another buffer. `tail`: until calls have ended.
  void drain(std::size_t flow, const VisitMoved& last, const VisitMoved& before, double since, double tail);
  /// The next tile is filled from `since` on; `empty`: it only needs its place.
  void fill(std::size_t flow, const VisitMoved& moved, double since, bool empty);
  /// Cycles that calls and tiles further in took of a resource since then.
  void busy_inside(std::size_t flow, std::size_t resource, double cycles);

  struct Solved {
    double end = 0;  ///< >= 0
    int last = -1;   ///< flow; -1: nothing is waited for
  };
  Solved solve();
  /// When the flow's next tile is there; after `solve`.
  double filled(std::size_t flow) const;
  /// Cycles of this flow's transfers.
  double load(std::size_t flow, std::size_t resource) const { return load_[flow * resources_ + resource]; }

 private:
  struct Task {
    int flow = 0;
    bool out = false, done = false;
    bool last = false;  ///< drains the tile that was in use until now
    double since = 0, latency = 0, end = 0;
    VisitMoved moved;
    bool empty = false;
    int after[3] = {-1, -1, -1};  ///< tasks
  };
  Task& add(std::size_t flow, bool out, const VisitMoved& moved, double since, double latency, bool empty);
  int find(int flow, bool out, bool last) const;
  void order();
  void run(Task& task, double start);

  const NestFlow* flow_;
  std::size_t resources_;
  std::vector<Task> tasks_;
  std::vector<double> free_, load_, inside_;
};

}  // namespace isamap
