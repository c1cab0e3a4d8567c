// SPDX-License-Identifier: Apache-2.0
#pragma once
// Does what an instruction left equal what its statement says? Bit for bit where `numerics` leaves no freedom, within a
// stated bound where it does.

#include <optional>
#include <string>
#include <vector>

#include "isamap/interpret.h"
#include "verify/instruction_cases.h"

namespace isamap {

/// How results are compared: empty: bit for bit (NaN payloads never count).
std::string bound_in_words(const Instruction& instruction);

struct InstructionDifference {
  std::string position;                                       ///< "C[j=3]"
  std::vector<std::pair<std::string, std::string>> operands;  ///< "A[0,0..3]" -> "1, 2, 3, 4"
  std::string found, expected;
  std::string cause;       ///< which other meaning would give what was found
  std::int64_t wrong = 0;  ///< how many elements differ
};

/// `before` is what operands held, `found` what the run left (of this case's tensors).
std::optional<InstructionDifference> check_case(const InstructionCase& one, const Instruction& instruction,
                                                const std::vector<TensorData>& before,
                                                const std::vector<TensorData>& found);

}  // namespace isamap
