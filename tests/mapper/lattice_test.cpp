// SPDX-License-Identifier: Apache-2.0
// Integer vectors: bases, minimal steps, determinants.

#include "mapper/digits/lattice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "isamap/interpret.h"

namespace isamap::testing {
namespace {

std::vector<IntVector> rows_of(Random& random, std::size_t rows, std::size_t n) {
  std::vector<IntVector> result(rows, IntVector(n, 0));
  for (IntVector& row : result)
    for (auto& x : row) x = random.between(-3, 3);
  return result;
}

bool solves(const std::vector<IntVector>& rows, const IntVector& v) {
  for (const IntVector& row : rows) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < v.size(); ++i) sum += row[i] * v[i];
    if (sum != 0) return false;
  }
  return true;
}

/// Equal signs, no entry larger.
bool fits(const IntVector& a, const IntVector& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i] * b[i] < 0 || std::abs(a[i]) > std::abs(b[i])) return false;
  return true;
}

/// By enumeration of all vectors with entries in [-bound, bound].
std::vector<IntVector> minimal_by_search(const std::vector<IntVector>& rows, std::size_t n, std::int64_t bound) {
  std::vector<IntVector> solutions, minimal;
  IntVector v(n, -bound);
  while (true) {
    if (v != IntVector(n, 0) && solves(rows, v)) solutions.push_back(v);
    std::size_t d = 0;
    while (d < n && ++v[d] > bound) v[d++] = -bound;
    if (d == n) break;
  }
  for (const IntVector& s : solutions) {
    bool least = true;
    for (const IntVector& other : solutions) least = least && (other == s || !fits(other, s));
    if (least) minimal.push_back(s);
  }
  return minimal;
}

TEST(Lattice, GraverBasisOfWindows) {
  EXPECT_EQ(graver_basis({{2, 1}}, 2).vectors, (std::vector<IntVector>{{1, -2}}));
  EXPECT_EQ(graver_basis({{2, 3}}, 2).vectors, (std::vector<IntVector>{{3, -2}}));
  EXPECT_EQ(graver_basis({{1, 1, 1}}, 3).vectors, (std::vector<IntVector>{{1, 0, -1}, {1, -1, 0}, {0, 1, -1}}));
  EXPECT_EQ(graver_basis({}, 2).vectors, (std::vector<IntVector>{{1, 0}, {0, 1}}));
  EXPECT_TRUE(graver_basis({{1, 0}, {1, 1}}, 2).vectors.empty());
}

void graver_basis_against_search(int cases) {
  Random random(11);
  for (int n = 0; n < cases; ++n) {
    SCOPED_TRACE("seed 11, case " + std::to_string(n));
    const auto rows = rows_of(random, static_cast<std::size_t>(random.between(0, 2)), 3);
    const GraverBasis basis = graver_basis(rows, 3);
    ASSERT_TRUE(basis.complete);
    std::vector<IntVector> both;
    bool small = true;
    for (const IntVector& v : basis.vectors) {
      EXPECT_TRUE(solves(rows, v));
      IntVector negative = v;
      for (auto& x : negative) x = -x;
      both.push_back(v);
      both.push_back(negative);
      for (const std::int64_t x : v) small = small && std::abs(x) <= 6;
    }
    if (!small) continue;
    std::vector<IntVector> searched = minimal_by_search(rows, 3, 6);
    std::sort(both.begin(), both.end());
    std::sort(searched.begin(), searched.end());
    EXPECT_EQ(both, searched);
  }
}

TEST(Lattice, GraverBasisAgainstSearch) { graver_basis_against_search(130); }
TEST(HeavyLattice, GraverBasisAgainstSearch) { graver_basis_against_search(400); }

TEST(Lattice, DeterminantAndCosets) {
  EXPECT_EQ(determinant({}), 1);
  EXPECT_EQ(determinant({{0, 2}, {3, 5}}), -6);
  EXPECT_EQ(determinant({{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}), 0);
  EXPECT_EQ(determinant({{INT64_MAX / 2, 1}, {1, INT64_MAX / 2}}), std::nullopt);
  Random random(5);
  for (int n = 0; n < 300; ++n) {
    const auto rows = rows_of(random, 3, 3);
    const auto d = determinant(rows);
    ASSERT_TRUE(d);
    EXPECT_EQ(*d != 0, independent(rows));
    const auto diagonal = hermite_diagonal(rows);
    EXPECT_EQ(diagonal.has_value(), *d != 0);
    if (diagonal) {
      EXPECT_EQ((*diagonal)[0] * (*diagonal)[1] * (*diagonal)[2], std::abs(*d));
    }
  }
}

}  // namespace
}  // namespace isamap::testing
