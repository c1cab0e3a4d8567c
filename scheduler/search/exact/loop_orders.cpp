// SPDX-License-Identifier: Apache-2.0
#include "scheduler/search/exact/loop_orders.h"

#include <algorithm>
#include <set>

namespace isamap::hierarchy {

namespace {

/// For each operand and each loop that may be free for it, the inner loops of the operand: possible single steps as
/// bits, any other as bit 31.
using Signature = std::array<std::array<std::uint32_t, max_dims>, max_operands>;

bool contained(const Signature& a, const Signature& b) {
  for (std::size_t o = 0; o < a.size(); ++o)
    for (std::size_t d = 0; d < a[o].size(); ++d)
      if ((b[o][d] >> 31) == 0 && (a[o][d] & ~b[o][d]) != 0) return false;
  return true;
}

}  // namespace

const std::vector<Order>& LoopOrders::of(std::uint32_t loops, std::uint32_t short_tails) {
  auto& orders = known_[{loops, short_tails}];
  if (orders.empty()) orders = make(loops, short_tails);
  return orders;
}

std::vector<Order> LoopOrders::make(std::uint32_t loops, std::uint32_t short_tails) const {
  const int dims = problem_.dim_count();
  std::vector<int> moving;
  Order order{};
  int n = 0;
  for (int d = 0; d < dims; ++d)
    if ((loops >> d & 1U) != 0)
      moving.push_back(d);
    else
      order[at(n++)] = static_cast<std::uint8_t>(d);
  std::vector<std::pair<Signature, Order>> found;
  std::set<Signature> seen;
  do {  // `moving`: outermost first
    Signature signature{};
    for (int o = 0; o < problem_.operand_count(); ++o) {
      const Operand& operand = problem_.operands[at(o)];
      std::uint32_t inside = 0;
      for (std::size_t i = moving.size(); i-- > 0;) {
        const int d = moving[i];
        bool window = false;
        for (const Subscript& s : operand.subscripts)
          for (const Term& term : s) window = window || (term.dim == d && s.size() > 1);
        if (!operand.uses(d) || (window && o > 0)) signature[at(o)][at(d)] = (inside >> 31) != 0 ? 1U << 31 : inside;
        if (operand.uses(d)) inside |= (short_tails >> d & 1U) != 0 ? 1U << d : 1U << 31;
      }
    }
    if (!seen.insert(signature).second) continue;
    for (std::size_t i = 0; i < moving.size(); ++i) order[at(n) + i] = static_cast<std::uint8_t>(moving[i]);
    found.emplace_back(signature, order);
  } while (std::next_permutation(moving.begin(), moving.end()));
  std::vector<Order> best;
  for (std::size_t i = 0; i < found.size(); ++i) {
    bool beaten = false;
    for (std::size_t j = 0; j < found.size() && !beaten; ++j)
      beaten = j != i && contained(found[j].first, found[i].first);
    if (!beaten) best.push_back(found[i].second);
  }
  return best;
}

}  // namespace isamap::hierarchy
