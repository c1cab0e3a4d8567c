// SPDX-License-Identifier: Apache-2.0
#include "planner/arena.h"

#include <algorithm>
#include <numeric>

#include "isamap/interpret.h"
#include "support/arithmetic.h"

namespace isamap {
namespace {

constexpr int random_orders = 200;

bool meet(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

std::int64_t largest_sum(const std::vector<Lifetime>& tensors) {
  std::size_t steps = 0;
  for (const Lifetime& t : tensors) steps = std::max(steps, t.last + 1);
  std::vector<std::int64_t> change(steps + 1, 0);
  for (const Lifetime& t : tensors) {
    change[t.first] += t.bytes;
    change[t.last + 1] -= t.bytes;
  }
  std::int64_t now = 0, most = 0;
  for (const std::int64_t by : change) most = std::max(most, now += by);
  return most;
}

/// Each tensor at the lowest free place, in this order.
Arena first_fit(const std::vector<Lifetime>& tensors, const std::vector<std::size_t>& order) {
  Arena arena;
  arena.at.assign(tensors.size(), 0);
  std::vector<std::size_t> placed;  // by offset
  for (const std::size_t t : order) {
    std::int64_t at = 0;
    for (const std::size_t other : placed) {
      if (!meet(tensors[t], tensors[other])) continue;
      if (at + tensors[t].bytes <= arena.at[other]) break;
      at = std::max(at, arena.at[other] + tensors[other].bytes);
    }
    arena.at[t] = at;
    arena.bytes = std::max(arena.bytes, at + tensors[t].bytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), t,
                                   [&](std::size_t a, std::size_t b) { return arena.at[a] < arena.at[b]; }),
                  t);
  }
  return arena;
}

template <class Key>
std::vector<std::size_t> sorted(std::size_t count, const Key& key) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) > key(b); });
  return order;
}

}  // namespace

Arena place_in_arena(const std::vector<Lifetime>& given, std::int64_t align) {
  std::vector<Lifetime> tensors = given;
  for (Lifetime& t : tensors) t.bytes = round_up(t.bytes, align);
  const std::size_t count = tensors.size();
  const auto length = [&](std::size_t t) { return static_cast<std::int64_t>(tensors[t].last - tensors[t].first + 1); };
  const std::vector<std::vector<std::size_t>> orders = {
      sorted(count, [&](std::size_t t) { return tensors[t].bytes; }),
      sorted(count, [&](std::size_t t) { return tensors[t].bytes * length(t); }),
      sorted(count, [&](std::size_t t) { return length(t); }),
      sorted(count, [&](std::size_t t) { return -static_cast<std::int64_t>(tensors[t].first); }),
  };
  const std::int64_t bound = largest_sum(tensors);
  Arena best;
  std::vector<std::size_t> order;
  for (const auto& one : orders) {
    Arena made = first_fit(tensors, one);
    if (!order.empty() && made.bytes >= best.bytes) continue;
    best = std::move(made);
    order = one;
  }
  Random random(0);
  for (int i = 0; i < random_orders && count > 1 && best.bytes > bound; ++i) {
    std::vector<std::size_t> changed = order;
    const auto any = [&] { return static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(count) - 1)); };
    for (std::int64_t swaps = random.between(1, 3); swaps > 0; --swaps) std::swap(changed[any()], changed[any()]);
    Arena made = first_fit(tensors, changed);
    if (made.bytes > best.bytes) continue;
    best = std::move(made);
    order = std::move(changed);
  }
  best.bound = bound;
  return best;
}

}  // namespace isamap
