// SPDX-License-Identifier: Apache-2.0
#include "mapper/digit_plans.h"

#include <algorithm>

#include "support/arithmetic.h"

namespace isamap {
namespace {

/// A digit before it is assigned to its dims.
struct PlannedDigit {
  PlacedDirection at;
  std::int64_t stride = 1;  ///< multiplies the column
  std::int64_t extent = 0;
  int pivot = -1;      ///< of a combined column: the coordinate that it determines
  bool exact = false;  ///< another digit continues where it ends, so its extent is fixed
};

std::int64_t extent_of(const Alignment& alignment, std::size_t d) {
  return alignment.computation().domain.dims[d].extent;
}

/// The coordinate that a combined column steps through: one whose unit direction moves the output alike, so that both
/// can share a chain; else the first without another digit; else the first.
std::size_t pivot_of(const std::vector<PlannedDigit>& digits, std::size_t l, const std::vector<Order>& orders) {
  const IntVector& column = digits[l].at.column;
  for (const Order& order : orders) {
    for (const auto& [mine, other] : {std::pair(order.inner, order.outer), std::pair(order.outer, order.inner)}) {
      const int unit = digits[static_cast<std::size_t>(other)].at.unit;
      if (static_cast<std::size_t>(mine) == l && unit >= 0 && column[static_cast<std::size_t>(unit)] != 0)
        return static_cast<std::size_t>(unit);
    }
  }
  std::size_t first = column.size();
  for (std::size_t d = column.size(); d-- > 0;) {
    if (column[d] == 0) continue;
    const bool stepped = std::any_of(digits.begin(), digits.end(),
                                     [&](const PlannedDigit& p) { return p.at.unit == static_cast<int>(d); });
    if (!stepped || first == column.size()) first = d;
  }
  return first;
}

/// Steps of one call along a placed direction if it has a dim to itself.
std::int64_t room(const Alignment& alignment, const Choices& choices, const PlannedDigit& digit) {
  if (digit.at.home.tied == 0) return choices.slots[static_cast<std::size_t>(digit.at.home.slot)].extent;
  std::int64_t least = INT64_MAX;
  for (std::size_t s = 0; s < choices.slots.size(); ++s)
    if ((digit.at.home.slots() >> s & 1U) != 0)
      least = std::min(least, instruction_extent(alignment, choices.slots[s].dims[0]));
  return least;
}

/// On a skewed unit the dims that the column shifts must hold the shifted window too: with s of extent S on a dim of E
/// and q - s on another, E - S + 1 steps of q - s fit into one call.
std::int64_t steps_that_fit(const Alignment& alignment, const Choices& choices, const std::vector<PlannedDigit>& digits,
                            std::size_t l, std::size_t pivot, std::int64_t most) {
  for (std::size_t d = 0; d < digits[l].at.column.size(); ++d) {
    const std::int64_t step = std::abs(digits[l].at.column[d]);
    if (step == 0 || d == pivot) continue;
    for (const PlannedDigit& other : digits) {
      if (other.at.unit != static_cast<int>(d)) continue;
      const bool alone = std::count_if(digits.begin(), digits.end(), [&](const PlannedDigit& p) {
                           return p.at.home.slot == other.at.home.slot;
                         }) == 1;
      const std::int64_t spare = room(alignment, choices, other) - extent_of(alignment, d);
      if (alone && spare >= step && spare / step + 1 < most) most = spare / step + 1;
    }
  }
  return most;
}

/// Signed so that the pivot grows: (q - s) or (s - q).
void turn(IntVector& column, std::size_t pivot) {
  if (column[pivot] >= 0) return;
  for (auto& x : column) x = -x;
}

/// The largest multiple of the column of which two steps fit into the box.
std::int64_t largest_stride(const Alignment& alignment, const IntVector& column) {
  std::int64_t largest = INT64_MAX;
  for (std::size_t d = 0; d < column.size(); ++d)
    if (column[d] != 0) largest = std::min(largest, (extent_of(alignment, d) - 1) / std::abs(column[d]));
  return largest;
}

/// Steps of the inner digit of a pair whose outer one continues where it ends: at most half of the dim where both step
/// through one dim, so that the outer digit has two steps.
std::int64_t inner_steps(const Alignment& alignment, const Choices& choices, const PlannedDigit& inner,
                         const PlannedDigit& outer) {
  const int unit = inner.at.unit >= 0 ? inner.at.unit : outer.at.unit;
  const std::int64_t way = unit >= 0 ? extent_of(alignment, static_cast<std::size_t>(unit)) : inner.extent;
  const std::int64_t half = std::max<std::int64_t>(ceil_div(way, 2), 2);
  return inner.at.unit >= 0 ? std::min({room(alignment, choices, inner), way, half}) : std::min(inner.extent, half);
}

/// Overrides for a digit of the rules below.
struct RequestedExtent {
  std::int64_t extent = 0;  ///< 0: by the rules
  int pivot = -1;
};

/// Extents of combined columns and of tied digits; strides of the outer digits of ordered pairs. `requested` extents
/// other than 0 override these rules. False where an outer digit has no room.
bool plan_tiles(const Alignment& alignment, const Choices& choices, const std::vector<Order>& orders,
                const std::vector<RequestedExtent>& requested, std::vector<PlannedDigit>& digits) {
  for (std::size_t l = 0; l < digits.size(); ++l) {
    PlannedDigit& digit = digits[l];
    if (digit.at.unit < 0) {
      const std::size_t pivot =
          requested[l].pivot >= 0 ? static_cast<std::size_t>(requested[l].pivot) : pivot_of(digits, l, orders);
      digit.pivot = static_cast<int>(pivot);
      turn(digit.at.column, pivot);
      const std::int64_t steps =
          ceil_div(std::max<std::int64_t>(extent_of(alignment, pivot), 1), digit.at.column[pivot]);
      digit.extent =
          steps_that_fit(alignment, choices, digits, l, pivot, std::min(room(alignment, choices, digit), steps));
    } else if (digit.at.home.tied != 0) {
      digit.extent =
          std::min(room(alignment, choices, digit), extent_of(alignment, static_cast<std::size_t>(digit.at.unit)));
    }
    if (requested[l].extent > 0) digit.extent = requested[l].extent;
  }
  for (const Order& order : orders) {
    const auto in = static_cast<std::size_t>(order.inner);
    PlannedDigit &inner = digits[in], &outer = digits[static_cast<std::size_t>(order.outer)];
    const std::int64_t ratio = std::abs(order.ratio);
    inner.exact = true;
    if (order.bounded) {
      const std::int64_t whole =
          inner.at.unit >= 0 ? extent_of(alignment, static_cast<std::size_t>(inner.at.unit)) : inner.extent;
      inner.extent = std::min(inner.extent > 0 ? inner.extent : whole, ratio);
      continue;
    }
    const std::int64_t tile =
        requested[in].extent > 0 ? requested[in].extent : inner_steps(alignment, choices, inner, outer);
    const std::int64_t per = std::abs(order.per), parts = ceil_div(tile, ratio);
    outer.stride = std::min(parts, largest_stride(alignment, outer.at.column) / per) * per;
    if (outer.stride < 1) return false;
    inner.extent = outer.stride / per * ratio;
  }
  return true;
}

/// Unit digits cover the remainder of their dim, and the window that combined columns shift over it.
void plan_loops(const Alignment& alignment, std::vector<PlannedDigit>& digits) {
  for (std::size_t l = 0; l < digits.size(); ++l) {
    PlannedDigit& digit = digits[l];
    if (digit.extent > 0 || (digit.at.unit < 0 && digit.stride == 1)) continue;
    const std::size_t d = static_cast<std::size_t>(digit.at.unit >= 0 ? digit.at.unit : digit.pivot);
    std::int64_t range = extent_of(alignment, d);
    for (std::size_t other = 0; other < digits.size() && range > 0; ++other) {
      if (other == l || digits[other].at.unit >= 0 || digits[other].pivot == static_cast<int>(d)) continue;
      range += std::abs(digits[other].at.column[d]) * digits[other].stride * (digits[other].extent - 1);
    }
    digit.extent = digit.at.unit >= 0 ? ceil_div(range, digit.stride) : digit.extent;
  }
}

/// A slot's digits, mostly the tied ones in front.
struct SlotDigits {
  std::vector<Digit> digits;
  std::size_t tied = 0;  ///< position after the last tied one
  bool exact = false;    ///< the last one must not grow
};

/// The part of a digit on an inner dim: the dim's extent; of an exact digit, a divisor of the digit's extent.
std::int64_t part_of(std::int64_t extent, std::int64_t room, bool exact) {
  std::int64_t part = std::min(extent, room);
  while (exact && part > 1 && extent % part != 0) --part;
  return part;
}

/// Assigns a slot's digits to its dims. A single dim gets all. Of several, each inner dim gets exactly its extent of
/// the last digit, which becomes a chain of strides 1, E, ...; the outermost dim gets the remainder, and the `tied`
/// digits in front, which are not cut.
void spread(const Alignment& alignment, const Slot& slot, SlotDigits here, Dims& dims) {
  if (here.digits.empty()) return;
  for (std::size_t i = slot.dims.size(); i-- > 1 && here.tied < here.digits.size();) {
    Digit& last = here.digits.back();
    const std::int64_t extent = part_of(last.extent, instruction_extent(alignment, slot.dims[i]), here.exact);
    if (here.exact && extent == 1) continue;
    dims[static_cast<std::size_t>(slot.dims[i])] = {{last.column, extent}};
    if (extent > 0) last = {last.column * extent, ceil_div(last.extent, extent)};
  }
  if (here.exact && here.digits.size() > 1 && here.digits.back().extent == 1) here.digits.pop_back();
  dims[static_cast<std::size_t>(slot.dims[0])] = std::move(here.digits);
}

}  // namespace

AffineExpr as_expression(const Alignment& alignment, const IntVector& column, std::int64_t stride) {
  AffineExpr e;
  for (std::size_t d = 0; d < column.size(); ++d) {
    if (column[d] == 0) continue;
    AffineExpr term = AffineExpr::dim(alignment.computation().domain.dims[d].name);
    if (column[d] * stride != 1) term = term * (column[d] * stride);
    if (e.is_constant())
      e = std::move(term);
    else
      e += term;
  }
  return e;
}

namespace {

SlotDigits digits_of(const Alignment& alignment, const Choices& choices, const std::vector<PlannedDigit>& planned,
                     std::size_t s, bool ties_first = true) {
  const Slot& slot = choices.slots[s];
  SlotDigits here;
  here.digits.reserve(planned.size() + 1);
  const auto add = [&](const PlannedDigit& p) {
    if ((p.at.home.slots() >> s & 1U) == 0) return;
    here.digits.push_back({as_expression(alignment, p.at.column, p.stride), p.extent});
    if (p.at.home.tied != 0) here.tied = here.digits.size();
    here.exact = p.exact;
  };
  for (const bool ties : {true, false})
    for (const PlannedDigit& p : planned)
      if (ties_first ? (p.at.home.tied != 0) == ties : ties) add(p);
  if (here.digits.empty() && slot.one_point_dim >= 0) {
    const Dim& dim = alignment.computation().domain.dims[static_cast<std::size_t>(slot.one_point_dim)];
    here.digits.push_back({AffineExpr::dim(dim.name), 1});
  }
  return here;
}

/// How digits are assigned: tied ones in front or in the given order; split over a slot's dims, or all on the first.
struct Layout {
  bool ties_first = true, spread = true;
};

Dims as_dims(const Alignment& alignment, const Choices& choices, const std::vector<PlannedDigit>& planned,
             Layout layout = {}) {
  Dims dims(alignment.instruction_uses.size());
  for (std::size_t s = 0; s < choices.slots.size(); ++s) {
    SlotDigits here = digits_of(alignment, choices, planned, s, layout.ties_first);
    if (!layout.spread) here.tied = here.digits.size();
    spread(alignment, choices.slots[s], std::move(here), dims);
  }
  return dims;
}

/// Does a subscript of the instruction sum several of its dims, as p + r of a convolution? Then the dim of a slot on
/// which a digit is placed matters; otherwise it is layout only.
bool couples_dims(const Computation& semantics) {
  for (int t = 0; t < access_count(semantics); ++t)
    for (const AffineExpr& index : access_of(semantics, t).index)
      if (index.names().size() > 1) return true;
  return false;
}

/// Every assignment of whole digits to separate dims, slot by slot from `s` on: p on p and q on q, or crosswise.
void seat(const Alignment& alignment, const Choices& choices, const std::vector<PlannedDigit>& planned, std::size_t s,
          const Dims& dims, std::vector<Dims>& out) {
  constexpr std::size_t max_seatings = 256;
  if (out.size() >= max_seatings) return;
  if (s == choices.slots.size()) return out.push_back(dims);
  const Slot& slot = choices.slots[s];
  SlotDigits here = digits_of(alignment, choices, planned, s);
  const std::size_t count = here.digits.size();
  if (slot.dims.size() == 1 || here.tied > 0 || count > slot.dims.size()) {
    Dims more = dims;
    spread(alignment, slot, std::move(here), more);
    return seat(alignment, choices, planned, s + 1, more, out);
  }
  std::vector<int> seats = slot.dims, before;
  std::sort(seats.begin(), seats.end());
  do {
    const std::vector<int> taken(seats.begin(), seats.begin() + static_cast<std::ptrdiff_t>(count));
    if (taken == before && count > 0) continue;  // the remaining dims stay empty
    before = taken;
    Dims more = dims;
    for (std::size_t d = 0; d < count; ++d) more[static_cast<std::size_t>(taken[d])] = {here.digits[d]};
    seat(alignment, choices, planned, s + 1, more, out);
    if (count == 0) return;
  } while (std::next_permutation(seats.begin(), seats.end()));
}

/// Unbounded orders of a pair whose outer digit is the combined column and moves the output no further.
bool may_turn(const std::vector<PlacedDirection>& placed, const Order& order) {
  return !order.bounded && std::abs(order.ratio) == 1 && placed[static_cast<std::size_t>(order.outer)].unit < 0 &&
         placed[static_cast<std::size_t>(order.inner)].unit >= 0;
}

/// Digits with extents and strides; nothing where one has extent 1 and all could be free instead.
std::optional<std::vector<PlannedDigit>> planned(const Alignment& alignment, const Choices& choices, const Plan& plan,
                                                 const std::vector<RequestedExtent>& requested) {
  std::vector<PlannedDigit> digits;
  digits.reserve(plan.placed.size());
  for (const PlacedDirection& at : plan.placed) digits.push_back({at});
  if (!plan_tiles(alignment, choices, plan.orders, requested, digits)) return std::nullopt;
  plan_loops(alignment, digits);
  const bool idle =
      std::any_of(digits.begin(), digits.end(), [](const PlannedDigit& digit) { return digit.extent == 1; });
  if (idle && plan.split) return std::nullopt;  // the mapping without that digit is listed
  return digits;
}

/// Extents to try, with any pivot: divisors of a statement dim of the column, or of an instruction dim that it is on.
std::vector<RequestedExtent> choices_to_try(const Alignment& alignment, const Choices& choices,
                                            const PlacedDirection& at) {
  constexpr std::int64_t largest_factor = 64;
  std::vector<std::int64_t> extents{0};  // by the rules
  const auto add_divisors = [&](std::int64_t n) {
    for (std::int64_t e = 2; e <= std::min(n, largest_factor); ++e)
      if (n % e == 0 && std::find(extents.begin(), extents.end(), e) == extents.end()) extents.push_back(e);
  };
  for (std::size_t d = 0; d < at.column.size(); ++d)
    if (at.column[d] != 0) add_divisors(extent_of(alignment, d));
  for (std::size_t s = 0; s < choices.slots.size(); ++s)
    if ((at.home.slots() >> s & 1U) != 0)
      for (const int m : choices.slots[s].dims) add_divisors(instruction_extent(alignment, m));
  std::vector<RequestedExtent> list;
  for (const std::int64_t e : extents) list.push_back({e, -1});
  for (std::size_t d = 0; d < at.column.size() && at.unit < 0; ++d)
    for (const std::int64_t e : extents)
      if (at.column[d] != 0) list.push_back({e, static_cast<int>(d)});
  return list;
}

/// Orders of digits: those that move coordinate d in front, so that tiles determine it (d = dims: combined ones in
/// front).
std::vector<PlannedDigit> in_front(std::vector<PlannedDigit> digits, std::size_t d) {
  std::stable_partition(digits.begin(), digits.end(), [&](const PlannedDigit& p) {
    return d < p.at.column.size() ? p.at.column[d] != 0 : p.at.unit < 0;
  });
  return digits;
}

}  // namespace

Plans plans_of(const Alignment& alignment, const Choices& choices, const Placement& placement, Rule rule) {
  std::vector<PlacedDirection> placed;
  placed.reserve(placement.size());
  for (std::size_t d = 0; d < placement.size(); ++d) {
    if (placement[d] < 0) continue;
    const Direction& direction = choices.directions[d];
    placed.push_back({direction.column, direction.homes[static_cast<std::size_t>(placement[d])], direction.unit});
  }
  const auto plan_with = [&placed](const std::vector<Order>& orders) {
    return Plan{placed, orders, !std::all_of(orders.begin(), orders.end(), [](const Order& o) { return o.bounded; })};
  };
  const OutputOrders found = output_orders(alignment, choices.slots, placed);
  Plans plans;
  for (const std::vector<Order>& orders : found.counted) {
    if (found.counted.size() == 1 && found.others.empty() && orders.empty())  // the common case: nothing to order
      return {{{Plan{std::move(placed), {}, false}}}, {}};
    Plan plan = plan_with(orders);
    if (rule != Rule::access || !plan.split) plans.entries.push_back({std::move(plan)});
  }
  if (rule == Rule::access) return plans;
  for (const std::vector<Order>& orders : found.others) plans.others.push_back(plan_with(orders));
  if (found.counted.size() != 1) return plans;
  // A pair of free columns with a single order may count the other way round: small steps for the combined column,
  // whose window then moves least.
  std::vector<Order> turned = found.counted[0];
  for (Order& order : turned)
    if (may_turn(placed, order)) std::swap(order.inner, order.outer);
  const auto same = std::find_if(plans.others.begin(), plans.others.end(), [&](const Plan& other) {
    return std::equal(other.orders.begin(), other.orders.end(), turned.begin(),
                      [](const Order& a, const Order& b) { return a.inner == b.inner; });
  });
  if (same == plans.others.end()) return plans;
  plans.entries[0].insert(plans.entries[0].begin(), std::move(*same));
  plans.others.erase(same);
  return plans;
}

std::vector<Dims> preferred_dims(const Alignment& alignment, const Choices& choices, const Plan& plan) {
  const auto digits = planned(alignment, choices, plan, std::vector<RequestedExtent>(plan.placed.size()));
  if (!digits) return {};
  if (!couples_dims(alignment.semantics())) return {as_dims(alignment, choices, *digits)};
  std::vector<Dims> seatings;
  seat(alignment, choices, *digits, 0, Dims(alignment.instruction_uses.size()), seatings);
  return seatings;
}

bool some_other_dims(const Alignment& alignment, const Choices& choices, const Plan& plan,
                     const std::function<bool(Dims&)>& take) {
  for (const PlacedDirection& at : plan.placed)
    if ((at.unit < 0 || at.home.tied != 0) && room(alignment, choices, {at}) <= 1) return false;
  constexpr int max_tries = 2048, no_room = 32;  // if a digit has extent 1, it mostly has in other orders too
  const std::size_t n = alignment.computation().domain.dims.size();
  int tries = max_tries;
  std::vector<std::vector<RequestedExtent>> lists;
  for (std::size_t l = 0; l < plan.placed.size(); ++l) {
    const PlacedDirection& at = plan.placed[l];
    const bool inner = std::any_of(plan.orders.begin(), plan.orders.end(),
                                   [&](const Order& order) { return order.inner == static_cast<int>(l); });
    const bool open = at.unit < 0 || at.home.tied != 0 || inner;
    lists.push_back(open ? choices_to_try(alignment, choices, at) : std::vector<RequestedExtent>(1));
  }
  std::vector<RequestedExtent> requested(plan.placed.size());
  const std::function<bool(std::size_t)> choose = [&](std::size_t l) {
    if (tries <= 0) return false;
    if (l < requested.size()) {
      return std::any_of(lists[l].begin(), lists[l].end(), [&](const RequestedExtent& one) {
        requested[l] = one;
        return choose(l + 1);
      });
    }
    const auto digits = planned(alignment, choices, plan, requested);
    if (!digits) {
      tries -= no_room;
      return false;
    }
    std::vector<Dims> seen;
    for (std::size_t d = 0; d <= n + 1; ++d) {
      for (const bool spread_out : {true, false}) {
        Dims dims = as_dims(alignment, choices, d == 0 ? *digits : in_front(*digits, d - 1), {d == 0, spread_out});
        if (std::find(seen.begin(), seen.end(), dims) != seen.end()) continue;
        seen.push_back(dims);
        if (--tries >= 0 && take(dims)) return true;
      }
    }
    return false;
  };
  return choose(0);
}

}  // namespace isamap
