// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which statements of a model share a part: the cheapest partition of a graph into convex parts.
//
// A part is convex: no path leaves it and comes back, so parts can run one after another. Prices add up.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "isamap/result.h"
#include "planner/plan.h"

namespace isamap {

struct PartCoverProblem {
  std::vector<std::vector<std::size_t>> before;  ///< by statement: those that must run before it, smaller numbers
  std::vector<std::vector<std::size_t>>
      candidates;             ///< sets that may be a part, each ascending; every single statement
  std::vector<double> price;  ///< by candidate
};

struct PartCover {
  std::vector<Part> parts;  ///< in an order in which they can run
  double cost = 0;
  double bound = 0;     ///< no partition into candidates costs less
  bool proved = false;  ///< cost == bound
  bool operator==(const PartCover&) const = default;
};

/// Connected convex sets of at most `most` statements, and every single statement; at most `limit` of them, smaller
/// ones first. `joins(a, b)`: may b share a part with a, whose result it reads?
std::vector<std::vector<std::size_t>> convex_sets(const std::vector<std::vector<std::size_t>>& before, std::size_t most,
                                                  std::size_t limit,
                                                  const std::function<bool(std::size_t, std::size_t)>& joins);
bool is_convex(const std::vector<std::vector<std::size_t>>& before, const std::vector<std::size_t>& set);

/// A way to search: `ours`, `exact`, `greedy`, `beam`.
///
/// exact: dynamic programming over sets of finished statements (ideals of the order), proved best; nothing if there are
/// more than 200 000 of them. Models are almost chains: their ideals are a small multiple of their statements.
/// greedy: begins with single statements and joins the two parts that gain most, as Hidet and most compilers do.
/// beam: parts end to end in topological order, the best 3 partial plans kept, as FusionStitching (arXiv 2009.10924).
/// ours: exact where it answers, else greedy from several starts with moves of statements between parts.
Result<PartCover> search_cover(const PartCoverProblem& problem, const std::string& strategy = "ours",
                               std::uint64_t seed = 0);
std::vector<std::string> cover_strategies();

/// Of partitions that cost at most `share` more than this one, one of few parts: the cheapest when every part costs a
/// constant more, for the largest such constant. The partition itself where none has fewer. Not all are tried: of those
/// between two that some constant makes the cheapest, none is found.
PartCover fewer_parts(const PartCoverProblem& problem, const PartCover& cheapest, double share,
                      const std::string& strategy = "ours", std::uint64_t seed = 0);

}  // namespace isamap
