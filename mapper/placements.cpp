#include "mapper/placements.h"

#include <algorithm>
#include <bit>

namespace isamap {
namespace {

constexpr std::int64_t kMaxSteps = 300'000;

std::uint32_t bit(std::size_t i) { return std::uint32_t{1} << i; }

bool may_walk(OperandSet dim, OperandSet slot, Rule rule) {
  if (rule == Rule::access) return dim == slot;
  // Inputs may repeat along the slot (replicate); the output may not, or one element would have several slots.
  return (dim & ~slot) == 0 && (dim & 1U) == (slot & 1U);
}

/// Depth first over the statement's dims, for a fixed number of digits.
class Search {
 public:
  Search(const std::vector<Slot>& slots, std::size_t dims, std::int64_t limit, Placements& out)
      : slots_(slots), limit_(limit), out_(out), place_(dims, -1) {}

  void with_digits(int digits) { visit(0, digits, 0, 0); }
  bool stopped() const { return out_.limit_reached; }

 private:
  /// Must this slot still get a digit, given what is decided and how many digits are left?
  bool lacks(const Slot& slot, std::size_t s, std::size_t decided, int left, std::uint32_t filled,
             std::uint32_t placed) const {
    if ((filled >> s & 1U) != 0 || slot.empty == Slot::Empty::always) return false;
    if (slot.empty == Slot::Empty::never) return slot.stand_in < 0;
    const std::uint32_t before = bit(decided) - 1;
    if ((slot.reachable & before & ~placed) != 0) return true;
    return std::popcount(slot.reachable & ~before) > left;
  }

  bool hopeless(std::size_t decided, int left, std::uint32_t filled, std::uint32_t placed) const {
    int needed = 0;
    for (std::size_t s = 0; s < slots_.size(); ++s) {
      if (!lacks(slots_[s], s, decided, left, filled, placed)) continue;
      if ((slots_[s].walkable & ~(bit(decided) - 1)) == 0) return true;
      ++needed;
    }
    return needed > left;
  }

  void visit(std::size_t d, int left, std::uint32_t filled, std::uint32_t placed) {
    if (stopped()) return;
    if (++steps_ > kMaxSteps) {
      out_.limit_reached = true;
      return;
    }
    if (left > static_cast<int>(place_.size() - d) || hopeless(d, left, filled, placed)) return;
    if (d == place_.size()) {
      if (static_cast<std::int64_t>(out_.list.size()) >= limit_)
        out_.limit_reached = true;
      else
        out_.list.push_back(place_);
      return;
    }
    for (std::size_t s = 0; s < slots_.size() && left > 0; ++s) {
      if ((slots_[s].walkable >> d & 1U) == 0) continue;
      place_[d] = static_cast<int>(s);
      visit(d + 1, left - 1, filled | bit(s), placed | bit(d));
    }
    place_[d] = -1;
    visit(d + 1, left, filled, placed);
  }

  const std::vector<Slot>& slots_;
  std::int64_t limit_;
  Placements& out_;
  Placement place_;
  std::int64_t steps_ = 0;
};

}  // namespace

std::vector<Slot> slots_of(const Alignment& alignment, Rule rule) {
  std::vector<Slot> slots;
  const std::vector<Dim>& dims = alignment.computation().domain.dims;
  for (std::size_t m = 0; m < alignment.unit_uses.size(); ++m) {
    const auto same =
        std::find_if(slots.begin(), slots.end(), [&](const Slot& slot) { return slot.uses == alignment.unit_uses[m]; });
    if (same != slots.end()) {
      same->dims.push_back(static_cast<int>(m));
      continue;
    }
    Slot slot;
    slot.dims = {static_cast<int>(m)};
    slot.uses = alignment.unit_uses[m];
    slot.empty = rule == Rule::access ? Slot::Empty::never
                 : rule == Rule::full ? Slot::Empty::when_reachable_are_elsewhere
                                      : Slot::Empty::always;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      const OperandSet used = alignment.statement_uses[d];
      if (dims[d].extent == 1) {
        if (used == slot.uses && slot.stand_in < 0) slot.stand_in = static_cast<int>(d);
        continue;
      }
      if (may_walk(used, slot.uses, rule)) slot.walkable |= bit(d);
      if ((used & ~slot.uses) == 0) slot.reachable |= bit(d);
    }
    // Of its class only dims of extent 1 are there: the first stands for it. Else it must earn its digit.
    if (rule == Rule::access && slot.walkable != 0) slot.stand_in = -1;
    slots.push_back(slot);
  }
  return slots;
}

Placements place_directly(const std::vector<Slot>& slots, std::size_t dims, std::int64_t limit) {
  Placements placements;
  Search search(slots, dims, limit, placements);
  for (int digits = 0; digits <= static_cast<int>(dims) && !search.stopped(); ++digits) search.with_digits(digits);
  return placements;
}

}  // namespace isamap
