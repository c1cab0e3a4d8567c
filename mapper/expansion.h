// SPDX-License-Identifier: Apache-2.0
#pragma once
// What an integer body computes, as a polynomial in its reads, and where its arithmetic leaves its types.
//
//   sat_s16(s32(A0)*s32(B0) + s32(A1)*s32(B1))    is    A0*B0 + A1*B1    while no pair sum leaves [-32768, 32767]
//
// + - * and casts that wrap are ring homomorphisms modulo 2^bits, so wrapping does no harm below a result of no more
// bits. A cast that saturates, or that widens what has wrapped, keeps the value only where interval arithmetic over
// the ranges of the reads shows that its argument fits (Moore, "Interval Analysis", 1966).

#include <map>
#include <optional>
#include <vector>

#include "isamap/affine.h"
#include "isamap/expression.h"

namespace isamap {

/// Sum of coefficient * product of reads (sorted, repeated for powers); no coefficient is 0.
using Polynomial = std::map<std::vector<int>, std::int64_t>;

/// A place where the polynomial is not what is computed.
struct Loss {
  ScalarExpr argument;      ///< of the cast
  bool saturates = false;   ///< else it wraps and is widened afterwards
  DType type = DType::s32;  ///< what does not hold the argument
  Interval reached;         ///< what the argument can be; empty when it leaves 64 bits
};

/// `losses` lists what would have to fit; with none, the body's value is the polynomial modulo 2^bits of its type.
struct Expansion {
  Polynomial polynomial;
  std::vector<Loss> losses;
  std::vector<Loss> fitting;  ///< what has to fit and does: the proof obligations
};

/// `ranges[r]`: what read r can be, in the tensor that it is bound to: where its own type does not hold that, only the
/// bits agree. Nothing for bodies with other operators, floats, or more than 64 terms.
std::optional<Expansion> expand(const ScalarExpr& body, const std::vector<Interval>& ranges);

/// The obligation of `sat+=`: what stands in the output at first (`before`, which holds 0) and any number of values of
/// the body up to `count` add up to nothing that its type does not hold. Values are those within the ranges, or 0.
void require_sums(Expansion& expansion, const ScalarExpr& body, const std::vector<Interval>& ranges, std::int64_t count,
                  const Interval& before);

/// The values of an integer type.
Interval values_of(DType type);

}  // namespace isamap
