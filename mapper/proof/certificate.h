// SPDX-License-Identifier: Apache-2.0
#pragma once
// The conditions of one mapping as questions to a solver: linear, quantifier-free, `unsat` is the proof.
//
// A question names points. Point k has an instruction point y(k), digits d(k) and the statement point x(k) they run
// over to:
//
//   x(k) = sum of loop step * z + sum of column * d(k),       sum of weight * d(k) on dim m = E(m) * t(m) + y(k).m
//
// and is active when 0 <= y < E, 0 <= d < extent and x in the domain. Points of one call share the loops z and t.

#include <string>
#include <vector>

#include "mapper/proof/conditions.h"

namespace isamap {

/// One question: declarations and assertions.
struct Question {
  std::string name;  ///< "S I: equal slots, different elements"
  std::string text;
  std::string logic = "QF_LIA";
};
struct Certificate {
  std::vector<std::string> comments;
  std::vector<Question> questions;
};

/// The questions are about the mapping as printed: digits, extents, carriers, residual loops.
Certificate certify(const Alignment& alignment, const Mapping& mapping);

/// Questions that `legality_of` leaves to the solver.
struct OpenQuestions {
  OperandSet sound = 0;  ///< operands of which S is open
  bool shared = false, partials = false, sums = false;
};
/// Only the questions that are open.
Certificate certify_open(const Alignment& alignment, const Mapping& mapping, const OpenQuestions& open);

/// All questions with a symbol for the size of every dim that one whole digit (outermost on its dim) or one whole loop
/// covers: the queries stay linear. Where the printed mapping has no carrier for a fill, sizes that divide. The comment
/// names the dims; no questions when there are none. Carriers whose reason contains a size ("p<=5") keep it.
Certificate certify_any_size(const Alignment& alignment, const Mapping& mapping);

/// All questions for every size that satisfies facts: `sizes` is an expression by dim (SMT-LIB, empty: a number) over
/// names that `declarations` declares. No questions where a symbolic dim is not covered by one whole digit or loop; its
/// number is in `fused` then.
Certificate certify_sizes(const Alignment& alignment, const Mapping& mapping, const std::vector<std::string>& sizes,
                          const std::string& declarations, std::size_t& fused);

/// A file for the z3 program, which prints `unsat` once for each question.
std::string print(const Certificate& certificate);

}  // namespace isamap
