// SPDX-License-Identifier: Apache-2.0
#include "tests/mapping_oracle/delta.h"

#include <algorithm>
#include <cstdlib>
#include <functional>

#include "tests/mapping_oracle/lattice.h"
#include "tests/mapping_oracle/points.h"

namespace isamap::oracle {
namespace {

/// One difference of digits, as the instruction and as the kernel see it.
struct Step {
  Vec y, x;
};

std::vector<Step> differences(const Nest& kernel, const Nest& unit, const Mapping& mapping) {
  Vec ranges;
  for (const Digit& digit : mapping.digits) ranges.push_back(2 * digit.extent - 1);
  std::vector<Step> steps;
  for (const Vec& shifted : box(ranges)) {
    Step step{Vec(unit.dims(), 0), Vec(kernel.dims(), 0)};
    Vec weights(unit.dims(), 1);
    for (std::size_t l = shifted.size(); l-- > 0;) {
      const Digit& digit = mapping.digits[l];
      const Int d = shifted[l] - (digit.extent - 1);
      const auto m = static_cast<std::size_t>(digit.places[0]);
      step.y[m] += weights[m] * d;
      weights[m] *= digit.extent;
      for (std::size_t i = 0; i < step.x.size(); ++i) step.x[i] += digit.column[i] * d;
    }
    bool fits = true;
    for (std::size_t m = 0; m < unit.dims(); ++m) fits = fits && std::abs(step.y[m]) < unit.extents[m];
    if (fits) steps.push_back(std::move(step));
  }
  return steps;
}

/// Some operand, or inputs together, tell apart whatever `matters` tells apart.
bool has_carrier(const Nest& unit, const std::vector<Step>& steps, const std::function<bool(const Step&)>& matters) {
  const auto tells = [&](int t) {
    return std::none_of(steps.begin(), steps.end(), [&](const Step& step) {
      return matters(step) && zero(image(unit, static_cast<std::size_t>(t), step.y));
    });
  };
  const auto kills = kill_sets(unit);
  return tells(0) || std::any_of(kills.begin(), kills.end(),
                                 [&](const auto& kill) { return std::all_of(kill.begin(), kill.end(), tells); });
}

}  // namespace

DeltaVerdict judge_differences(const Nest& kernel, const Nest& unit, const Mapping& mapping) {
  const std::vector<Step> steps = differences(kernel, unit, mapping);
  DeltaVerdict verdict;
  for (const Step& step : steps) {
    for (std::size_t t = 0; t < unit.operands.size(); ++t) {
      const bool same_slot = zero(image(unit, t, step.y));
      const bool same_element = zero(image(kernel, static_cast<std::size_t>(mapping.operands[t]), step.x));
      verdict.sound = verdict.sound && (!same_slot || same_element);
      if (t == 0) verdict.no_partials = verdict.no_partials && (!same_element || same_slot);
    }
  }
  for (std::size_t d = 0; d < kernel.dims(); ++d)
    verdict.neutral = verdict.neutral && has_carrier(unit, steps, [&](const Step& step) { return step.x[d] != 0; });
  for (const Row& face : kernel.faces)
    verdict.neutral =
        verdict.neutral && has_carrier(unit, steps, [&](const Step& step) { return linear(face, step.x) != 0; });
  std::vector<Step> moves;  // fills: all differences of instruction points
  Vec ranges;
  for (const Int e : unit.extents) ranges.push_back(2 * e - 1);
  for (Vec y : box(ranges)) {
    for (std::size_t m = 0; m < y.size(); ++m) y[m] -= unit.extents[m] - 1;
    moves.push_back({y, {}});
  }
  for (std::size_t m = 0; m < unit.dims(); ++m) {
    if (looped(mapping, m) % unit.extents[m] == 0) continue;
    verdict.neutral = verdict.neutral && has_carrier(unit, moves, [&](const Step& step) { return step.y[m] != 0; });
  }
  return verdict;
}

}  // namespace isamap::oracle
