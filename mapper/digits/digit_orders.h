// SPDX-License-Identifier: Apache-2.0
#pragma once
// Two digits that move the output along one direction: p and p - r in O[p], p and r in O[2*p + r].
//
// One element of the output must have one slot, so such a pair must count like two digits of one number: the inner one
// makes the small steps, the outer one steps over their whole range. Or, where one step of w is |c| > 1 steps of u and
// both are free, u is cut to |c| steps. Three digits along one direction are not combined.

#include <vector>

#include "mapper/digits/placements.h"

namespace isamap {

/// Steps of the output's indices by one step of a column. Indices with divisions can only separate more elements.
IntVector output_image(const Alignment& alignment, const IntVector& column);

struct PlacedDirection {
  IntVector column;
  Home home;
  int unit = -1;
};

/// `per` steps of `outer` move the output like `ratio` steps of `inner`.
struct Order {
  int inner = 0, outer = 0;  ///< positions in the list of placed directions
  std::int64_t ratio = 1, per = 1;
  bool bounded = false;  ///< `inner` is cut to the ratio; else `outer` steps over all of `inner`
};

/// Ways to order the parallel pairs of a placement. `counted`: each is a mapping of its own, one empty list when there
/// are no pairs. An order of a pair is counted when `outer` is ratio * inner plus an integer combination of the other
/// directions, where these are the placed ones and the unit directions that complete them with least index, earliest
/// first. `others`: further orders that the definitions allow, with other residual directions: the inner ones and those
/// without a pair are independent. Both are empty when the pairs cannot be ordered.
struct OutputOrders {
  std::vector<std::vector<Order>> counted, others;
};
OutputOrders output_orders(const Alignment& alignment, const std::vector<Slot>& slots,
                           const std::vector<PlacedDirection>& placed);

}  // namespace isamap
