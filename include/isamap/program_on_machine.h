// SPDX-License-Identifier: Apache-2.0
#pragma once
// A program for a machine: text form, legality, and the interpreter that defines its semantics.
//
// These need the instructions' semantics and the memories' capacities, hence they are above hwdesc in the layers.

#include <map>
#include <string>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/interpret.h"
#include "isamap/program.h"

namespace isamap {

/// The text of a program, and back (buffers, nodes; the kernel is part of the text).
std::string print(const Program& program, const HardwareModel& model);
Result<Program> parse_program(const std::string& text, const HardwareModel& model);

/// Verifies: buffers fit memory capacities with live ranges and alignment; register counts; every index is inside its
/// buffer for all loop values; operand dtypes and memories match the instruction; layouts of one register agree between
/// the instructions that access it; direct operands have the strides of the layout; extents are inside ranges; a scalar
/// unit reaches the memories of each element statement.
Diagnostics verify(const Program& program, const HardwareModel& model);

/// Counts of calls and bytes, common to the simulator and the closed form.
struct Counts {
  std::map<std::string, std::int64_t> calls;                                             ///< per instruction name
  std::map<std::string, std::map<std::string, std::int64_t>> read_bytes, written_bytes;  ///< memory -> tensor
  std::int64_t element_statements = 0;
};

/// Executes the program on `data` (one entry for each kernel tensor, as for `interpret`); registers and local buffers
/// start with garbage. Out-of-range accesses are reported, not executed.
Result<Counts> interpret(const Program& program, const HardwareModel& model, std::vector<TensorData>& data);

/// What the pack entry leaves in the buffers filled ahead of time: one flat array each, in their order, 0 where nothing
/// was written. `data` as for `interpret`.
Result<std::vector<TensorData>> pack(const Program& program, const HardwareModel& model,
                                     const std::vector<TensorData>& data);

}  // namespace isamap
