// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rank correlation of two lists. 1: same order, 0: none, -1: reversed.

#include <vector>

namespace isamap::bench {

/// Spearman's rho; ties have the mean of their ranks.
double spearman(const std::vector<double>& a, const std::vector<double>& b);
/// Kendall's tau-b: concordant minus discordant pairs, corrected for ties.
double kendall(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace isamap::bench
