// SPDX-License-Identifier: Apache-2.0
#include "mapper/advice/reasons.h"

#include <bit>

namespace isamap {
namespace {

std::string instruction_dim_names(const Alignment& alignment, const Slot& slot) {
  std::string text;
  for (const int m : slot.dims) {
    text += (text.empty() ? "" : " and ") + alignment.semantics().domain.dims[static_cast<std::size_t>(m)].name;
  }
  return text;
}

/// The statement's dim whose use set differs in the fewest operands.
int nearest_dim(const Alignment& alignment, const Slot& slot) {
  int best = -1, distance = most_operands + 1;
  for (std::size_t d = 0; d < alignment.statement_uses.size(); ++d) {
    const int here = std::popcount(alignment.statement_uses[d] ^ slot.uses);
    if (here < distance) {
      distance = here;
      best = static_cast<int>(d);
    }
  }
  return best;
}

std::string dim_names(const Alignment& alignment, const Choices& choices, DirectionSet set) {
  std::string text;
  for (std::size_t d = 0; d < choices.directions.size(); ++d) {
    const int unit = choices.directions[d].unit;
    if ((set >> d & 1U) == 0 || unit < 0) continue;
    text += (text.empty() ? "" : ", ") + alignment.computation().domain.dims[static_cast<std::size_t>(unit)].name;
  }
  return text;
}

std::string access_reason(const Alignment& alignment, const Slot& slot) {
  std::string text = "no dim is used by " + in_words(alignment, slot.uses) + " only, so instruction dim " +
                     instruction_dim_names(alignment, slot) + " has nothing to run over";
  const int near = nearest_dim(alignment, slot);
  if (near >= 0) {
    text += "; nearest is " + alignment.computation().domain.dims[static_cast<std::size_t>(near)].name + ", used by " +
            in_words(alignment, alignment.statement_uses[static_cast<std::size_t>(near)]);
  }
  if (slot.reachable == 0)
    return text + "; rule full leaves " + instruction_dim_names(alignment, slot) + " virtual (filled up)";
  if (near >= 0) text += "; rule full also repeats inputs along a dim";
  return text;
}

std::string full_reason(const Alignment& alignment, const Choices& choices, const Slot& slot) {
  const std::string name = instruction_dim_names(alignment, slot);
  std::string text = "instruction dim " + name + " has nothing to run over";
  const DirectionSet sums = slot.reachable & ~slot.assignable;
  if (sums != 0) {
    text += ": " + dim_names(alignment, choices, sums) + " would keep the operands without " + name +
            " in place, but " + alignment.tensor_name(0) + " does not have " + dim_names(alignment, choices, sums) +
            " as " + alignment.operand_name(0) + " has " + name + ", so each of its elements would be a partial sum";
  } else if (slot.reachable != 0) {
    text += " unless " + dim_names(alignment, choices, slot.reachable) + " does, which another dim needs";
  }
  return text + "; rule all leaves " + name + " virtual (filled up)";
}

}  // namespace

Reason dims_reason(const Alignment& alignment, const std::string& text) {
  if (in_written_order(alignment.operands)) return {Reason::Kind::dims, false, text};
  std::string operands = "operands";
  for (int t = 1; t < alignment.operand_count(); ++t) {
    operands += " " + alignment.operand_name(t) + "=" + alignment.tensor_name(t);
  }
  return {Reason::Kind::dims, true, operands + ": " + text};
}

Reason slot_reason(const Alignment& alignment, const Choices& choices, const Slot& slot, Rule rule) {
  return dims_reason(alignment,
                     rule == Rule::access ? access_reason(alignment, slot) : full_reason(alignment, choices, slot));
}

std::vector<Reason> slot_reasons(const Alignment& alignment, const Choices& choices, Rule rule) {
  std::vector<Reason> reasons;
  for (const Slot& slot : choices.slots) {
    if (slot.empty == Slot::Empty::always || slot.assignable != 0) continue;
    const bool excused = slot.empty == Slot::Empty::never ? slot.one_point_dim >= 0 : slot.reachable == 0;
    if (!excused) reasons.push_back(slot_reason(alignment, choices, slot, rule));
  }
  // Each slot could get a direction, but not all at once: they compete for dims.
  for (const Slot& slot : choices.slots) {
    if (rule == Rule::full && reasons.empty() && slot.reachable != 0)
      reasons.push_back(slot_reason(alignment, choices, slot, rule));
  }
  return reasons;
}

}  // namespace isamap
