// SPDX-License-Identifier: Apache-2.0
#pragma once
// What an instruction does, as plain C++ for the emulation: from the statement and the layouts of its description.

#include <string>
#include <vector>

#include "backends/cpp/element_text.h"
#include "isamap/hardware.h"
#include "isamap/program.h"

namespace isamap {

/// A parameter of the function that stands for an instruction, in access order (the write first).
struct WrapperOperand {
  std::string name, type;      ///< "A", "std::uint32_t"
  std::int64_t registers = 0;  ///< > 0: an array of registers of each instance
  bool shared = false;         ///< an address of shared memory, as a number
  std::string each;            ///< the unit of which every instance gives an address of its own; empty: one for all
  std::vector<std::int64_t> pitches;  ///< bytes between neighbours along each term of its layout that is free; else 0
  std::string word, constraint;       ///< what is handed over instead of the address, and how
  bool written = false;
  bool described = false;                            ///< an object of the host
  std::vector<std::string> positions, fused_dim_of;  ///< of it, innermost first: parameters, dims
};

/// The body, indented by two spaces. `extents`: one for each dim; `start`: of the written operand. Errors: what the
/// emulation has no words for (several statements, free strides, masks), at the instruction.
Result<std::string> meaning(const Instruction& instruction, const std::vector<WrapperOperand>& operands,
                            const std::vector<std::int64_t>& extents, Start start, const HardwareModel& model,
                            ElementText& elements);

}  // namespace isamap
