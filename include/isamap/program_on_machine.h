// SPDX-License-Identifier: Apache-2.0
#pragma once
// A program against a machine: text form, legality, and the interpreter that defines what it means.
//
// These need the instructions' semantics and the memories' capacities, hence they stand above hwdesc's model.

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

/// Everything that must hold: buffers inside memory capacities with live ranges and alignment, register counts, every
/// index inside its buffer for all loop values, operand dtypes and memories as the instruction says, layouts of one
/// register agree between the instructions that touch it, direct operands have the strides the layout demands, extents
/// inside ranges, a scalar unit that reaches the memories of each element statement.
Diagnostics verify(const Program& program, const HardwareModel& model);

/// How often what happened: the simulator's and the closed form's common currency.
struct Counts {
  std::map<std::string, std::int64_t> calls;                                             ///< per instruction name
  std::map<std::string, std::map<std::string, std::int64_t>> read_bytes, written_bytes;  ///< memory -> tensor
  std::int64_t element_statements = 0;
};

/// Executes the program on `data` (one entry for each kernel tensor, as for `interpret`); registers and local buffers
/// start with garbage. Out-of-range accesses are reported, not executed.
Result<Counts> interpret(const Program& program, const HardwareModel& model, std::vector<TensorData>& data);

}  // namespace isamap
