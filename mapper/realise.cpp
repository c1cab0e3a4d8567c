#include "mapper/realise.h"

#include <algorithm>
#include <numeric>

#include "mapper/digit_orders.h"
#include "support/arithmetic.h"

namespace isamap {
namespace {

/// A digit before it is put on its dims.
struct Planned {
  PlacedDirection at;
  std::int64_t stride = 1;  ///< multiplies the column
  std::int64_t extent = 0;
};

std::int64_t extent_of(const Alignment& alignment, std::size_t d) {
  return alignment.computation().domain.dims[d].extent;
}

/// The coordinate that a combined column steps through: one whose unit direction moves the output alike, so that both
/// can share a chain; else the first that no other digit walks; else the first.
std::size_t pivot_of(const std::vector<Planned>& digits, std::size_t l, const std::vector<Order>& orders) {
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
    const bool walked =
        std::any_of(digits.begin(), digits.end(), [&](const Planned& p) { return p.at.unit == static_cast<int>(d); });
    if (!walked || first == column.size()) first = d;
  }
  return first;
}

/// How far a call of the instruction reaches along a placed direction if it has a dim for itself.
std::int64_t room(const Alignment& alignment, const Choices& choices, const Planned& digit) {
  const Slot& slot = choices.slots[static_cast<std::size_t>(digit.at.home.slot)];
  if (digit.at.home.tied < 0) return slot.extent;
  const Slot& tied = choices.slots[static_cast<std::size_t>(digit.at.home.tied)];
  return std::min(unit_extent(alignment, slot.dims[0]), unit_extent(alignment, tied.dims[0]));
}

/// On a skewed unit the dims that the column shifts have to hold the shifted window too: with s of extent S alone on a
/// dim of E and q - s beside it, E - S + 1 steps of q - s fit into one call.
std::int64_t steps_that_fit(const Alignment& alignment, const Choices& choices, const std::vector<Planned>& digits,
                            std::size_t l, std::size_t pivot, std::int64_t most) {
  for (std::size_t d = 0; d < digits[l].at.column.size(); ++d) {
    const std::int64_t step = std::abs(digits[l].at.column[d]);
    if (step == 0 || d == pivot) continue;
    for (const Planned& other : digits) {
      if (other.at.unit != static_cast<int>(d)) continue;
      const bool alone = std::count_if(digits.begin(), digits.end(),
                                       [&](const Planned& p) { return p.at.home.slot == other.at.home.slot; }) == 1;
      const std::int64_t spare = room(alignment, choices, other) - extent_of(alignment, d);
      if (alone && spare >= step && spare / step + 1 < most) most = spare / step + 1;
    }
  }
  return most;
}

/// Turned so that the pivot grows: (q - s) or (s - q).
void turn(IntVector& column, std::size_t pivot) {
  if (column[pivot] >= 0) return;
  for (auto& x : column) x = -x;
}

/// Steps of the unit digit of an ordered pair, or as many as the combined ones have.
std::int64_t whole_way(const Alignment& alignment, const Planned& inner, const Planned& outer) {
  const int unit = inner.at.unit >= 0 ? inner.at.unit : outer.at.unit;
  return unit >= 0 ? extent_of(alignment, static_cast<std::size_t>(unit)) : inner.extent;
}

/// Extents of combined columns and of tied digits; strides of the outer digits of ordered pairs.
void plan_tiles(const Alignment& alignment, const Choices& choices, const std::vector<Order>& orders,
                std::vector<Planned>& digits) {
  for (std::size_t l = 0; l < digits.size(); ++l) {
    Planned& digit = digits[l];
    if (digit.at.unit < 0) {
      const std::size_t pivot = pivot_of(digits, l, orders);
      turn(digit.at.column, pivot);
      const std::int64_t steps =
          ceil_div(std::max<std::int64_t>(extent_of(alignment, pivot), 1), digit.at.column[pivot]);
      digit.extent =
          steps_that_fit(alignment, choices, digits, l, pivot, std::min(room(alignment, choices, digit), steps));
    } else if (digit.at.home.tied >= 0) {
      digit.extent =
          std::min(room(alignment, choices, digit), extent_of(alignment, static_cast<std::size_t>(digit.at.unit)));
    }
  }
  for (const Order& order : orders) {
    Planned &inner = digits[static_cast<std::size_t>(order.inner)],
            &outer = digits[static_cast<std::size_t>(order.outer)];
    const std::int64_t ratio = std::abs(order.ratio);
    const std::int64_t whole =
        inner.at.unit >= 0 ? extent_of(alignment, static_cast<std::size_t>(inner.at.unit)) : inner.extent;
    if (order.bounded) {
      inner.extent = std::min(inner.extent > 0 ? inner.extent : whole, ratio);
      continue;
    }
    // At most half of the way, so that something is left for the outer digit to walk.
    const std::int64_t half = std::max<std::int64_t>(ceil_div(whole_way(alignment, inner, outer), 2), 1);
    const std::int64_t tile = std::min({inner.at.unit >= 0 ? room(alignment, choices, inner) : whole, whole, half});
    outer.stride = std::max<std::int64_t>(ceil_div(tile, ratio), 1);
    inner.extent = std::max<std::int64_t>(outer.stride * ratio, 1);
  }
}

/// Unit digits walk what is left of their dim, and the window that combined columns shift over it.
void plan_walks(const Alignment& alignment, std::vector<Planned>& digits, const std::vector<Order>& orders) {
  for (std::size_t l = 0; l < digits.size(); ++l) {
    Planned& digit = digits[l];
    if (digit.extent > 0 || (digit.at.unit < 0 && digit.stride == 1)) continue;
    const std::size_t d = digit.at.unit >= 0 ? static_cast<std::size_t>(digit.at.unit) : pivot_of(digits, l, orders);
    std::int64_t range = extent_of(alignment, d);
    for (std::size_t other = 0; other < digits.size() && range > 0; ++other) {
      if (other == l || digits[other].at.unit >= 0 || pivot_of(digits, other, orders) == d) continue;
      range += std::abs(digits[other].at.column[d]) * digits[other].stride * (digits[other].extent - 1);
    }
    digit.extent = digit.at.unit >= 0 ? ceil_div(range, digit.stride) : digit.extent;
  }
}

/// Puts a slot's digits on its dims. One dim takes them all. Of several, each inner dim takes exactly its extent from
/// the last digit, which becomes a chain of strides 1, E, ...; the outermost dim takes the rest, and the `tied` digits
/// in front, which are not cut.
void spread(const Alignment& alignment, const Slot& slot, std::vector<Digit> digits, std::size_t tied, Dims& dims) {
  if (digits.empty()) return;
  for (std::size_t i = slot.dims.size(); i-- > 1 && tied < digits.size();) {
    Digit& last = digits.back();
    const std::int64_t extent = std::min(last.extent, unit_extent(alignment, slot.dims[i]));
    dims[static_cast<std::size_t>(slot.dims[i])] = {{last.column, extent}};
    if (extent > 0) last = {last.column * extent, ceil_div(last.extent, extent)};
  }
  dims[static_cast<std::size_t>(slot.dims[0])] = std::move(digits);
}

AffineExpr as_expression(const Alignment& alignment, const IntVector& column, std::int64_t stride) {
  AffineExpr e;
  for (std::size_t d = 0; d < column.size(); ++d) {
    if (column[d] != 0) e += AffineExpr::dim(alignment.computation().domain.dims[d].name) * (column[d] * stride);
  }
  return e;
}

/// A slot's digits, the tied ones in front.
struct SlotDigits {
  std::vector<Digit> digits;
  std::size_t tied = 0;
};

SlotDigits digits_of(const Alignment& alignment, const Choices& choices, const std::vector<Planned>& planned,
                     std::size_t s) {
  const Slot& slot = choices.slots[s];
  SlotDigits here;
  for (const bool ties : {true, false}) {
    for (const Planned& p : planned) {
      const bool mine = p.at.home.slot == static_cast<int>(s) || p.at.home.tied == static_cast<int>(s);
      if (mine && (p.at.home.tied >= 0) == ties)
        here.digits.push_back({as_expression(alignment, p.at.column, p.stride), p.extent});
    }
    if (ties) here.tied = here.digits.size();
  }
  if (here.digits.empty() && slot.stand_in >= 0) {
    const Dim& dim = alignment.computation().domain.dims[static_cast<std::size_t>(slot.stand_in)];
    here.digits.push_back({AffineExpr::dim(dim.name), 1});
  }
  return here;
}

Dims as_dims(const Alignment& alignment, const Choices& choices, const std::vector<Planned>& planned) {
  Dims dims(alignment.unit_uses.size());
  for (std::size_t s = 0; s < choices.slots.size(); ++s) {
    SlotDigits here = digits_of(alignment, choices, planned, s);
    spread(alignment, choices.slots[s], std::move(here.digits), here.tied, dims);
  }
  return dims;
}

/// Does a subscript of the instruction add up several of its dims, as p + r of a convolution does? Then it matters
/// which dim of a slot a digit walks; otherwise that is a matter of layout only.
bool couples_dims(const Computation& unit) {
  for (int t = 0; t < access_count(unit); ++t)
    for (const AffineExpr& index : access_of(unit, t).index)
      if (index.names().size() > 1) return true;
  return false;
}

/// Every way to put whole digits on dims of their own, slot by slot from `s` on: p on p and q on q, or crosswise.
void seat(const Alignment& alignment, const Choices& choices, const std::vector<Planned>& planned, std::size_t s,
          const Dims& dims, std::vector<Dims>& out) {
  constexpr std::size_t kMaxSeatings = 256;
  if (out.size() >= kMaxSeatings) return;
  if (s == choices.slots.size()) return out.push_back(dims);
  const Slot& slot = choices.slots[s];
  SlotDigits here = digits_of(alignment, choices, planned, s);
  const std::size_t count = here.digits.size();
  if (slot.dims.size() == 1 || here.tied > 0 || count > slot.dims.size()) {
    Dims more = dims;
    spread(alignment, slot, std::move(here.digits), here.tied, more);
    return seat(alignment, choices, planned, s + 1, more, out);
  }
  std::vector<int> seats = slot.dims, before;
  std::sort(seats.begin(), seats.end());
  do {
    const std::vector<int> taken(seats.begin(), seats.begin() + static_cast<std::ptrdiff_t>(count));
    if (taken == before && count > 0) continue;  // the rest of the permutation stays empty
    before = taken;
    Dims more = dims;
    for (std::size_t d = 0; d < count; ++d) more[static_cast<std::size_t>(taken[d])] = {here.digits[d]};
    seat(alignment, choices, planned, s + 1, more, out);
    if (count == 0) return;
  } while (std::next_permutation(seats.begin(), seats.end()));
}

/// A pair with one order only, of free columns, may as well count the other way round: small steps for the combined
/// column, whose window then moves least.
void prefer_small_skews(const std::vector<PlacedDirection>& placed, std::vector<std::vector<Order>>& variants) {
  if (variants.size() != 1) return;
  for (Order& order : variants[0]) {
    const bool skew_outer = placed[static_cast<std::size_t>(order.outer)].unit < 0 &&
                            placed[static_cast<std::size_t>(order.inner)].unit >= 0;
    if (!order.bounded && skew_outer && std::abs(order.ratio) == 1) std::swap(order.inner, order.outer);
  }
}

std::vector<std::string> residual_dims(const Alignment& alignment, const std::vector<Walker>& walkers,
                                       const Cover& cover) {
  const std::vector<Dim>& dims = alignment.computation().domain.dims;
  std::vector<bool> outer(dims.size(), true);
  for (const Walker& walker : walkers) {
    for (std::size_t d = 0; d < dims.size(); ++d)
      if (walker.column[d] != 0) outer[d] = false;
  }
  for (const Cover::Loop& loop : cover.loops) {
    for (std::size_t d = 0; d < dims.size(); ++d)
      if (loop.step[d] != 0 && loop.extent != 1) outer[d] = true;
  }
  std::vector<std::string> names;
  for (std::size_t d = 0; d < dims.size(); ++d)
    if (outer[d]) names.push_back(dims[d].name);
  return names;
}

std::string refusal_of(const Alignment& alignment, const Padding& padding, const std::vector<Walker>& walkers) {
  const std::string body = "the " + std::string(symbol(alignment.unit().reduction)) + " of this body";
  if (padding.fill < 0) {
    return "no operand tells the points beyond " + padding.reason + " apart, and " + body + " needs one that does";
  }
  const std::string dim = alignment.unit().domain.dims[static_cast<std::size_t>(padding.fill)].name;
  const std::int64_t needed = unit_extent(alignment, padding.fill), found = walked_extent(walkers, padding.fill);
  return "instruction dim " + dim + " takes " + std::to_string(needed) + ", its digits have " + std::to_string(found) +
         ", and no constant in an operand that uses " + dim + " makes the surplus vanish under " + body +
         "; a multiple of " + std::to_string(needed) + " would work";
}

/// An instruction that writes its output anew at each call has to add up everything in one.
std::string overwritten(const Alignment& alignment, const std::vector<Walker>& walkers, const Cover& cover) {
  if (!alignment.exact || !alignment.exact->overwrites) return "";
  const std::string text = "each call writes " + alignment.unit_tensor_name(0) + " anew, so one call has to add up all";
  for (std::size_t m = 0; m < alignment.unit_uses.size(); ++m) {
    const auto dim = static_cast<int>(m);
    const std::int64_t walked = walked_extent(walkers, dim), holds = unit_extent(alignment, dim);
    if ((alignment.unit_uses[m] & 1U) == 0 && walked > holds)
      return text + ": instruction dim " + alignment.unit().domain.dims[m].name + " takes " + std::to_string(holds) +
             ", and " + std::to_string(walked) + " would be walked";
  }
  for (const Cover::Loop& loop : cover.loops) {
    if (loop.extent > 1 && stands_still(alignment, 0, loop.step))
      return text + ", and a loop over " + print(as_expression(alignment, loop.step, 1)) + " is left over";
  }
  return "";
}

/// Multiples of one another, both not zero.
bool parallel(const IntVector& a, const IntVector& b) {
  const auto i =
      static_cast<std::size_t>(std::find_if(a.begin(), a.end(), [](std::int64_t x) { return x != 0; }) - a.begin());
  for (std::size_t j = 0; j < a.size(); ++j)
    if (static_cast<__int128>(a[i]) * b[j] != static_cast<__int128>(a[j]) * b[i]) return false;
  return true;
}

/// Does another instruction dim walk the same column in other steps?
bool is_split(const std::vector<Walker>& walkers, const Walker& walker) {
  return std::any_of(walkers.begin(), walkers.end(), [&](const Walker& other) {
    return other.dims() != walker.dims() && parallel(walker.column, other.column);
  });
}

/// What a mapping uses beyond plain axes.
std::set<Kind> kinds_of(const Alignment& alignment, const std::vector<Walker>& walkers) {
  std::set<Kind> kinds;
  std::uint32_t walked = 0;
  for (const Walker& walker : walkers) {
    walked |= walker.dims();
    if (walker.places.size() > 1) kinds.insert(Kind::block_diagonal);
    int moved = 0;
    for (const std::int64_t step : walker.column) moved += step != 0 ? 1 : 0;
    if (moved > 1) kinds.insert(Kind::skew);
    if (is_split(walkers, walker)) kinds.insert(Kind::split);
    OperandSet slots = 0;
    for (const Walker::Place& place : walker.places) slots |= alignment.unit_uses[static_cast<std::size_t>(place.dim)];
    for (int t = 0; t < alignment.operand_count(); ++t) {
      if (walker.extent > 1 && (slots >> t & 1U) != 0 && stands_still(alignment, t, walker.column))
        kinds.insert(t == 0 ? Kind::partial : Kind::replicate);
    }
  }
  for (std::size_t m = 0; m < alignment.unit_uses.size(); ++m)
    if ((walked >> m & 1U) == 0) kinds.insert(Kind::virtual_dim);
  if (!in_written_order(alignment.operands)) kinds.insert(Kind::exchange);
  if (alignment.constant) kinds.insert(Kind::constant);
  return kinds;
}

}  // namespace

std::vector<Realised> realise(const Alignment& alignment, const Choices& choices, const Placement& placement,
                              Rule rule) {
  std::vector<PlacedDirection> placed;
  for (std::size_t d = 0; d < placement.size(); ++d) {
    if (placement[d] < 0) continue;
    const Direction& direction = choices.directions[d];
    placed.push_back({direction.column, direction.homes[static_cast<std::size_t>(placement[d])], direction.unit});
  }
  std::vector<std::vector<Order>> variants = output_orders(alignment, choices.slots, placed);
  prefer_small_skews(placed, variants);
  std::vector<Realised> result;
  for (const std::vector<Order>& orders : variants) {
    const bool unit_columns =
        std::all_of(orders.begin(), orders.end(), [](const Order& order) { return order.bounded; });
    if (rule == Rule::access && !unit_columns) continue;
    std::vector<Planned> digits;
    for (const PlacedDirection& at : placed) digits.push_back({at});
    plan_tiles(alignment, choices, orders, digits);
    plan_walks(alignment, digits, orders);
    const bool idle = std::any_of(digits.begin(), digits.end(), [](const Planned& digit) { return digit.extent == 1; });
    if (idle && !unit_columns) continue;  // the same mapping without that digit is listed
    if (!couples_dims(alignment.unit())) {
      result.push_back({as_dims(alignment, choices, digits), !unit_columns});
      continue;
    }
    std::vector<Dims> seatings;
    seat(alignment, choices, digits, 0, Dims(alignment.unit_uses.size()), seatings);
    for (Dims& dims : seatings) result.push_back({std::move(dims), !unit_columns});
  }
  return result;
}

Judged judge(const Alignment& alignment, Realised realised, const std::vector<Kill>& kills) {
  const auto walkers = walkers_of(alignment, realised.dims);
  if (!walkers) return {std::nullopt, "the digits of a dim have more than 2^63 counts"};
  const Truth slots = sound(alignment, *walkers), elements = no_partials(alignment, *walkers);
  const std::string several = "one slot of an operand would hold several elements";
  if (slots == Truth::no && !alignment.projection) return {std::nullopt, several};  // most seatings: asked first
  const auto cover = exact_cover(alignment, *walkers);
  if (!cover) return {std::nullopt, "digits and residual loops form no radix chain"};
  if (slots == Truth::no) return {std::nullopt, several};
  if (elements == Truth::no) {
    return {std::nullopt, "two digits move " + alignment.tensor_name(0) +
                              " along one direction, so an element would have several slots (partial sums)"};
  }
  if (std::string refusal = overwritten(alignment, *walkers, *cover); !refusal.empty())
    return {std::nullopt, std::move(refusal)};
  Neutral neutral = neutralise(alignment, paddings(alignment, *walkers, *cover), kills);
  if (neutral.uncarried) return {std::nullopt, refusal_of(alignment, *neutral.uncarried, *walkers)};
  Mapping mapping;
  mapping.statement = alignment.statement;
  mapping.instruction = alignment.instruction;
  mapping.operands = alignment.operands;
  mapping.constant = alignment.constant;
  mapping.kinds = kinds_of(alignment, *walkers);
  if (realised.split) mapping.kinds.insert(Kind::split);
  if (mapping.kinds.empty()) mapping.kinds.insert(Kind::axis);
  mapping.carriers = std::move(neutral.carriers);
  mapping.needs = std::move(neutral.needs);
  if (alignment.exact) {
    mapping.needs.insert(mapping.needs.end(), alignment.exact->needs.begin(), alignment.exact->needs.end());
    if (alignment.exact->rolled) mapping.rolled = {alignment.unit().domain.dims.back()};
  }
  mapping.outer = residual_dims(alignment, *walkers, *cover);
  mapping.utilisation = utilisation(alignment, *walkers, *cover);
  mapping.proof = slots == Truth::yes && elements == Truth::yes ? Proof::proved : Proof::unknown;
  mapping.dims = std::move(realised.dims);
  for (const Cover::Loop& loop : cover->loops)
    mapping.loops.push_back({as_expression(alignment, loop.step, 1), loop.extent, loop.floating});
  return {std::move(mapping), ""};
}

}  // namespace isamap
