#pragma once
// Two digits that move the output along one direction: p and p - r in O[p], p and r in O[2*p + r].
//
// One element of the output must have one slot, so such a pair has to count like two digits of one number: the inner
// one makes the small steps, the outer one steps over all of them. Or, where one step of w is |c| > 1 steps of u and
// both are free, u is cut to |c| steps. Three digits along one direction are not combined.

#include <optional>
#include <vector>

#include "mapper/placements.h"

namespace isamap {

struct PlacedDirection {
  IntVector column;
  Home home;
  int unit = -1;
};

/// One step of `outer` moves the output like `ratio` steps of `inner`.
struct Order {
  int inner = 0, outer = 0;  ///< positions in the list of placed directions
  std::int64_t ratio = 1;
  bool bounded = false;  ///< `inner` is cut to the ratio; else `outer` steps over all of `inner`
};

/// Every way to order the parallel pairs of a placement; one empty list when there are none; nothing when they cannot
/// be ordered. An order of a pair is listed when `outer` is ratio * inner plus an integer combination of the other
/// directions (those placed and the unit directions that complete them), so that the cover stays exact.
std::vector<std::vector<Order>> output_orders(const Alignment& alignment, const std::vector<Slot>& slots,
                                              const std::vector<PlacedDirection>& placed);

}  // namespace isamap
