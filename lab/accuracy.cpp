// SPDX-License-Identifier: Apache-2.0
#include "lab/accuracy.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace isamap::lab {

namespace {

/// Ranks from 1; ties share their mean rank.
std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t end = first;
    while (end < order.size() && values[order[end]] == values[order[first]]) ++end;
    for (std::size_t i = first; i < end; ++i) ranks[order[i]] = (static_cast<double>(first + end) + 1) / 2;
    first = end;
  }
  return ranks;
}

void set_factors(std::vector<Compared>& trials) {
  double logarithms = 0;
  for (const Compared& one : trials) logarithms += std::log(one.measured / one.predicted);
  const double mean = std::exp(logarithms / static_cast<double>(trials.size()));
  for (Compared& one : trials) one.factor = one.measured / one.predicted / mean;
  std::stable_sort(trials.begin(), trials.end(), [](const Compared& a, const Compared& b) {
    return std::abs(std::log(a.factor)) > std::abs(std::log(b.factor));
  });
}

}  // namespace

std::optional<double> rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size() || a.size() < 2) return {};
  const std::vector<double> x = ranks_of(a), y = ranks_of(b);
  const double mean = (static_cast<double>(a.size()) + 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  if (xx <= 0 || yy <= 0) return {};
  return xy / std::sqrt(xx * yy);
}

std::vector<Accuracy> accuracy_of(const std::vector<TrialRecord>& trials) {
  std::map<std::int64_t, std::vector<Compared>> by_statement;
  for (const TrialRecord& t : trials)
    if (t.measured && t.verdict == RunVerdict::correct && *t.measured > 0 && t.cycles > 0)
      by_statement[t.statement].push_back({t.statement, t.number, t.cycles, *t.measured, 1});
  std::vector<Accuracy> found;
  for (auto& [statement, compared] : by_statement) {
    std::vector<double> predicted, measured;
    for (const Compared& one : compared) predicted.push_back(one.predicted), measured.push_back(one.measured);
    set_factors(compared);
    found.push_back({statement, std::move(compared), rank_correlation(predicted, measured)});
  }
  return found;
}

}  // namespace isamap::lab
