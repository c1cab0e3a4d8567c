// SPDX-License-Identifier: Apache-2.0
#pragma once
// Recorded results of instructions on a machine: JSON lines, the first with the origin, each other one a case with the
// bytes of its operands and its result. The machine is needed once; later the description and the emulation are
// compared with the record.

#include <string>
#include <vector>

#include "isamap/interpret.h"
#include "isamap/result.h"

namespace isamap {

struct RecordedCase {
  std::string instruction, what;   ///< as in InstructionCase
  std::vector<TensorData> before;  ///< all tensors
  std::size_t written = 0;         ///< index of the result
  TensorData found;                ///< the machine's result
};

struct Recording {
  std::string target, executed, machine;  ///< machine: "on NAME", by its driver
  std::int64_t samples = 0;
  std::vector<RecordedCase> cases;

  /// Null: not recorded.
  const RecordedCase* find(const std::string& instruction, const std::string& what) const;
};

std::string print_recording(const Recording& recording);
Result<Recording> parse_recording(const std::string& text, const std::string& path);

}  // namespace isamap
