// SPDX-License-Identifier: Apache-2.0
#pragma once
// The conditions for a correct mapping (docs/mapping.md), as bit, rank and chain tests.
//
//   (C) digits and residual loops cover every point of the statement exactly once
//   (S) equal slots of an operand hold the same element
//   (O) one element of the output has one slot
//   (N) every instruction point without a statement point is distinguished and neutralised by one operand (or, where
//       the body needs it, by several inputs together)
//   (A) partial sums accumulate from call to call (mapper/accumulation.h)
//
// `yes` is a proof. The solver decides `unknown` (mapper/proof/certificate.h); `no` is a refusal.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "mapper/digits/alignment.h"
#include "mapper/digits/lattice.h"
#include "mapper/match/body_match.h"

namespace isamap {

enum class Truth { no, unknown, yes };

/// One digit as numbers. A step of it adds `column` to the point, and the place's weight to the counter of each of its
/// instruction dims. A digit on two dims is tied.
struct DigitStep {
  struct Place {
    int dim = 0;
    std::int64_t weight = 1;  ///< product of the extents of the later digits of the same instruction dim
  };
  IntVector column;  ///< one entry for each dim of the statement
  std::int64_t extent = 1;
  boost::container::small_vector<Place, 2> places;

  const Place* on(int dim) const;
  std::uint32_t dims() const;  ///< bit m: instruction dim m
};

/// Dims on which the digit differs between points of one call. Where its weight is a multiple of the dim's extent, the
/// digit depends on the tile only.
std::uint32_t varies_in_call(const Alignment& alignment, const DigitStep& digit_step);

/// Nothing when a column is not linear in the statement's dims or a product overflows.
std::optional<std::vector<DigitStep>> digit_steps_of(const Alignment& alignment,
                                                     const std::vector<std::vector<Digit>>& dims);

/// Product of the digit extents on instruction dim m.
std::int64_t digits_extent(const std::vector<DigitStep>& digit_steps, int m);

/// The residual loops of a mapping: each adds steps to the point.
struct Cover {
  struct Loop {
    IntVector step;
    std::int64_t extent = 1;
    bool floating = false;  ///< its first value depends on digits: columns of other chains move its coordinate
  };
  std::vector<Loop> loops;
  std::vector<bool> below, beyond;  ///< for each coordinate: may digits leave its range there?
};
/// Calls `take` with covers, best first, until it returns true: chains along the coordinates, one for each choice of
/// pivots, up to a limit; else along the lattice of the columns. False: it accepted none.
bool some_cover(const Alignment& alignment, const std::vector<DigitStep>& digit_steps,
                const std::function<bool(const Cover&)>& take);

/// For each digit the coordinate that it determines, in an order of the coordinates in which every column moves later
/// ones only. Calls `visit` with each choice until it returns true; is there one?
using Pivots = std::vector<int>;
bool some_pivots(const std::vector<DigitStep>& digit_steps, std::size_t dims,
                 const std::function<bool(const Pivots&, const std::vector<int>& order)>& visit);

/// Is it an exact cover by a lattice: one direction for each column or loop, and the cosets of the lattice that they
/// span? This form is needed when no order of the coordinates works.
bool covers_by_lattice(const std::vector<DigitStep>& digit_steps, const std::vector<Cover::Loop>& loops,
                       std::size_t dims);

/// `open`: the operands for which the answer is `unknown`.
Truth sound(const Alignment& alignment, const std::vector<DigitStep>& digit_steps, OperandSet& open);
/// Digits that deliberately distribute a sum over an output dim (kind `partial`) are not counted.
Truth no_partials(const Alignment& alignment, const std::vector<DigitStep>& digit_steps);

/// Why some instruction points have no statement point.
struct Padding {
  std::string reason;      ///< "fill j", "s>=0", "r<=2"
  std::uint32_t dims = 0;  ///< instruction dims whose counters decide it within a call
  int fill = -1;           ///< the instruction dim that is filled, or -1;
  int tie = -1;            ///< the tied digit whose values on its first place and on `place` differ, or -1;
  int place = 0;
  AffineExpr face;         ///< in certificates: the face of the domain that is crossed, >= 0 inside
  bool avoidable = false;  ///< the instruction can run with fewer points instead
  bool aligned = false;    ///< each call is entirely inside or outside: a loop bound, no padding
};
/// Causes that do not depend on the loops: surplus counts of a dim, and digits of a tied pair that differ.
std::vector<Padding> fills(const Alignment& alignment, const std::vector<DigitStep>& digit_steps);
/// Are all points of a call inside the range of coordinate d, or all outside?
bool aligned(const Alignment& alignment, const std::vector<DigitStep>& digit_steps, const Cover& cover, std::size_t d);
std::vector<Padding> paddings(const Alignment& alignment, const std::vector<DigitStep>& digit_steps,
                              const Cover& cover);

struct Neutral {
  std::vector<Carrier> carriers;
  std::vector<std::string> needs;
  std::optional<Padding> uncarried;  ///< a reason without a carrier: the mapping is refused
};
Neutral neutralise(const Alignment& alignment, const std::vector<Padding>& reasons,
                   const std::vector<Annihilator>& annihilators);

/// Statement points / (calls * instruction points); tiles start where they need fewest calls. Points that faces cut off
/// are counted exactly for boxes of up to a million points over the faces' dims, else not subtracted.
double utilisation(const Alignment& alignment, const std::vector<DigitStep>& digit_steps, const Cover& cover);

}  // namespace isamap
