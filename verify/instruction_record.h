// SPDX-License-Identifier: Apache-2.0
#pragma once
// What instructions computed on a machine, kept for ever: JSON lines, the first one says where from, each other one is
// a case with the bytes of its operands and of its result. A machine is needed once; afterwards the description and the
// emulation are compared with the record.

#include <string>
#include <vector>

#include "isamap/interpret.h"
#include "isamap/result.h"

namespace isamap {

struct RecordedCase {
  std::string instruction, what;   ///< as in InstructionCase
  std::vector<TensorData> before;  ///< all tensors
  std::size_t written = 0;         ///< which of them is the result
  TensorData found;                ///< the result, as the machine left it
};

struct Recording {
  std::string target, executed, machine;  ///< machine: "on NAME", as its driver calls it
  std::int64_t samples = 0;
  std::vector<RecordedCase> cases;

  /// Nothing: it was not recorded.
  const RecordedCase* find(const std::string& instruction, const std::string& what) const;
};

std::string print_recording(const Recording& recording);
Result<Recording> parse_recording(const std::string& text, const std::string& path);

}  // namespace isamap
