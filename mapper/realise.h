#pragma once
// From a placement to digits: order, extents, and the spread of digits over instruction dims that share their operands.

#include <optional>

#include "mapper/conditions.h"
#include "mapper/placements.h"

namespace isamap {

using Dims = std::vector<std::vector<Digit>>;

struct Realised {
  Dims dims;
  bool split = false;  ///< two digits count along one direction of the output
};

/// The mappings of a placement: one, or several where digits along one direction of the output can be ordered in
/// several ways, or none. Digits stand in the order of the statement's dims, combined columns last (fastest). Unit
/// digits walk their whole dim, combined ones a tile.
std::vector<Realised> realise(const Alignment& alignment, const Choices& choices, const Placement& placement,
                              Rule rule);

/// A mapping whose four conditions were asked: `proof` is proved, or unknown where the solver is needed.
struct Judged {
  std::optional<Mapping> mapping;  ///< nothing: refused
  std::string refusal;             ///< why
};
Judged judge(const Alignment& alignment, Realised realised, const std::vector<Kill>& kills);

}  // namespace isamap
