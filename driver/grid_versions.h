// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which schedules become versions of a program for all sizes, and for which sizes.
//
// Each schedule found for some sizes is priced at all samples. The regret of a set of guarded versions at a sample is
// cost(the version that serves it) / cost(the best schedule there). A greedy choice begins with the schedule of the
// smallest regret, the mean with a share of the worst, for every size, and puts guarded ones before it as long as one
// is worth its code (each block of code counts like a bit of regret, since it has to be compiled): a guard is `extent
// <= c` or `extent > c`, c the crossover of the cost model.

#include <functional>

#include "isamap/symbolic_program.h"

namespace isamap {

/// Positions along a symbolic dim that are fewer than tiles of registers have: some of one, then a rest of it alone.
inline constexpr std::int64_t few_positions[] = {8, 3};

struct VersionQuestion {
  std::vector<Bindings> samples;           ///< the first is the likely one
  std::vector<std::vector<double>> costs;  ///< by schedule and sample, in cycles; infinite: illegal there
  std::vector<double> blocks;              ///< by schedule: bodies of code; empty: none count
  std::vector<AffineExpr> measures;        ///< over the sizes: what guards compare
  std::function<double(std::size_t schedule, const Bindings& sizes)> price;
};

struct GuardedSchedule {
  std::size_t schedule = 0;
  std::vector<SizeFact> when = {};
};

/// At most `most`, in order of their guards; the last one has none.
std::vector<GuardedSchedule> choose_versions(const VersionQuestion& question, int most);

/// Which of the versions serves a sample.
std::size_t serving(const std::vector<GuardedSchedule>& versions, const Bindings& sizes);

/// Sizes where versions are priced: the likely ones, small, middle and large ones, and each size small or large while
/// the others are likely. All satisfy the facts.
std::vector<Bindings> sample_sizes(const SymbolicKernel& kernel);

}  // namespace isamap
