// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `isamap hw check` proves about the layouts of a machine, and what it refutes:
//
//   fragment    every fragment is one to one onto its operand, at every extent
//   fill        which move fills (or empties) which operand in registers, from which order in memory, with which
//               addresses and free strides; where none does, why
//   banks       what is touched together meets no bank twice; otherwise how often, and the swizzle that avoids it
//   transfer    an operand in a shared memory is read where a move writes it, swizzles included
//
// Nothing here knows a target: all of it follows from fragments, strides, `xor`, `each`, `at_once`, `banks`.

#include <string>
#include <vector>

#include "hwdesc/hardware_model.h"
#include "support/diagnostic.h"

namespace isamap {

struct LayoutFact {
  std::string kind;                   ///< "fragment", "fill", "banks", "transfer"
  bool proved = true;                 ///< false: refuted
  std::vector<std::string> operands;  ///< "A of mac", all that have the same layout
  std::string text;
};

struct LayoutProofs {
  std::vector<LayoutFact> facts;
  Diagnostics warnings;  ///< a swizzled operand that no move writes as it is read
};

LayoutProofs prove_layouts(const HardwareModel& model);

/// "proved: A of mac and 3 more: ..."; of what does not hold "not so: ...", of bank conflicts "costs: ...".
std::string print(const LayoutFact& fact);

}  // namespace isamap
