// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks the conditions of a mapping on its digits.

#include <optional>
#include <string>

#include "mapper/digit_plans.h"

namespace isamap {

/// The result: `proof` of the mapping is proved, or unknown where the solver is needed.
struct Legality {
  std::optional<Mapping> mapping;  ///< nothing: refused
  std::string refusal;             ///< why
  bool by_extents = false;         ///< other extents of the digits may be legal
  OperandSet sound_open = 0;       ///< operands for which the solver decides S
  bool shared_open = false;        ///< the solver decides S between reads of one operand
  bool partials_open = false;      ///< the solver decides O
  bool sums_open = false;          ///< the solver decides A
};
/// `split`: two digits count along one direction of the output.
Legality legality_of(const Alignment& alignment, Dims dims, bool split, const std::vector<Annihilator>& annihilators);

}  // namespace isamap
