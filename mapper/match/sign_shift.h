// SPDX-License-Identifier: Apache-2.0
#pragma once
// A factor of the other signedness: the same sum with A + 128 in place of A, and a correction term.
//
//   O = sum A*B  =  sum (A + 128)*B  -  128 * sum B          s8 A as u8; with - 128 for u8 as s8
//
// Exact in the ring of any integer output: nothing rounds, and wrapping sums wrap alike.

#include <string>
#include <vector>

#include "isamap/kernel.h"

namespace isamap {

struct SignShift {
  Kernel kernel;
  StatementId product;      ///< the statement that is left to map: O += U*B
  std::string description;  ///< "add 128 to A and subtract 128 * (sum of B over k)"
};

/// Every s8 or u8 factor of an integer sum of products of two reads, shifted: U = A + 128, R = sum of B, O = -128*R,
/// O += U*B. Domains with faces are left out: there the sum of B would depend on the point of A.
std::vector<SignShift> sign_shifts(const Kernel& kernel, StatementId statement);

}  // namespace isamap
