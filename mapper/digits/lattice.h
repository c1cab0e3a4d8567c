// SPDX-License-Identifier: Apache-2.0
#pragma once
// Integer vectors: lattices of solutions, Graver bases, ranks, Hermite forms. Sizes are those of index functions: a
// dozen columns, small entries. Nothing overflows silently: beyond 2^31 the result is `nothing`.

#include <cstdint>
#include <optional>
#include <vector>

#include "mapper/digits/int_vector.h"

namespace isamap {

/// A basis of {v in Z^n : row . v = 0 for every row}.
std::optional<std::vector<IntVector>> kernel_basis(const std::vector<IntVector>& rows, std::size_t n);

/// The Graver basis of that lattice up to sign: all v != 0 that are not the sum of two other lattice vectors with the
/// signs of v in every entry. Finite; {p-2r} for the row 2p+r, unit vectors where a column of the rows is zero. First
/// non-zero entries are positive; few and small entries first. (Graver 1975; the completion is Pottier's, "The
/// Euclidean algorithm in dimension n", ISSAC 1996.)
struct GraverBasis {
  std::vector<IntVector> vectors;
  bool complete = true;  ///< false: cut at the limit of vectors or of entries
};
GraverBasis graver_basis(const std::vector<IntVector>& rows, std::size_t n);

/// Linear independence over the rationals, decided modulo the prime 2^61 - 1: `true` is certain.
bool independent(const std::vector<IntVector>& vectors);
/// The span of vectors over the rationals, decided modulo the same prime.
class RowSpan {
 public:
  void add(const IntVector& v);
  bool contains(const IntVector& v) const;

 private:
  IntVector reduced(const IntVector& v) const;
  std::vector<std::pair<std::size_t, IntVector>> rows_;  // 1 at the first position, 0 at those of the rows before
};
/// Is one a multiple of the other?
bool parallel(const IntVector& a, const IntVector& b);

/// Determinant of a square matrix; nothing when it leaves 64 bits. The empty matrix has 1.
std::optional<std::int64_t> determinant(std::vector<IntVector> rows);

/// Diagonal of the Hermite normal form of the lattice spanned by n independent vectors: the box of integer vectors
/// 0 <= a < diagonal holds one representative of each of its cosets in Z^n.
std::optional<IntVector> hermite_diagonal(std::vector<IntVector> vectors);

}  // namespace isamap
