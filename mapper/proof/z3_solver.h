// SPDX-License-Identifier: Apache-2.0
#pragma once
// Queries to Z3. No type of Z3 leaves z3_solver.cpp; every query is bounded by resource units, not by time, so that
// results are reproducible.

#include <functional>

#include "mapper/digits/placements.h"
#include "mapper/proof/certificate.h"

namespace isamap {

/// All questions of a certificate: yes when each is `unsat`, no when one is `sat` (its name in `failed`), else unknown.
Truth replay(const Certificate& certificate, std::uint64_t rlimit, SolverStatistics& statistics,
             std::string* failed = nullptr);

/// The same lists as each_placement, from conditions on the bindings instead of a construction: which operands (one of
/// `alignments`, all of one statement and instruction) and which direction on which slots are variables of one problem.
struct SolvedPlacements {
  std::vector<std::pair<std::size_t, Placement>> list;  ///< position in `alignments`, placement
  std::vector<std::vector<int>> empty_slots;  ///< for each alignment without a placement, slots of its unsat core
  bool limit_reached = false;
  bool stopped = false;  ///< by `go_on`
};
struct PlacementLimits {
  Rule rule = Rule::full;
  std::int64_t most = 0;        ///< of each alignment
  std::uint64_t rlimit = 0;     ///< of a query
  std::function<bool()> go_on;  ///< before each query; false ends the list
};
SolvedPlacements place_by_solver(const std::vector<Alignment>& alignments, const std::vector<Choices>& choices,
                                 const PlacementLimits& limits, SolverStatistics& statistics);

}  // namespace isamap
