// SPDX-License-Identifier: Apache-2.0
#include "mapper/digits/lattice.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "support/arithmetic.h"

namespace isamap {
namespace {

constexpr std::int64_t max_entry = std::int64_t{1} << 31;
constexpr std::size_t max_vectors = 256;
constexpr int max_sums = 20'000;

bool is_small(const IntVector& v) {
  return std::all_of(v.begin(), v.end(), [](std::int64_t x) { return std::abs(x) < max_entry; });
}
bool is_zero(const IntVector& v) {
  return std::all_of(v.begin(), v.end(), [](std::int64_t x) { return x == 0; });
}

std::int64_t dot(const IntVector& a, const IntVector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), std::int64_t{0});
}

/// a - factor * b.
IntVector minus(IntVector a, std::int64_t factor, const IntVector& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] -= factor * b[i];
  return a;
}

/// Does b fit into v: the same signs, no entry larger?
bool conforms(const IntVector& b, const IntVector& v) {
  for (std::size_t i = 0; i < v.size(); ++i) {
    if (b[i] != 0 && (b[i] > 0 ? b[i] > v[i] : b[i] < v[i])) return false;
  }
  return true;
}

/// Subtracts vectors of `by` while one fits.
IntVector normal_form(IntVector v, const std::vector<IntVector>& by) {
  for (bool again = true; again && !is_zero(v);) {
    again = false;
    for (const IntVector& b : by) {
      if (!conforms(b, v)) continue;
      v = minus(std::move(v), 1, b);
      again = true;
      break;
    }
  }
  return v;
}

IntVector negated(IntVector v) {
  for (auto& x : v) x = -x;
  return v;
}

/// Closes a symmetric set of generators under sums, up to normal form; then the minimal vectors are the basis.
bool complete(std::vector<IntVector>& vectors) {
  int sums = 0;
  for (std::size_t second = 1; second < vectors.size(); ++second) {
    for (std::size_t first = 0; first < second; ++first) {
      if (++sums > max_sums || vectors.size() > max_vectors) return false;
      const IntVector remainder = normal_form(minus(vectors[first], -1, vectors[second]), vectors);
      if (is_zero(remainder)) continue;
      if (!is_small(remainder)) return false;
      vectors.push_back(remainder);
      vectors.push_back(negated(remainder));
    }
  }
  return true;
}

std::vector<IntVector> minimal_ones(const std::vector<IntVector>& vectors) {
  std::vector<IntVector> result;
  for (const IntVector& v : vectors) {
    const auto lead = std::find_if(v.begin(), v.end(), [](std::int64_t x) { return x != 0; });
    if (*lead < 0 || std::find(result.begin(), result.end(), v) != result.end()) continue;
    const bool minimal = std::none_of(vectors.begin(), vectors.end(),
                                      [&](const IntVector& other) { return other != v && conforms(other, v); });
    if (minimal) result.push_back(v);
  }
  return result;
}

/// Columns that rows connect, directly or through others.
std::vector<std::vector<std::size_t>> components(const std::vector<IntVector>& rows, std::size_t n) {
  std::vector<std::size_t> group(n);
  std::iota(group.begin(), group.end(), std::size_t{0});
  for (const IntVector& row : rows) {
    std::optional<std::size_t> first;
    for (std::size_t c = 0; c < n; ++c) {
      if (row[c] == 0) continue;
      if (!first) {
        first = group[c];
        continue;
      }
      const std::size_t old = group[c];
      std::replace(group.begin(), group.end(), old, *first);
    }
  }
  std::vector<std::vector<std::size_t>> result;
  for (std::size_t g = 0; g < n; ++g) {
    std::vector<std::size_t> members;
    for (std::size_t c = 0; c < n; ++c)
      if (group[c] == g) members.push_back(c);
    if (!members.empty()) result.push_back(std::move(members));
  }
  return result;
}

constexpr std::int64_t field_prime = (std::int64_t{1} << 61) - 1;
std::int64_t mul_mod(std::int64_t a, std::int64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b);  // both in [0, p)
  const auto folded = static_cast<std::int64_t>(product & static_cast<unsigned __int128>(field_prime)) +
                      static_cast<std::int64_t>(product >> 61U);  // 2^61 is 1
  return folded >= field_prime ? folded - field_prime : folded;
}
std::int64_t inverse_mod(std::int64_t a) {
  std::int64_t result = 1;
  for (std::int64_t e = field_prime - 2; e > 0; e >>= 1, a = mul_mod(a, a)) {
    if ((e & 1) != 0) result = mul_mod(result, a);
  }
  return result;
}

/// Every vector has an entry that no other vector has: the common case, and no arithmetic.
bool plainly_independent(const std::vector<IntVector>& vectors) {
  return std::all_of(vectors.begin(), vectors.end(), [&](const IntVector& v) {
    for (std::size_t i = 0; i < v.size(); ++i) {
      if (v[i] == 0) continue;
      if (std::count_if(vectors.begin(), vectors.end(), [i](const auto& other) { return other[i] != 0; }) == 1)
        return true;
    }
    return false;
  });
}

}  // namespace

std::optional<std::vector<IntVector>> kernel_basis(const std::vector<IntVector>& rows, std::size_t n) {
  std::vector<IntVector> basis(n, IntVector(n, 0));
  for (std::size_t i = 0; i < n; ++i) basis[i][i] = 1;
  for (const IntVector& row : rows) {
    // Euclid on the values of the basis vectors until one value is non-zero; that vector leaves the basis.
    while (true) {
      std::size_t smallest = basis.size();
      std::size_t others = 0;
      for (std::size_t i = 0; i < basis.size(); ++i) {
        const std::int64_t value = std::abs(dot(row, basis[i]));
        if (value == 0) continue;
        ++others;
        if (smallest == basis.size() || value < std::abs(dot(row, basis[smallest]))) smallest = i;
      }
      if (others == 0) break;
      if (others == 1) {
        basis.erase(basis.begin() + static_cast<std::ptrdiff_t>(smallest));
        break;
      }
      const std::int64_t by = dot(row, basis[smallest]);
      for (std::size_t i = 0; i < basis.size(); ++i) {
        const std::int64_t factor = i == smallest ? 0 : dot(row, basis[i]) / by;
        if (factor != 0) basis[i] = minus(std::move(basis[i]), factor, basis[smallest]);
        if (!is_small(basis[i])) return std::nullopt;
      }
    }
  }
  return basis;
}

GraverBasis graver_basis(const std::vector<IntVector>& rows, std::size_t n) {
  GraverBasis result;
  for (const std::vector<std::size_t>& members : components(rows, n)) {
    std::vector<IntVector> small_rows;
    for (const IntVector& row : rows) {
      IntVector part;
      for (const std::size_t c : members) part.push_back(row[c]);
      if (!is_zero(part)) small_rows.push_back(std::move(part));
    }
    const auto basis = kernel_basis(small_rows, members.size());
    std::vector<IntVector> vectors;
    for (const IntVector& b : basis.value_or(std::vector<IntVector>{})) {
      vectors.push_back(b);
      vectors.push_back(negated(b));
    }
    result.complete = basis.has_value() && complete(vectors) && result.complete;
    for (const IntVector& v : minimal_ones(vectors)) {
      IntVector wide(n, 0);
      for (std::size_t i = 0; i < members.size(); ++i) wide[members[i]] = v[i];
      result.vectors.push_back(std::move(wide));
    }
  }
  const auto size = [](const IntVector& v) {
    std::int64_t entries = 0, sum = 0;
    for (const std::int64_t x : v) {
      entries += x != 0 ? 1 : 0;
      sum += std::abs(x);
    }
    return std::pair(entries, sum);
  };
  std::sort(result.vectors.begin(), result.vectors.end(), [&](const IntVector& a, const IntVector& b) {
    return size(a) != size(b) ? size(a) < size(b) : a > b;  // e0 before e1
  });
  return result;
}

bool parallel(const IntVector& a, const IntVector& b) {
  const auto lead = std::find_if(a.begin(), a.end(), [](std::int64_t x) { return x != 0; });
  if (lead == a.end()) return true;
  const std::int64_t first = *lead, other = b[static_cast<std::size_t>(lead - a.begin())];
  if (other == 0) return is_zero(b);
  for (std::size_t j = 0; j < a.size(); ++j) {
    if ((a[j] | b[j]) == 0) continue;  // mostly
    if (static_cast<__int128>(first) * b[j] != static_cast<__int128>(a[j]) * other) return false;
  }
  return true;
}

bool independent(const std::vector<IntVector>& given) {
  if (plainly_independent(given)) return true;
  for (std::size_t i = 0; i < given.size(); ++i)  // the most common case, without a division
    for (std::size_t j = 0; j < i; ++j)
      if (parallel(given[i], given[j])) return false;
  std::vector<IntVector> vectors = given;
  for (auto& v : vectors)
    for (auto& x : v) x = floor_mod(x, field_prime);
  for (std::size_t row = 0; row < vectors.size(); ++row) {
    const auto& v = vectors[row];
    const auto lead = std::find_if(v.begin(), v.end(), [](std::int64_t x) { return x != 0; }) - v.begin();
    const auto c = static_cast<std::size_t>(lead);
    if (c == v.size()) return false;
    const std::int64_t inverse = inverse_mod(v[c]);
    for (std::size_t other = row + 1; other < vectors.size(); ++other) {
      const std::int64_t factor = mul_mod(vectors[other][c], inverse);
      if (factor == 0) continue;
      for (std::size_t i = 0; i < v.size(); ++i) {
        vectors[other][i] = floor_mod(vectors[other][i] - mul_mod(factor, vectors[row][i]), field_prime);
      }
    }
  }
  return true;
}

IntVector RowSpan::reduced(const IntVector& v) const {
  IntVector remainder = v;
  for (auto& x : remainder) x = floor_mod(x, field_prime);
  for (const auto& [lead, row] : rows_) {
    const std::int64_t factor = remainder[lead];
    if (factor == 0) continue;
    for (std::size_t i = 0; i < remainder.size(); ++i)
      remainder[i] = floor_mod(remainder[i] - mul_mod(factor, row[i]), field_prime);
  }
  return remainder;
}

void RowSpan::add(const IntVector& v) {
  IntVector remainder = reduced(v);
  const auto lead = std::find_if(remainder.begin(), remainder.end(), [](std::int64_t x) { return x != 0; });
  if (lead == remainder.end()) return;
  const auto at = static_cast<std::size_t>(lead - remainder.begin());
  const std::int64_t inverse = *lead == 1 ? 1 : inverse_mod(*lead);
  for (auto& x : remainder) x = mul_mod(x, inverse);
  rows_.emplace_back(at, std::move(remainder));
}

bool RowSpan::contains(const IntVector& v) const {
  const IntVector remainder = reduced(v);
  return std::all_of(remainder.begin(), remainder.end(), [](std::int64_t x) { return x == 0; });
}

// Fraction-free elimination (Bareiss, "Sylvester's identity and multistep integer-preserving Gaussian elimination",
// 1968).
std::optional<std::int64_t> determinant(std::vector<IntVector> rows) {
  __int128 previous = 1;
  std::int64_t sign = 1;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const auto lead = std::find_if(rows.begin() + static_cast<std::ptrdiff_t>(k), rows.end(),
                                   [&](const IntVector& row) { return row[k] != 0; });
    if (lead == rows.end()) return 0;
    if (lead - rows.begin() != static_cast<std::ptrdiff_t>(k)) {
      std::swap(rows[k], *lead);
      sign = -sign;
    }
    for (std::size_t i = k + 1; i < rows.size(); ++i) {
      for (std::size_t j = k + 1; j < rows.size(); ++j) {
        const __int128 minor =
            (static_cast<__int128>(rows[i][j]) * rows[k][k] - static_cast<__int128>(rows[i][k]) * rows[k][j]) /
            previous;
        if (minor > INT64_MAX || minor < -INT64_MAX) return std::nullopt;
        rows[i][j] = static_cast<std::int64_t>(minor);
      }
    }
    previous = rows[k][k];
  }
  return rows.empty() ? 1 : sign * rows.back().back();
}

std::optional<IntVector> hermite_diagonal(std::vector<IntVector> vectors) {
  IntVector diagonal;
  for (std::size_t c = 0; c < vectors.size(); ++c) {
    // Euclid on entry c of the vectors from c on, until it is non-zero in one of them only.
    while (true) {
      std::size_t smallest = vectors.size();
      std::size_t others = 0;
      for (std::size_t i = c; i < vectors.size(); ++i) {
        if (vectors[i][c] == 0) continue;
        ++others;
        if (smallest == vectors.size() || std::abs(vectors[i][c]) < std::abs(vectors[smallest][c])) smallest = i;
      }
      if (others == 0) return std::nullopt;
      std::swap(vectors[c], vectors[smallest]);
      if (others == 1) break;
      for (std::size_t i = c + 1; i < vectors.size(); ++i) {
        const std::int64_t factor = vectors[i][c] / vectors[c][c];
        vectors[i] = minus(std::move(vectors[i]), factor, vectors[c]);
        if (!is_small(vectors[i])) return std::nullopt;
      }
    }
    diagonal.push_back(std::abs(vectors[c][c]));
  }
  return diagonal;
}

}  // namespace isamap
