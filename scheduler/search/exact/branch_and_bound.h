// SPDX-License-Identifier: Apache-2.0
#pragma once
// The best schedule of the per-memory space, with a proof: branch and bound (docs/search.md).

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
  std::int64_t max_nodes = 0;        ///< partial schedules bounded in the last of its searches; 0: no limit
  /// Called now and then: true ends the search with the best so far, whose objective it is given (infinity: none).
  std::function<bool(std::int64_t evaluations, double best)> stop;
};

/// What became of the nodes of the tree.
struct ExactCounts {
  std::int64_t nodes = 0;        ///< partial schedules that were bounded
  std::int64_t evaluations = 0;  ///< complete schedules priced
  std::int64_t by_bound = 0;     ///< cut because nothing below can be better than the incumbent
  std::int64_t by_room = 0;      ///< cut because a tile does not fit
  std::int64_t by_growth = 0;    ///< cut because a larger innermost tile is never worse
};

struct Exact {
  std::optional<LevelPoint> best;
  Evaluated cost;          ///< of the best
  double value = 0;        ///< its objective
  double lower_bound = 0;  ///< nothing in the space is better
  bool finished = true;    ///< the whole tree was seen or cut
  ExactCounts counts;
  std::vector<std::pair<std::int64_t, double>> curve;  ///< (evaluations, best so far)
};

/// `start`: a point to be better than.
Exact search_exact(const Problem& problem, const ExactOptions& options, const std::optional<LevelPoint>& start = {});

}  // namespace isamap::hierarchy
