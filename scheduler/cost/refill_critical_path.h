// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stall when several tiles are refilled together: the critical path through drains and fills, where the fill of a child
// waits for that of its parent, a single-buffered tile for its own drain, and transfers share resources. Times are
// relative to the end of the last call; the refill of a double-buffered tile starts before.

#include "scheduler/cost/access_counts_by_step.h"
#include "scheduler/cost/resource_usage.h"

namespace isamap {

class RefillPath {
 public:
  RefillPath(const NestFlow& flow, std::size_t resources);

  /// Drains the tile of `flow` that the next one replaces, from `since` on: at 0 it is the `last` one; before 0 it is
  /// the one `before` that, from the other buffer. `tail`: until calls have completed.
  void drain(std::size_t flow, const VisitMoved& last, const VisitMoved& before, double since, double tail);
  /// Fills the next tile from `since` on; `empty`: it only needs a free buffer.
  void fill(std::size_t flow, const VisitMoved& moved, double since, bool empty);
  /// Cycles of a resource occupied by calls and inner tiles since then.
  void busy_inside(std::size_t flow, std::size_t resource, double cycles);

  struct Solved {
    double end = 0;  ///< >= 0
    int last = -1;   ///< flow that ends last; -1: no stall
  };
  Solved solve();
  /// When the next tile of the flow is ready; after `solve`.
  double filled(std::size_t flow) const;
  /// Cycles of the transfers of a flow.
  double load(std::size_t flow, std::size_t resource) const { return load_[flow * resources_ + resource]; }

 private:
  struct Task {
    int flow = 0;
    bool out = false, done = false;
    bool last = false;  ///< drains the tile in use until now
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
