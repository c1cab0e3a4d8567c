// SPDX-License-Identifier: Apache-2.0
#pragma once
// The optimum of an instance: by branch and bound on machines with a linear memory hierarchy, elsewhere by exhaustive
// search.

#include <functional>
#include <optional>
#include <string>

#include "lab/suite.h"

namespace isamap::lab {

struct Optimum {
  std::optional<double> value;  ///< the least value found
  std::string proof;            ///< the proof; empty: best known
  std::int64_t evaluations = 0;
  bool stopped = false;  ///< ended by `progress`
};

/// At most `evaluations` points, or ten times as many bounded nodes; beyond that the best known. `progress` as of a
/// search (include/isamap/search.h), over all searches; false ends them.
Optimum optimum_of(const Instance& instance, std::int64_t evaluations, int jobs,
                   const std::function<bool(std::int64_t evaluations, double best)>& progress = {});

/// Contradiction between the optimum stated by the suite and `found`; empty: none.
std::string contradiction(const Instance& instance, const Optimum& found);

}  // namespace isamap::lab
