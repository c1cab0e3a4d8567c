// SPDX-License-Identifier: Apache-2.0
#pragma once
// From a placement to digits: their order, extents and strides, and their spread over instruction dims that share
// operands.

#include <functional>
#include <vector>

#include "mapper/conditions.h"
#include "mapper/digit_orders.h"

namespace isamap {

/// "4*q - 4*s"
AffineExpr as_expression(const Alignment& alignment, const IntVector& column, std::int64_t stride = 1);

using Dims = std::vector<std::vector<Digit>>;

/// A placement in which digits along one direction of the output count in a certain order; extents are still to be
/// chosen.
struct Plan {
  std::vector<PlacedDirection> placed;
  std::vector<Order> orders;
  bool split = false;  ///< two digits count along one direction of the output
};
/// The plans of a placement. `entries`: mappings of their own, each with the plans that do for it, the preferred one
/// first. `others`: further orders (mapper/alternative_digit_orders.h), which are listed where the placement has no
/// entry.
struct Plans {
  std::vector<std::vector<Plan>> entries;
  std::vector<Plan> others;
};
Plans plans_of(const Alignment& alignment, const Choices& choices, const Placement& placement, Rule rule);

/// The preferred extents: unit digits run over their whole dim, combined ones a tile. Digits stand in the order of the
/// statement's dims, combined columns last (fastest). Several where the instruction adds up dims in a subscript: each
/// way to seat the digits is a mapping of its own. None where a digit has no room for two steps.
std::vector<Dims> preferred_dims(const Alignment& alignment, const Choices& choices, const Plan& plan);

/// Other extents and orders of digits, for mappings that only whole tiles make right: extents that divide what they
/// loop or what runs over them. Passed to `take` until it returns true; at most some hundred.
bool some_other_dims(const Alignment& alignment, const Choices& choices, const Plan& plan,
                     const std::function<bool(Dims&)>& take);

}  // namespace isamap
