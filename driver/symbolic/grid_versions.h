// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which schedules become versions of a program for all sizes, and for which sizes.
//
// Each schedule found for some sizes is priced at all samples. The regret of a set of guarded versions at a sample is
// cost(the version that serves it) / cost(the best schedule there). A greedy choice begins with the schedule of the
// smallest regret, the mean (half of it at the likely sizes) with a share of the worst, for every size, and puts
// guarded ones before it as long as one is worth its code (its text counts like a bit of regret, since it has to be
// compiled): a guard is `extent <= c` or `extent > c`, c the crossover of the cost model, or two such conditions on
// different extents (few columns, but not where the sum is short as well). The schedule of the other sizes is chosen
// again then.

#include <functional>
#include <optional>

#include "isamap/symbolic_program.h"

namespace isamap {

/// What versions are chosen by.
struct VersionOptions {
  int most = 4;
  double likely_share = 0.5;    ///< of the mean regret is that at the likely sizes, which matter most
  double worst_share = 0.1;     ///< of the worst regret, beside the mean: 10 % of it count like 1 % of the mean
  double worthwhile = 0.01;     ///< of cycles, for code of its own: the cost model is not surer than that
  double version_worth = 0.03;  ///< of the mean regret, for a version and for a second condition of its guard: a
                                ///< version takes about as long to compile as the code of one size
  double block_worth =
      8e-4;  ///< of the mean regret: what the compilation of a usual block costs (fitted, docs/dynamic_sizes.md)
  /// Each candidate is priced at all samples, some 0.3 ms each: a tenth of a second for 20 candidates.
  std::size_t most_samples = 21;
  /// Positions along a symbolic dim, where schedules are searched and priced, too: fewer than a tile of registers has,
  /// and so few that their sums do not hide the latency of an instruction.
  std::vector<std::int64_t> few = {8, 3};
};

struct VersionQuestion {
  std::vector<Bindings> samples;  ///< the first is the likely one where `begins_likely`
  bool begins_likely = true;
  std::vector<std::vector<double>> costs;  ///< by schedule and sample, in cycles; infinite: illegal there
  std::vector<double> blocks;              ///< by schedule: usual blocks with as much text; empty: none count
  std::vector<AffineExpr> measures;        ///< over the sizes: what guards compare
  Bindings remainders = {};  ///< beside the likely sizes: where crossovers are priced, too (`sizes_with_remainders`)
  std::function<double(std::size_t schedule, const Bindings& sizes)> price;
};

/// A guard between the values of an expression at two samples, one after the other.
struct SampledGuard {
  AffineExpr measure;
  std::int64_t below = 0, above = 0;
  bool at_most = true;  ///< it serves up to `below`; else from `above` on
};

struct GuardedSchedule {
  std::size_t schedule = 0;
  std::vector<SizeFact> when = {};
  std::vector<SampledGuard> between = {};  ///< by condition: where `when` has its bound
};

/// At most `options.most`, in order of their guards, which compare with values at samples; the last one has none.
std::vector<GuardedSchedule> choose_versions(const VersionQuestion& question, const VersionOptions& options);

/// With each guard at the crossover of its schedule and of those behind it: the mean of both prices' ratios is 1 there.
std::vector<GuardedSchedule> at_crossovers(std::vector<GuardedSchedule> versions, const VersionQuestion& question);

/// Which of the versions serves a sample.
std::size_t serving(const std::vector<GuardedSchedule>& versions, const Bindings& sizes);

/// Sizes where versions are priced: the likely ones, small, middle and large ones, and each size small or large while
/// the others are likely. All satisfy the facts.
std::vector<Bindings> sample_sizes(const SymbolicKernel& kernel, const VersionOptions& options);

/// About a third of the likely sizes, odd where the facts allow: tiles and lanes leave remainders.
Bindings sizes_with_remainders(const SymbolicKernel& kernel);

}  // namespace isamap
