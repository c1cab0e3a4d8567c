// SPDX-License-Identifier: Apache-2.0
// Reference results in float64, and tolerances.

#pragma once

#include <algorithm>
#include <thread>

#include "case.h"

namespace bench {

struct Verdict {
  double largest_error = 0;  ///< beyond what is allowed when `wrong`; otherwise the largest seen
  long wrong = 0, compared = 0;
  std::string first;  ///< "element 17: 3 instead of 4 (allowed: 0.1)"

  void compare(long at, double found, double expected, double allowed) {
    ++compared;
    const double off = std::fabs(found - expected);
    if (!(off <= allowed)) {  // a NaN is wrong
      char text[160];
      std::snprintf(text, sizeof text, "element %ld: %.9g instead of %.9g (allowed: %.3g)", at, found, expected,
                    allowed);
      if (wrong++ == 0) first = text;
    }
    if (off > largest_error || off != off) largest_error = off;
  }
};

/// Rows that are verified: all if cheap, otherwise the first, the last and a sample.
inline std::vector<long> rows_of(const Product& p) {
  constexpr double most = 6e9;  // multiplications: seconds on a few cores
  const double each = std::max(1.0, static_cast<double>(p.n) * static_cast<double>(p.k));
  const long count = std::min(p.m, std::max(2L, static_cast<long>(most / each)));
  std::vector<long> rows;
  for (long r = 0; r < count; ++r) rows.push_back(count == p.m || count < 2 ? r : r * (p.m - 1) / (count - 1));
  return rows;
}

/// The error bound of a sum is proportional to the sum of |a b|: each of k roundings is at most one unit in the last
/// place, with random signs. Products of 8-bit floats are accumulated with fewer bits than the accumulator has.
inline Verdict check_product(const Product& p, const std::vector<double>& a, const std::vector<double>& b, Type in,
                             Type out, const std::string& found, bool whole) {
  const bool exact = whole && !is_byte_float(in);
  const std::vector<long> rows = rows_of(p);
  std::vector<Verdict> verdicts(std::max(1U, std::thread::hardware_concurrency()));
  const double relative = exact ? 0
                                : 8 * (std::sqrt(static_cast<double>(p.k)) + 8) *
                                      (out == Type::f64    ? 0x1p-53
                                       : is_byte_float(in) ? 0x1p-13
                                                           : 0x1p-24);
  const auto part = [&](std::size_t worker) {
    std::vector<double> sum(static_cast<std::size_t>(p.n)), size(sum.size());
    for (std::size_t r = worker; r < rows.size(); r += verdicts.size()) {
      std::fill(sum.begin(), sum.end(), 0.0);
      std::fill(size.begin(), size.end(), 0.0);
      const double* const row = &a[static_cast<std::size_t>(rows[r] * p.k)];
      for (long k = 0; k < p.k && !p.transposed; ++k)
        for (long j = 0; j < p.n; ++j) {
          const double term = row[k] * b[static_cast<std::size_t>(k * p.n + j)];
          sum[static_cast<std::size_t>(j)] += term;
          size[static_cast<std::size_t>(j)] += std::fabs(term);
        }
      for (long j = 0; j < p.n && p.transposed; ++j)
        for (long k = 0; k < p.k; ++k) {
          const double term = row[k] * b[static_cast<std::size_t>(j * p.k + k)];
          sum[static_cast<std::size_t>(j)] += term;
          size[static_cast<std::size_t>(j)] += std::fabs(term);
        }
      for (long j = 0; j < p.n; ++j) {
        const long at = rows[r] * p.n + j;
        const auto i = static_cast<std::size_t>(j);
        const double allowed =
            is_float(out) ? relative * size[i] + (exact ? 0 : 2 * roundoff(out) * std::fabs(sum[i])) : 0;
        verdicts[worker].compare(at, decode(out, &found[static_cast<std::size_t>(at) * size_of(out)]), sum[i], allowed);
      }
    }
  };
  std::vector<std::thread> workers;
  for (std::size_t w = 0; w < verdicts.size(); ++w) workers.emplace_back(part, w);
  for (std::thread& worker : workers) worker.join();
  Verdict all;
  for (const Verdict& v : verdicts) {
    if (all.wrong == 0 && v.wrong > 0) all.first = v.first;
    all.wrong += v.wrong;
    all.compared += v.compared;
    if (v.largest_error > all.largest_error || v.largest_error != v.largest_error) all.largest_error = v.largest_error;
  }
  return all;
}

/// Any other kernel: close to the same statements in float64, relative to the mean of the result.
inline Verdict check_values(const std::vector<double>& expected, Type out, const std::string& found) {
  Verdict verdict;
  double mean = 0;
  for (const double x : expected) mean += std::fabs(x) / static_cast<double>(expected.size());
  const double tolerance = out == Type::f64 ? 1e-12 : std::max(2e-5, 2 * roundoff(out));
  for (std::size_t i = 0; i < expected.size(); ++i)
    verdict.compare(static_cast<long>(i), decode(out, &found[i * size_of(out)]), expected[i],
                    is_float(out) ? tolerance * (std::fabs(expected[i]) + mean) : 0);
  return verdict;
}

}  // namespace bench
