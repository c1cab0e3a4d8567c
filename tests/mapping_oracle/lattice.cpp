// SPDX-License-Identifier: Apache-2.0
#include "tests/mapping_oracle/lattice.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace isamap::oracle {
namespace {

/// Fraction-free elimination (Bareiss): every intermediate number is a minor of the input. Returns rank and pivot
/// minor.
std::pair<std::size_t, Int> eliminate(std::vector<Vec>& rows) {
  const std::size_t columns = rows.empty() ? 0 : rows[0].size();
  std::size_t rank = 0;
  Int previous = 1;
  for (std::size_t c = 0; c < columns && rank < rows.size(); ++c) {
    std::size_t pivot = rank;
    while (pivot < rows.size() && rows[pivot][c] == 0) ++pivot;
    if (pivot == rows.size()) continue;
    std::swap(rows[rank], rows[pivot]);
    for (std::size_t r = rank + 1; r < rows.size(); ++r) {
      for (std::size_t k = c + 1; k < columns; ++k)
        rows[r][k] = (rows[rank][c] * rows[r][k] - rows[r][c] * rows[rank][k]) / previous;
      rows[r][c] = 0;
    }
    previous = rows[rank][c];
    ++rank;
  }
  return {rank, previous};
}

}  // namespace

std::size_t rank_of(std::vector<Vec> vectors) { return eliminate(vectors).first; }

Int index_of(std::vector<Vec> vectors) {
  const std::size_t n = vectors.size();
  const auto [rank, minor] = eliminate(vectors);
  return rank < n ? 0 : std::abs(minor);
}

std::optional<Vec> scaled_coordinates(const std::vector<Vec>& basis, const Vec& v) {
  const auto determinant = [](const std::vector<Vec>& rows) {  // with its sign, by expansion: at most 7 dims
    const auto expand = [](const auto& self, const std::vector<Vec>& m) -> Int {
      if (m.empty()) return 1;
      Int sum = 0;
      for (std::size_t r = 0; r < m.size(); ++r) {
        if (m[r][0] == 0) continue;
        std::vector<Vec> minor;
        for (std::size_t k = 0; k < m.size(); ++k)
          if (k != r) minor.push_back(Vec(m[k].begin() + 1, m[k].end()));
        sum += (r % 2 == 0 ? 1 : -1) * m[r][0] * self(self, minor);
      }
      return sum;
    };
    return expand(expand, rows);
  };
  const Int det = determinant(basis);
  if (det == 0) return std::nullopt;
  Vec coordinates;  // Cramer's rule
  for (std::size_t a = 0; a < basis.size(); ++a) {
    std::vector<Vec> replaced = basis;
    replaced[a] = v;
    coordinates.push_back(determinant(replaced) * (det < 0 ? -1 : 1));
  }
  return coordinates;
}

bool zero(const Vec& v) {
  return std::all_of(v.begin(), v.end(), [](Int x) { return x == 0; });
}

Vec canonical_sign(Vec v) {
  for (const Int x : v) {
    if (x == 0) continue;
    if (x < 0)
      for (Int& y : v) y = -y;
    break;
  }
  return v;
}

Vec primitive(Vec v) {
  Int common = 0;
  for (const Int x : v) common = std::gcd(common, x);
  for (Int& x : v) x /= std::max<Int>(common, 1);
  return canonical_sign(v);
}

bool conformally_below(const Vec& u, const Vec& v) {
  for (std::size_t d = 0; d < u.size(); ++d)
    if (u[d] * v[d] < 0 || std::abs(u[d]) > std::abs(v[d])) return false;
  return true;
}

std::vector<Vec> kernel_vectors(const std::vector<Vec>& equations, std::size_t dims, Int bound) {
  std::vector<Vec> found;
  Vec v(dims, -bound);
  while (dims > 0) {
    bool vanishes = !zero(v) && canonical_sign(v) == v;
    for (std::size_t e = 0; e < equations.size() && vanishes; ++e) {
      Int sum = 0;
      for (std::size_t d = 0; d < dims; ++d) sum += equations[e][d] * v[d];
      vanishes = sum == 0;
    }
    if (vanishes) found.push_back(v);
    std::size_t d = dims;
    while (d > 0 && ++v[d - 1] > bound) v[--d] = -bound;
    if (d == 0) break;
  }
  return found;
}

std::vector<Vec> graver(const std::vector<Vec>& equations, std::size_t dims, Int bound) {
  const std::vector<Vec> vectors = kernel_vectors(equations, dims, bound);
  std::vector<Vec> minimal;
  for (const Vec& v : vectors) {
    const bool has_smaller = std::any_of(vectors.begin(), vectors.end(), [&](const Vec& u) {
      if (u == v) return false;
      Vec minus = u;
      for (Int& x : minus) x = -x;
      return conformally_below(u, v) || conformally_below(minus, v);
    });
    if (!has_smaller) minimal.push_back(v);
  }
  std::sort(minimal.begin(), minimal.end(), [](const Vec& a, const Vec& b) { return a > b; });
  return minimal;
}

}  // namespace isamap::oracle
