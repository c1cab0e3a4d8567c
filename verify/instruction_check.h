// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compares an instruction's result with its statement: bit for bit where `numerics` leaves no freedom, otherwise within
// a bound.

#include <optional>
#include <string>
#include <vector>

#include "isamap/interpret.h"
#include "verify/instruction_cases.h"

namespace isamap {

/// Why results are compared within a bound; empty: bit for bit (except NaN payloads).
std::string bound_in_words(const Instruction& instruction);

struct InstructionDifference {
  std::string position;                                       ///< "C[j=3]"
  std::vector<std::pair<std::string, std::string>> operands;  ///< "A[0,0..3]" -> "1, 2, 3, 4"
  std::string found, expected;
  std::string cause;       ///< another meaning that gives the found result
  std::int64_t wrong = 0;  ///< number of elements that differ
};

/// `before`: operands before the run, `found`: tensors of this case after it.
std::optional<InstructionDifference> check_case(const InstructionCase& one, const Instruction& instruction,
                                                const std::vector<TensorData>& before,
                                                const std::vector<TensorData>& found);

}  // namespace isamap
