// SPDX-License-Identifier: Apache-2.0
#pragma once
// Small integer linear algebra, by brute force and exact: lattices of integer vectors that leave operands in place.

#include <optional>

#include "tests/mapping_oracle/model.h"

namespace isamap::oracle {

std::size_t rank_of(std::vector<Vec> vectors);
/// |determinant| of n vectors in n dims.
Int index_of(std::vector<Vec> vectors);
/// Coefficients of `v` in n independent vectors, times their determinant's absolute value.
std::optional<Vec> scaled_coordinates(const std::vector<Vec>& basis, const Vec& v);

/// First entry that is not 0 made positive.
Vec canonical_sign(Vec v);
/// Divided by the greatest common divisor of its entries, first entry positive.
Vec primitive(Vec v);
bool zero(const Vec& v);
/// u's entries have the signs of v's and are no larger.
bool conformally_below(const Vec& u, const Vec& v);

/// Vectors with entries in [-bound, bound] at which every row of `equations` vanishes, up to sign, 0 left out.
std::vector<Vec> kernel_vectors(const std::vector<Vec>& equations, std::size_t dims, Int bound);
/// The conformally minimal ones: what lies conformally below a vector of the box lies in the box, so these are exactly
/// the elements of the Graver basis with entries up to `bound`.
std::vector<Vec> graver(const std::vector<Vec>& equations, std::size_t dims, Int bound);

}  // namespace isamap::oracle
