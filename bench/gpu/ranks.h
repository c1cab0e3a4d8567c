// SPDX-License-Identifier: Apache-2.0
#pragma once
// Do two lists put things in the same order? 1: exactly, 0: no relation, -1: the other way round. Equal values share.

#include <vector>

namespace isamap::bench {

/// The correlation of ranks; equal values have the mean of their ranks.
double spearman(const std::vector<double>& a, const std::vector<double>& b);
/// Pairs in the same order less pairs in the other, over all that are no tie (tau-b).
double kendall(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace isamap::bench
