// SPDX-License-Identifier: Apache-2.0
// Do the digits of a layout tell every element of a tile from the others?

#include <fmt/format.h>

#include <algorithm>

#include "scheduler/stage_tile.h"
#include "support/arithmetic.h"

namespace isamap {
namespace {

// Digits (x / d) % m tell x modulo `known` when taken in the order of d: each continues where the ones before it end.
bool rebuild(std::vector<SplitDigit> digits, std::int64_t extent) {
  std::stable_sort(digits.begin(), digits.end(), [](const auto& a, const auto& b) { return a.divide < b.divide; });
  std::int64_t known = 1;
  for (const SplitDigit& digit : digits) {
    if (known % digit.divide != 0) continue;
    if (digit.modulo == 0) return true;
    known = std::max(known, checked_mul(digit.divide, digit.modulo).value_or(extent));
  }
  return known >= extent;
}

}  // namespace

std::string layout_refusal(const std::vector<LayoutDigit>& layout, const Instruction* instruction, const Tiles& tiles) {
  std::vector<std::pair<AffineExpr, std::vector<SplitDigit>>> forms;
  for (const LayoutDigit& digit : layout) {
    const auto split = split_digit(digit.index);
    if (!split) return fmt::format("layout digit {} is not of the form f, f/c, f%c or f/c%m", print(digit.index));
    const auto name = split->form.as_dim();
    const bool pseudo = name && name->front() == '$';
    if (pseudo && (!instruction || instruction->statement().domain.find(name->substr(1)) < 0))
      return "layout digit " + *name + " is no dim of the instruction";
    for (const std::string& n : split->form.names())
      if (!pseudo && !tiles.contains(n))
        return "layout digit " + print(digit.index) + ": " + n + " is no dim of the statement";
    const auto same = std::find_if(forms.begin(), forms.end(), [&](const auto& f) { return f.first == split->form; });
    if (same == forms.end())
      forms.push_back({split->form, {*split}});
    else
      same->second.push_back(*split);
  }
  for (const auto& [form, digits] : forms) {
    const auto name = form.as_dim();
    if (name && name->front() == '$') continue;  // copies: it matters to the instruction only
    const std::int64_t extent = range_over(form, tiles).extent;
    if (!rebuild(digits, extent))
      return fmt::format("the layout's digits of {} do not tell its {} values apart", print(form), extent);
  }
  return "";
}

}  // namespace isamap
