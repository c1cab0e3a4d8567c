#pragma once
// From a placement to digits: order, extents, and the spread of digits over instruction dims that share their operands.

#include <optional>

#include "mapper/conditions.h"
#include "mapper/placements.h"

namespace isamap {

using Dims = std::vector<std::vector<Digit>>;

/// Digits in the order of the statement's dims. Where two digits move the output along one direction, O[2*p + r], the
/// finer one is cut to the ratio (r: 2), so that its loop of step 2 stays outside.
Dims realise(const Alignment& alignment, const std::vector<Slot>& slots, const Placement& placement);

/// What a mapping uses beyond plain axes; {axis} when nothing.
std::set<Kind> kinds_of(const Alignment& alignment, const std::vector<Walker>& walkers);

/// A mapping whose four conditions were asked: `proof` is proved, or unknown where the solver is needed.
struct Judged {
  std::optional<Mapping> mapping;  ///< nothing: refused
  std::string refusal;             ///< why
};
Judged judge(const Alignment& alignment, Dims dims, const std::vector<Kill>& kills);

}  // namespace isamap
