#pragma once
// The four conditions that make a mapping right (docs/mapping.md), as bit, rank and chain tests.
//
//   (C) every point of the statement is walked exactly once by digits and residual loops
//   (S) equal slots of an operand hold the same element
//   (O) one element of the output has one slot
//   (N) every instruction point without a statement point is told apart, and made harmless, by one operand (or, where
//       the body needs it, by several inputs together)
//
// `yes` is a proof. `unknown` is left to the solver (mapper/certificate.h), `no` is a refusal.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mapper/alignment.h"
#include "mapper/body_match.h"

namespace isamap {

enum class Truth { no, unknown, yes };

/// One digit as numbers. A step of it adds `column` to the point and `weight` to the counter of instruction dim `dim`.
struct Walker {
  int dim = 0;
  std::vector<std::int64_t> column;  ///< one entry for each dim of the statement
  std::int64_t extent = 1;
  std::int64_t weight = 1;  ///< product of the extents of the later digits of the same instruction dim
};

/// Nothing when a column is not linear in the statement's dims or a product overflows.
std::optional<std::vector<Walker>> walkers_of(const Alignment& alignment, const std::vector<std::vector<Digit>>& dims);

/// Product of the digit extents on instruction dim m.
std::int64_t walked_extent(const std::vector<Walker>& walkers, int m);

/// A coordinate as digits and residual loops: x = first + sum over links of stride * value, innermost first.
struct ChainLink {
  std::int64_t stride = 1, extent = 1;
  int walker = -1;  ///< -1: a residual loop
};
struct Chain {
  int pivot = 0;  ///< the coordinate that this chain decides
  std::vector<ChainLink> links;
  bool shifted = false;        ///< walkers of earlier chains move this coordinate too
  std::int64_t reach() const;  ///< product of the extents
};
/// Chains in the order in which Euclid's division peels them off a point. All pivots occur once.
using Cover = std::vector<Chain>;
/// For each walker the coordinate that it decides; nothing when no order of the coordinates works.
std::optional<std::vector<int>> pivots_of(const std::vector<Walker>& walkers, int dims);
std::optional<Cover> exact_cover(const Alignment& alignment, const std::vector<Walker>& walkers);

Truth sound(const Alignment& alignment, const std::vector<Walker>& walkers);
Truth no_partials(const Alignment& alignment, const std::vector<Walker>& walkers);

/// Why some instruction points have no statement point.
struct Padding {
  std::string reason;      ///< "fill j", "s>=0", "r<=2"
  std::uint32_t dims = 0;  ///< instruction dims whose counters decide it
  int fill = -1;           ///< the instruction dim that is filled, or -1:
  AffineExpr face;         ///< the face of the domain that is crossed, >= 0 inside
  bool avoidable = false;  ///< the instruction can run with fewer points instead
};
std::vector<Padding> fills(const Alignment& alignment, const std::vector<Walker>& walkers);
std::vector<Padding> paddings(const Alignment& alignment, const std::vector<Walker>& walkers, const Cover& cover);

struct Neutral {
  std::vector<Carrier> carriers;
  std::vector<std::string> needs;
  std::optional<Padding> uncarried;  ///< a reason that nobody carries: the mapping is refused
};
Neutral neutralise(const Alignment& alignment, const std::vector<Padding>& reasons, const std::vector<Kill>& kills);

/// Statement points / (calls * instruction points). Points that faces cut off are counted exactly for boxes of up to
/// a million points over the faces' dims, else not subtracted.
double utilisation(const Alignment& alignment, const std::vector<Walker>& walkers, const Cover& cover);

}  // namespace isamap
