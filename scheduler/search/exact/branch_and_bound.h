// SPDX-License-Identifier: Apache-2.0
#pragma once
// Exact search: the best schedule of the per-memory space, proved by branch and bound (docs/search.md).

#include <functional>
#include <optional>

#include "isamap/cost_model.h"
#include "scheduler/cost/hierarchy/evaluate.h"

namespace isamap::hierarchy {

struct ExactOptions {
  Objective objective = Objective::edp;
  bool dividing = false;             ///< only tiles that divide the ones around them
  bool keep_all = false;             ///< every level keeps every operand
  bool double_buffered = false;      ///< every kept tile has two buffers
  std::int64_t max_evaluations = 0;  ///< complete schedules priced; 0: no limit
  std::int64_t max_nodes = 0;        ///< limit of partial schedules in the last of its searches; 0: none
  /// Polled: true ends the search with the best so far, whose objective it receives (infinity: none).
  std::function<bool(std::int64_t evaluations, double best)> stop;
};

/// Statistics of the search tree.
struct ExactCounts {
  std::int64_t nodes = 0;        ///< partial schedules bounded
  std::int64_t evaluations = 0;  ///< complete schedules priced
  std::int64_t by_bound = 0;     ///< pruned by bound: no better than the incumbent
  std::int64_t by_room = 0;      ///< pruned by capacity
  std::int64_t by_growth = 0;    ///< pruned by dominance: a larger innermost tile is never worse
};

struct Exact {
  std::optional<LevelPoint> best;
  Evaluated cost;          ///< of the best
  double value = 0;        ///< its objective
  double lower_bound = 0;  ///< proved for the space
  bool finished = true;    ///< the whole tree was explored or pruned
  ExactCounts counts;
  std::vector<std::pair<std::int64_t, double>> curve;  ///< (evaluations, best so far)
};

/// `start`: an initial incumbent.
Exact search_exact(const Problem& problem, const ExactOptions& options, const std::optional<LevelPoint>& start = {});

}  // namespace isamap::hierarchy
