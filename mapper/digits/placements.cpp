// SPDX-License-Identifier: Apache-2.0
#include "mapper/digits/placements.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "support/arithmetic.h"

namespace isamap {
namespace {

constexpr std::size_t max_directions = 64;

DirectionSet bit(std::size_t i) { return DirectionSet{1} << i; }

/// Depth first over directions, for a fixed number of digits.
class Search {
 public:
  Search(const Choices& choices, std::int64_t steps, const std::function<bool(const Placement&)>& take)
      : choices_(choices), steps_left_(steps), take_(take), place_(choices.directions.size(), -1) {}

  void with_digits(int digits) { visit(0, digits, {}); }
  bool cut() const { return steps_left_ < 0; }
  bool over() const { return stopped_ || cut(); }

 private:
  struct State {
    SlotSet filled = 0, partial = 0;
    DirectionSet placed = 0;
    std::size_t ties = 0;
  };

  /// Must this slot still get a digit, given the decided homes and the number of digits left?
  bool lacks(std::size_t s, std::size_t decided, int left, const State& state) const {
    const Slot& slot = choices_.slots[s];
    if ((state.filled >> s & 1U) != 0 || slot.empty == Slot::Empty::always) return false;
    if (slot.empty == Slot::Empty::never) return slot.one_point_dim < 0;
    const DirectionSet before = decided < 64 ? bit(decided) - 1 : ~DirectionSet{0};
    if ((slot.reachable & before & ~state.placed) != 0) return true;
    return std::popcount(slot.reachable & ~before) > left;
  }

  bool hopeless(std::size_t decided, int left, const State& state) const {
    const DirectionSet before = decided < 64 ? bit(decided) - 1 : ~DirectionSet{0};
    int needed = 0;
    for (std::size_t s = 0; s < choices_.slots.size(); ++s) {
      if (!lacks(s, decided, left, state)) continue;
      if ((choices_.slots[s].assignable & ~before) == 0) return true;
      ++needed;
    }
    return needed > (state.ties < choices_.max_ties ? static_cast<int>(choices_.largest_tie) * left : left);
  }

  void visit(std::size_t d, int left, State state) {
    if (over() || --steps_left_ < 0) return;
    if (left > static_cast<int>(place_.size() - d) || hopeless(d, left, state)) return;
    if (d == place_.size()) {
      stopped_ = !take_(place_);
      return;
    }
    const std::vector<Home>& homes = choices_.directions[d].homes;
    for (std::size_t h = 0; h < homes.size() && left > 0; ++h) {
      const Home& home = homes[h];
      State next = state;
      next.filled |= home.slots();
      if (home.tied != 0 && ++next.ties > choices_.max_ties) continue;
      if (home.partial) {
        if ((state.partial >> home.slot & 1U) != 0) continue;  // one for each slot
        next.partial |= SlotSet{1} << home.slot;
      }
      next.placed |= bit(d);
      place_[d] = static_cast<int>(h);
      visit(d + 1, left - 1, next);
    }
    place_[d] = -1;
    visit(d + 1, left, state);
  }

  const Choices& choices_;
  std::int64_t steps_left_;
  const std::function<bool(const Placement&)>& take_;
  Placement place_;
  bool stopped_ = false;
};

bool uses(OperandSet set, int t) { return (set >> t & 1U) != 0; }

/// Is every operand outside the set invariant along the column?
bool within(const Alignment& alignment, const IntVector& column, OperandSet set) {
  for (int t = 0; t < alignment.operand_count(); ++t) {
    if (!uses(set, t) && !is_invariant(alignment, t, column)) return false;
  }
  return true;
}

/// Equations of the columns along which operands outside `set` are invariant, without dims of extent 1.
std::vector<IntVector> equations(const Alignment& alignment, OperandSet set) {
  const std::vector<Dim>& dims = alignment.computation().domain.dims;
  std::vector<IntVector> rows;
  const auto fix = [&](std::size_t d) {
    rows.emplace_back(dims.size(), 0);
    rows.back()[d] = 1;
  };
  for (std::size_t d = 0; d < dims.size(); ++d)
    if (dims[d].extent == 1) fix(d);
  for (int t = 0; t < alignment.operand_count(); ++t) {
    if (uses(set, t)) continue;
    for (const IndexRow& row : alignment.rows[static_cast<std::size_t>(t)]) {
      if (row.linear) {
        rows.emplace_back(row.coefficients.begin(), row.coefficients.end());
        continue;
      }
      for (std::size_t d = 0; d < dims.size(); ++d)
        if ((row.dims >> d & 1U) != 0) fix(d);
    }
  }
  return rows;
}

std::vector<Slot> slots_of(const Alignment& alignment, Rule rule) {
  std::vector<Slot> slots;
  for (std::size_t m = 0; m < alignment.instruction_uses.size(); ++m) {
    auto same = std::find_if(slots.begin(), slots.end(),
                             [&](const Slot& slot) { return slot.uses == alignment.instruction_uses[m]; });
    if (same == slots.end()) {
      same = slots.insert(slots.end(), Slot{});
      same->uses = alignment.instruction_uses[m];
      same->empty = rule == Rule::access ? Slot::Empty::never
                    : rule == Rule::full ? Slot::Empty::when_reachable_are_elsewhere
                                         : Slot::Empty::always;
    }
    same->dims.push_back(static_cast<int>(m));
    same->extent = checked_mul(same->extent, instruction_extent(alignment, static_cast<int>(m))).value_or(INT64_MAX);
  }
  return slots;
}

/// Unit directions of dims that have more than one step; for `access` and for instructions whose indices are sums the
/// use sets decide (for projections they are equivalent to the equations).
void add_units(const Alignment& alignment, Rule rule, Choices& choices) {
  const std::vector<Dim>& dims = alignment.computation().domain.dims;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const OperandSet used = alignment.statement_uses[d];
    if (dims[d].extent == 1) {
      for (Slot& slot : choices.slots)
        if (used == slot.uses && slot.one_point_dim < 0) slot.one_point_dim = static_cast<int>(d);
      continue;
    }
    Direction direction;
    direction.unit = static_cast<int>(d);
    direction.column.assign(dims.size(), 0);
    direction.column[d] = 1;
    for (std::size_t s = 0; s < choices.slots.size(); ++s) {
      Slot& slot = choices.slots[s];
      if ((used & ~slot.uses) != 0) continue;
      slot.reachable |= bit(choices.directions.size());
      // Inputs may repeat along the slot (replicate); if the output does, its elements have several slots (partial).
      if (rule == Rule::access ? used == slot.uses : (used & 1U) == (slot.uses & 1U))
        direction.homes.push_back({static_cast<int>(s), 0, false});
    }
    choices.directions.push_back(std::move(direction));
  }
}

void note_hunger(const Alignment& alignment, Choices& choices) {
  for (std::size_t s = 0; s < choices.slots.size(); ++s) {
    std::int64_t fill = 1;
    for (const Direction& direction : choices.directions) {
      const bool here = std::any_of(direction.homes.begin(), direction.homes.end(),
                                    [&](const Home& home) { return home.slot == static_cast<int>(s); });
      if (!here) continue;
      const std::int64_t extent = alignment.computation().domain.dims[static_cast<std::size_t>(direction.unit)].extent;
      fill = checked_mul(fill, std::max<std::int64_t>(extent, 1)).value_or(INT64_MAX);
    }
    choices.slots[s].underfilled = fill < choices.slots[s].extent;
  }
}

/// A unit direction that fits no single slot may be tied to several: their diagonal, of as few slots as possible.
void add_ties(const Alignment& alignment, Rule rule, Choices& choices) {
  constexpr std::size_t max_slots = 12;
  const std::size_t count = choices.slots.size();
  if (count > max_slots) choices.complete = false;
  if (count > max_slots) return;
  const auto uses_of = [&](SlotSet set) {
    OperandSet all = 0;
    for (std::size_t s = 0; s < count; ++s)
      if ((set >> s & 1U) != 0) all |= choices.slots[s].uses;
    return all;
  };
  const auto any_hungry = [&](SlotSet set) {
    for (std::size_t s = 0; s < count; ++s)
      if ((set >> s & 1U) != 0 && choices.slots[s].underfilled) return true;
    return false;
  };
  for (Direction& direction : choices.directions) {
    bool reaches = false;
    for (std::size_t size = 1; size <= count && !reaches; ++size) {
      for (SlotSet set = 1; set < SlotSet{1} << count; ++set) {
        if (static_cast<std::size_t>(std::popcount(set)) != size) continue;
        const OperandSet all = uses_of(set);
        if (!within(alignment, direction.column, all)) continue;
        reaches = true;
        const bool output_moves = !is_invariant(alignment, 0, direction.column);
        if (size == 1 || output_moves != uses(all, 0) || (rule == Rule::full && !any_hungry(set))) continue;
        const SlotSet first = set & ~(set - 1);
        direction.homes.push_back({std::countr_zero(first), set & ~first, false});
        choices.largest_tie = std::max(choices.largest_tie, size);
      }
    }
  }
}

/// Are there two points of the box one step apart?
bool has_two_steps(const Alignment& alignment, const IntVector& column) {
  const std::vector<Dim>& dims = alignment.computation().domain.dims;
  for (std::size_t d = 0; d < column.size(); ++d)
    if (column[d] != 0 && std::abs(column[d]) >= dims[d].extent) return false;
  return true;
}

/// Minimal combinations of several dims: banded operands.
void add_skews(const Alignment& alignment, Rule rule, Choices& choices) {
  const std::size_t n = alignment.computation().domain.dims.size();
  const std::size_t units = choices.directions.size();
  for (std::size_t s = 0; s < choices.slots.size(); ++s) {
    const Slot& slot = choices.slots[s];
    if (rule == Rule::full && !slot.underfilled) continue;
    const GraverBasis basis = graver_basis(equations(alignment, slot.uses), n);
    choices.complete = choices.complete && basis.complete;
    for (const IntVector& column : basis.vectors) {
      if (std::count_if(column.begin(), column.end(), [](std::int64_t x) { return x != 0; }) < 2) continue;
      if (uses(slot.uses, 0) && is_invariant(alignment, 0, column)) continue;
      if (!has_two_steps(alignment, column)) continue;
      auto found = std::find_if(choices.directions.begin() + static_cast<std::ptrdiff_t>(units),
                                choices.directions.end(), [&](const Direction& d) { return d.column == column; });
      if (found == choices.directions.end()) {
        if (choices.directions.size() >= max_directions) {
          choices.complete = false;
          break;
        }
        found = choices.directions.insert(choices.directions.end(), {column, -1, {}});
      }
      found->homes.push_back({static_cast<int>(s), 0, false});
    }
  }
}

/// Where no direction fits an output dim of the instruction, a sum may be distributed over it as partial sums.
void add_partials(const Alignment& alignment, Choices& choices) {
  const Reduction reduction = alignment.semantics().reduction;
  if (reduction == Reduction::assign) return;
  for (std::size_t s = 0; s < choices.slots.size(); ++s) {
    if (!uses(choices.slots[s].uses, 0)) continue;
    const bool assignable = std::any_of(choices.directions.begin(), choices.directions.end(), [&](const Direction& d) {
      return std::any_of(d.homes.begin(), d.homes.end(),
                         [&](const Home& home) { return (home.slots() >> s & 1U) != 0; });
    });
    if (assignable) continue;
    for (std::size_t d = 0; d < choices.directions.size(); ++d) {
      if ((choices.slots[s].reachable & bit(d)) != 0)
        choices.directions[d].homes.push_back({static_cast<int>(s), 0, true});
    }
  }
}

}  // namespace

Choices choices_of(const Alignment& alignment, Rule rule) {
  Choices choices;
  choices.slots = slots_of(alignment, rule);
  add_units(alignment, rule, choices);
  note_hunger(alignment, choices);
  if (rule != Rule::access && alignment.projection) {
    choices.max_ties = rule == Rule::full ? 1 : choices.directions.size();
    add_ties(alignment, rule, choices);
    add_skews(alignment, rule, choices);
    add_partials(alignment, choices);
  }
  for (std::size_t d = 0; d < choices.directions.size(); ++d) {
    for (const Home& home : choices.directions[d].homes) {
      for (std::size_t s = 0; s < choices.slots.size(); ++s)
        if ((home.slots() >> s & 1U) != 0) choices.slots[s].assignable |= bit(d);
    }
  }
  // If its class has only dims of extent 1, the first represents it. Otherwise it needs a digit of extent above 1.
  for (Slot& slot : choices.slots)
    if (rule == Rule::access && slot.assignable != 0) slot.one_point_dim = -1;
  return choices;
}

bool each_placement(const Choices& choices, std::int64_t steps, const std::function<bool(const Placement&)>& take) {
  Search search(choices, steps, take);
  for (int digits = 0; digits <= static_cast<int>(choices.directions.size()) && !search.over(); ++digits)
    search.with_digits(digits);
  return !search.cut();
}

}  // namespace isamap
