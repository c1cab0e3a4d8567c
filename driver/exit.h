// SPDX-License-Identifier: Apache-2.0
#pragma once
// How far a compilation, a run or a whole command came: the exit codes of the program.

namespace isamap {

/// Exit codes of the contract.
enum class Exit {
  ok = 0,
  wrong_input = 1,  ///< a file or number the user gave
  usage = 2,
  no_answer = 3,     ///< proved: nothing maps, or no legal schedule exists
  limit = 4,         ///< a solver or search limit was reached before an answer
  wrong_result = 5,  ///< a run disagreed with the interpreter
  missing = 77       ///< something is missing on this machine
};

}  // namespace isamap
