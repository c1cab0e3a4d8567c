// SPDX-License-Identifier: Apache-2.0
#include "mapper/accumulation.h"

#include <algorithm>
#include <cstdlib>

#include "ir/start.h"
#include "mapper/digit_plans.h"

namespace isamap {
namespace {

/// Does a step move the output's element, leave it in place, or both in part?
enum class Moves { none, output, both };

/// Dims that are an output index on their own; nothing when an index is any other expression.
std::optional<std::vector<bool>> own_indices(const Alignment& alignment) {
  const Computation& own = alignment.computation();
  if (!own.domain.faces.empty()) return std::nullopt;
  std::vector<bool> alone(own.domain.dims.size(), false);
  for (const AffineExpr& e : own.write.index) {
    if (e.is_constant()) continue;
    const auto dim = (e - e.constant()).as_dim();
    if (!dim) return std::nullopt;
    alone[static_cast<std::size_t>(own.domain.find(*dim))] = true;
  }
  return alone;
}

Moves moves_of(const IntVector& step, const std::vector<bool>& output) {
  bool moved = false, hidden = false;
  for (std::size_t d = 0; d < step.size(); ++d)
    if (step[d] != 0) (output[d] ? moved : hidden) = true;
  return moved && hidden ? Moves::both : hidden ? Moves::none : Moves::output;
}

/// Is the digit constant within a call (`tile`), independent of the tile (`call`), or a mixture (`both`)?
enum class Decides { call, tile, both };
Decides decided_by(const Alignment& alignment, const DigitStep& digit_step) {
  Decides result = Decides::call;
  for (const DigitStep::Place& place : digit_step.places) {
    const std::int64_t extent = instruction_extent(alignment, place.dim);
    if (place.weight % extent == 0) return Decides::tile;
    if ((digit_step.extent - 1) * place.weight >= extent) return Decides::tile;  // its last value is in another tile
    if (extent % place.weight != 0) return Decides::both;
    const std::int64_t block = extent / place.weight;
    if (block % digit_step.extent != 0) result = Decides::both;
  }
  return result;
}

/// Are there two points of the domain, a box, that are one step apart?
bool fits(const Alignment& alignment, const IntVector& step) {
  const std::vector<Dim>& dims = alignment.computation().domain.dims;
  for (std::size_t d = 0; d < step.size(); ++d)
    if (std::abs(step[d]) >= dims[d].extent) return false;
  return true;
}

/// Does the loop take one value? The extent of a loop that floats along a line of the lattice counts steps on that line
/// only: other lines begin at other values.
bool takes_one_value(const Cover::Loop& loop) { return loop.extent <= 1 && !loop.floating; }

/// No residual loops and one tile: nothing accumulates from call to call.
bool one_call(const Alignment& alignment, const std::vector<DigitStep>& digit_steps, const Cover& cover) {
  return std::all_of(cover.loops.begin(), cover.loops.end(), takes_one_value) &&
         std::all_of(digit_steps.begin(), digit_steps.end(), [&](const DigitStep& digit_step) {
           return digit_step.extent <= 1 || decided_by(alignment, digit_step) == Decides::call;
         });
}

std::string overwrites(const Alignment& alignment) { return "each call overwrites " + alignment.operand_name(0); }
std::string whole_sum(const Alignment& alignment) {
  return overwrites(alignment) + ", so one call must compute the whole sum";
}

}  // namespace

std::string leaves_sum_apart(const Alignment& alignment, const std::vector<DigitStep>& digit_steps) {
  if (!always_overwrites(*alignment.hardware)) return "";
  const Computation& own = alignment.computation();
  if (own.reduction != Reduction::assign && holds_a_value(*alignment.kernel, alignment.statement))
    return overwrites(alignment) + ", but " + alignment.tensor_name(0) + " holds a value that the statement adds to";
  if (!own.domain.faces.empty()) return "";  // they may leave one point of the dim
  for (std::size_t d = 0; d < own.domain.dims.size(); ++d) {
    const bool stepped = std::any_of(digit_steps.begin(), digit_steps.end(),
                                     [&](const DigitStep& digit_step) { return digit_step.column[d] != 0; });
    if (stepped || own.domain.dims[d].extent <= 1 || (alignment.statement_uses[d] & 1U) != 0) continue;
    return whole_sum(alignment) + ", but a loop over " + own.domain.dims[d].name + " remains";
  }
  return "";
}

Truth adds_up(const Alignment& alignment, const std::vector<DigitStep>& digit_steps, const Cover& cover,
              std::string& refusal) {
  if (!always_overwrites(*alignment.hardware)) return Truth::yes;
  const std::string text = whole_sum(alignment);
  const auto output = own_indices(alignment);
  Truth truth = Truth::yes;
  for (const DigitStep& digit_step : digit_steps) {
    const Decides by = digit_step.extent > 1 ? decided_by(alignment, digit_step) : Decides::call;
    const Moves moves = output ? moves_of(digit_step.column, *output) : Moves::both;
    if (moves == Moves::both || (moves == Moves::none && by == Decides::both)) truth = Truth::unknown;
    if (moves != Moves::none || by != Decides::tile) continue;
    const int dim = digit_step.places.front().dim;
    refusal = text + ": instruction dim " + alignment.semantics().domain.dims[static_cast<std::size_t>(dim)].name +
              " takes " + std::to_string(instruction_extent(alignment, dim)) + ", the sum needs " +
              std::to_string(digits_extent(digit_steps, dim));
    return Truth::no;
  }
  for (const Cover::Loop& loop : cover.loops) {
    if (takes_one_value(loop)) continue;
    const Moves moves = output ? moves_of(loop.step, *output) : Moves::both;
    if (moves != Moves::output) truth = Truth::unknown;
    if (moves != Moves::none || (loop.floating && !fits(alignment, loop.step))) continue;
    refusal = text + ", but a loop over " + print(as_expression(alignment, loop.step)) + " remains";
    return Truth::no;
  }
  return one_call(alignment, digit_steps, cover) ? Truth::yes : truth;
}

}  // namespace isamap
