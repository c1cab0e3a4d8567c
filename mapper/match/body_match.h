// SPDX-License-Identifier: Apache-2.0
#pragma once
// Does an instruction compute the same as a statement at one point? The first test, before dims.
//
// Bodies are elaborated trees: every widening is a cast with its type, saturation is a flag of the cast. So equal
// trees, up to the names of the reads and the order of the arguments of + * min max, mean equal values bit for bit.

#include <optional>
#include <utility>
#include <vector>

#include "isamap/mapper.h"

namespace isamap {

/// The statement's access for each access of the instruction ([0] = 0, the write). An input that the statement lacks is
/// a constant: its entry is the number after the statement's last access.
struct BodyMatch {
  std::vector<int> operands;
  std::optional<double> constant;
  friend bool operator<(const BodyMatch& a, const BodyMatch& b) { return a.operands < b.operands; }
  bool operator==(const BodyMatch&) const = default;
};

/// Every pairing of the statement's reads with the instruction's reads that makes the bodies equal; the written order
/// comes first, then by number. Empty when the reductions differ or no way exists.
std::vector<BodyMatch> match_bodies(const Computation& statement, const Computation& instruction);

/// The same with one input of the instruction set to a constant: x for a*b with b = 1, 0.5*x with b = 0.5.
std::vector<BodyMatch> match_with_constant(const Computation& statement, const Computation& instruction);

/// The same without casts: what would match if the types were right.
std::vector<BodyMatch> match_shapes(const Computation& statement, const Computation& instruction);

/// Why match_bodies is empty, the reduction, a type, or the body. `tensors`: the kernel's.
Reason body_mismatch(const Computation& statement, const std::vector<Tensor>& tensors, const Instruction& hardware);

/// Constants for some reads that make the body the identity of the reduction for any finite values of the other reads:
/// a*b with += has {a: 0} and {b: 0}; |a-b| has {a: 0, b: 0}; a+b with max= has {a: -inf} and {b: -inf}. Minimal sets
/// only, smallest first.
using Annihilator = std::vector<std::pair<int, double>>;  // read, value; sorted by read
std::vector<Annihilator> annihilators(const Computation& instruction);

}  // namespace isamap
