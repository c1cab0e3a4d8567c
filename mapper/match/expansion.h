// SPDX-License-Identifier: Apache-2.0
#pragma once
// An integer body as a polynomial in its reads, and the places where its arithmetic exceeds its types.
//
//   sat_s16(s32(A0)*s32(B0) + s32(A1)*s32(B1))    is    A0*B0 + A1*B1    if all pair sums are in [-32768, 32767]
//
// + - * and casts that wrap are ring homomorphisms modulo 2^bits, so wrapping does no harm below a result of no more
// bits. A cast that saturates, or that widens a wrapped value, is exact only where interval arithmetic over the ranges
// of the reads shows that its argument fits (Moore, "Interval Analysis", 1966).

#include <map>
#include <optional>
#include <vector>

#include "isamap/affine.h"
#include "isamap/expression.h"

namespace isamap {

/// Sum of coefficient * product of reads (sorted, repeated for powers); no coefficient is 0.
using Polynomial = std::map<std::vector<int>, std::int64_t>;

/// A place where the computed value may differ from the polynomial.
struct Loss {
  ScalarExpr argument;      ///< of the cast
  bool saturates = false;   ///< else it wraps and is widened afterwards
  DType type = DType::s32;  ///< the type that the argument exceeds
  Interval reached;         ///< range of the argument; empty when it exceeds 64 bits
};

/// Without `losses` the body's value is the polynomial modulo 2^bits of its type.
struct Expansion {
  Polynomial polynomial;
  std::vector<Loss> losses;
  std::vector<Loss> fitting;  ///< arguments that must fit and do: the proof obligations
};

/// `ranges[r]`: values of read r in its bound tensor; where its own type does not have them, only the bits agree.
/// Nothing for bodies with other operators, floats, or more than 64 terms.
std::optional<Expansion> expand(const ScalarExpr& body, const std::vector<Interval>& ranges);

/// The obligation of `sat+=`: the initial value of the output (in `before`, which contains 0) plus up to `count` values
/// of the body stays within its type. Values are those within the ranges, or 0.
void require_sums(Expansion& expansion, const ScalarExpr& body, const std::vector<Interval>& ranges, std::int64_t count,
                  const Interval& before);

/// The values of an integer type; of u64 those of its bits as s64.
Interval values_of(DType type);

}  // namespace isamap
