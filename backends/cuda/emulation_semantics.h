// SPDX-License-Identifier: Apache-2.0
#pragma once
// The semantics of an instruction as plain C++ for the emulation, from the statement and the layouts of its
// description.

#include <string>
#include <vector>

#include "backends/cpp/text/element_text.h"
#include "isamap/hardware.h"
#include "isamap/program.h"

namespace isamap {

/// A parameter of an instruction's function, in access order (the write first).
struct WrapperOperand {
  std::string name, type;             ///< "A", "std::uint32_t"
  std::int64_t registers = 0;         ///< > 0: an array of registers of each instance
  bool shared = false;                ///< an address of shared memory, as a number
  std::string each;                   ///< the unit whose instances give one address each; empty: one address for all
  std::vector<std::int64_t> pitches;  ///< stride in bytes along each free term of its layout; else 0
  std::string word, constraint;       ///< packed descriptor instead of the address
  bool written = false;
  bool described = false;                            ///< an object of the host
  std::vector<std::string> positions, fused_dim_of;  ///< box position, innermost first: parameters, dims
};

/// The body, indented by two spaces. `extents`: one for each dim; `start`: of the written operand. Errors, at the
/// instruction: features that the emulation does not support (several statements, free strides, masks).
Result<std::string> meaning(const Instruction& instruction, const std::vector<WrapperOperand>& operands,
                            const std::vector<std::int64_t>& extents, Start start, const HardwareModel& model,
                            ElementText& elements);

}  // namespace isamap
