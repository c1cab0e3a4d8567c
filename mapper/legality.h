// SPDX-License-Identifier: Apache-2.0
#pragma once
// Digits become a mapping if the conditions hold.

#include <optional>
#include <string>

#include "mapper/digit_plans.h"

namespace isamap {

/// A mapping whose conditions were asked: `proof` is proved, or unknown where the solver is needed.
struct Legality {
  std::optional<Mapping> mapping;  ///< nothing: refused
  std::string refusal;             ///< why
  bool by_extents = false;         ///< other extents of the digits may do
  OperandSet sound_open = 0;       ///< operands for which the solver has to say whether S holds
  bool shared_open = false;        ///< the solver has to say whether S holds between reads of one operand
  bool partials_open = false;      ///< the solver has to say whether O holds
  bool sums_open = false;          ///< the solver has to say whether A holds
};
/// `split`: two digits count along one direction of the output.
Legality legality_of(const Alignment& alignment, Dims dims, bool split, const std::vector<Annihilator>& annihilators);

}  // namespace isamap
