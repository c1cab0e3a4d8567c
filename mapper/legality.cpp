// SPDX-License-Identifier: Apache-2.0
#include "mapper/legality.h"

#include <algorithm>
#include <utility>

#include "mapper/accumulation.h"
#include "mapper/proof/counterexample_search.h"
#include "mapper/proof/shared_operand.h"

namespace isamap {
namespace {

std::vector<std::string> residual_dims(const Alignment& alignment, const std::vector<DigitStep>& digit_steps,
                                       const Cover& cover) {
  const std::vector<Dim>& dims = alignment.computation().domain.dims;
  std::vector<bool> outer(dims.size(), true);
  for (const DigitStep& digit_step : digit_steps) {
    for (std::size_t d = 0; d < dims.size(); ++d)
      if (digit_step.column[d] != 0) outer[d] = false;
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

std::string refusal_of(const Alignment& alignment, const Padding& padding, const std::vector<DigitStep>& digit_steps) {
  const std::string body = "the " + std::string(symbol(alignment.semantics().reduction)) + " of this body";
  if (padding.fill < 0) {
    return "no operand tells the points beyond " + padding.reason + " apart, and " + body + " needs one that does";
  }
  const std::string dim = alignment.semantics().domain.dims[static_cast<std::size_t>(padding.fill)].name;
  const std::int64_t needed = instruction_extent(alignment, padding.fill),
                     found = digits_extent(digit_steps, padding.fill);
  return "instruction dim " + dim + " takes " + std::to_string(needed) + ", its digits have " + std::to_string(found) +
         ", and no constant in an operand that uses " + dim + " makes the surplus vanish under " + body +
         "; a multiple of " + std::to_string(needed) + " would work";
}

/// Does another instruction dim have the same column with another stride?
bool is_split(const std::vector<DigitStep>& digit_steps, const DigitStep& digit_step) {
  return std::any_of(digit_steps.begin(), digit_steps.end(), [&](const DigitStep& other) {
    return other.dims() != digit_step.dims() && parallel(digit_step.column, other.column);
  });
}

/// The kinds of a mapping beyond plain axes.
std::set<Kind> kinds_of(const Alignment& alignment, const std::vector<DigitStep>& digit_steps) {
  std::set<Kind> kinds;
  std::uint32_t stepped = 0;
  for (const DigitStep& digit_step : digit_steps) {
    stepped |= digit_step.dims();
    if (digit_step.places.size() > 1) kinds.insert(Kind::block_diagonal);
    int moved = 0;
    for (const std::int64_t step : digit_step.column) moved += step != 0 ? 1 : 0;
    if (moved > 1) kinds.insert(Kind::skew);
    if (is_split(digit_steps, digit_step)) kinds.insert(Kind::split);
    OperandSet slots = 0;
    for (const DigitStep::Place& place : digit_step.places)
      slots |= alignment.instruction_uses[static_cast<std::size_t>(place.dim)];
    for (int t = 0; t < alignment.operand_count(); ++t) {
      if (digit_step.extent > 1 && (slots >> t & 1U) != 0 && is_invariant(alignment, t, digit_step.column))
        kinds.insert(t == 0 ? Kind::partial : Kind::replicate);
    }
  }
  for (std::size_t m = 0; m < alignment.instruction_uses.size(); ++m)
    if ((stepped >> m & 1U) == 0) kinds.insert(Kind::virtual_dim);
  if (!in_written_order(alignment.operands)) kinds.insert(Kind::exchange);
  if (alignment.constant) kinds.insert(Kind::constant);
  return kinds;
}

/// The mapping with this cover: its carriers, needs, loops and utilisation.
Mapping mapping_of(const Alignment& alignment, const std::vector<DigitStep>& digit_steps, const Cover& cover,
                   Neutral neutral, bool split) {
  Mapping mapping;
  mapping.statement = alignment.statement;
  mapping.instruction = alignment.instruction;
  mapping.operands = alignment.operands;
  mapping.constant = alignment.constant;
  mapping.kinds = kinds_of(alignment, digit_steps);
  if (split) mapping.kinds.insert(Kind::split);
  if (mapping.kinds.empty()) mapping.kinds.insert(Kind::axis);
  mapping.carriers = std::move(neutral.carriers);
  mapping.needs = std::move(neutral.needs);
  if (alignment.exact) {
    mapping.needs.insert(mapping.needs.end(), alignment.exact->needs.begin(), alignment.exact->needs.end());
    if (alignment.exact->rolled) mapping.rolled = {alignment.semantics().domain.dims.back()};
  }
  mapping.outer = residual_dims(alignment, digit_steps, cover);
  mapping.utilisation = utilisation(alignment, digit_steps, cover);
  mapping.loops.reserve(cover.loops.size());
  for (const Cover::Loop& loop : cover.loops)
    mapping.loops.push_back({as_expression(alignment, loop.step), loop.extent, loop.floating});
  return mapping;
}

}  // namespace

Legality legality_of(const Alignment& alignment, Dims dims, bool split, const std::vector<Annihilator>& annihilators) {
  const auto digit_steps = digit_steps_of(alignment, dims);
  if (!digit_steps) return {std::nullopt, "the digits of a dim have more than 2^63 counts"};
  if (std::string apart = leaves_sum_apart(alignment, *digit_steps); !apart.empty()) return {std::nullopt, apart};
  Legality legality;
  const Truth slots = sound(alignment, *digit_steps, legality.sound_open),
              elements = no_partials(alignment, *digit_steps);
  if (slots == Truth::no) return {std::nullopt, "one slot of an operand would hold several elements"};
  if (slots == Truth::unknown && slot_holds_two(alignment, *digit_steps, legality.sound_open))
    return {std::nullopt, "one slot of an operand would hold several elements"};
  const Truth shared = shared_operands_agree(alignment, *digit_steps);
  if (shared == Truth::no)
    return {std::nullopt,
            "the instruction reads one operand in several ways, and one slot would hold several elements"};
  std::optional<Cover> cover;
  Neutral neutral;
  Truth sums = Truth::yes;
  Legality refused{std::nullopt, "digits and residual loops form no radix chain", true};
  bool explained = false;  // by the first cover
  const bool covered = some_cover(alignment, *digit_steps, [&](const Cover& found) {
    if (elements == Truth::no) {
      refused.refusal = "two digits move " + alignment.tensor_name(0) +
                        " along one direction, so an element would have several slots (partial sums)";
      return true;
    }
    sums = adds_up(alignment, *digit_steps, found, refused.refusal);
    if (sums == Truth::no) return false;
    neutral = neutralise(alignment, paddings(alignment, *digit_steps, found), annihilators);
    if (neutral.uncarried) {
      if (!std::exchange(explained, true)) refused.refusal = refusal_of(alignment, *neutral.uncarried, *digit_steps);
      return false;
    }
    if (sums == Truth::unknown) sums = calls_write_apart(alignment, *digit_steps, found);
    if (sums == Truth::no) {
      refused.refusal = "there are points with A: two calls write one element of " + alignment.tensor_name(0) +
                        ", and each overwrites it";
      refused.by_extents = false;  // others hardly ever bring a sum into one call
      return true;
    }
    cover = found;
    return true;
  });
  if (!covered || !cover) return refused;
  legality.partials_open = elements == Truth::unknown;
  legality.shared_open = shared == Truth::unknown;
  legality.sums_open = sums == Truth::unknown;
  Mapping& mapping = legality.mapping.emplace(mapping_of(alignment, *digit_steps, *cover, std::move(neutral), split));
  const bool exact = slots == Truth::yes && shared == Truth::yes && elements == Truth::yes && sums == Truth::yes;
  mapping.proof = exact ? Proof::proved : Proof::unknown;
  mapping.dims = std::move(dims);
  return legality;
}

}  // namespace isamap
