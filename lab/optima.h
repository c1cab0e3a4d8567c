// SPDX-License-Identifier: Apache-2.0
#pragma once
// The optimum of an instance, found anew: by branch and bound where the machine's memories stand in a row, elsewhere
// by seeing every point.

#include <functional>
#include <optional>
#include <string>

#include "lab/suite.h"

namespace isamap::lab {

struct Optimum {
  std::optional<double> value;  ///< the least that was found
  std::string proof;            ///< why nothing is less; empty: it is only the best known
  std::int64_t evaluations = 0;
  bool stopped = false;  ///< `progress` ended it: what follows was not searched
};

/// At most `evaluations` points are priced, or ten times as many nodes bounded; beyond that the answer is the best that
/// is known. `progress` is called as that of a search (include/isamap/search.h), with the evaluations of all searches
/// and the best of all so far (infinity: none); false ends them.
Optimum optimum_of(const Instance& instance, std::int64_t evaluations, int threads,
                   const std::function<bool(std::int64_t evaluations, double best)>& progress = {});

/// What is wrong with the optimum that the suite states, if `found` tells; empty: nothing.
std::string contradiction(const Instance& instance, const Optimum& found);

}  // namespace isamap::lab
