// SPDX-License-Identifier: Apache-2.0
#pragma once
// From a placement to digits: their order, extents and strides, and their distribution over instruction dims that share
// operands.

#include <functional>
#include <vector>

#include "mapper/digits/digit_orders.h"
#include "mapper/proof/conditions.h"

namespace isamap {

/// "4*q - 4*s"
AffineExpr as_expression(const Alignment& alignment, const IntVector& column, std::int64_t stride = 1);

using Dims = std::vector<std::vector<Digit>>;

/// A placement with a chosen order of the digits along one direction of the output; extents are chosen later.
struct Plan {
  std::vector<PlacedDirection> placed;
  std::vector<Order> orders;
  bool split = false;  ///< two digits count along one direction of the output
};
/// The plans of a placement. `entries`: separate mappings, each with its possible plans, the preferred one first.
/// `others`: further orders (mapper/alternative_digit_orders.h), which are listed where the placement has no entry.
struct Plans {
  std::vector<std::vector<Plan>> entries;
  std::vector<Plan> others;
};
Plans plans_of(const Alignment& alignment, const Choices& choices, const Placement& placement, Rule rule);

/// The preferred extents: unit digits cover their whole dim, combined ones a tile. Digits are in the order of the
/// statement's dims, combined columns last (fastest). Several where the instruction has a sum of dims in a subscript:
/// each assignment of digits to dims is a separate mapping. None where a digit has extent 1.
std::vector<Dims> preferred_dims(const Alignment& alignment, const Choices& choices, const Plan& plan);

/// Other extents and orders of digits, for mappings that are correct only with whole tiles: extents that divide their
/// statement dim or their instruction dim. Calls `take` until it returns true; at most some hundred.
bool some_other_dims(const Alignment& alignment, const Choices& choices, const Plan& plan,
                     const std::function<bool(Dims&)>& take);

}  // namespace isamap
