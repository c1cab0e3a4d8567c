// SPDX-License-Identifier: Apache-2.0
#pragma once
// A tree of instructions (mapper/match/instruction_tree.h) becomes its calls: results between them in registers of
// their own, constants in registers that are set once, at the start of the program.

#include "mapper/match/instruction_tree.h"
#include "scheduler/lowering/lower_nest_internal.h"

namespace isamap {

/// `refs`: by access of the tree's form. Each call has these extents. Each statement has registers of its own for
/// results between calls: they are free while another statement is computed in the same loop.
Result<Nodes> lower_tree(Lowering& lowering, const std::string& statement, const InstructionTree& tree,
                         const std::vector<Ref>& refs, const std::vector<std::int64_t>& extents);

/// A move that writes one element of home memory to all elements of a register; masks are not needed for it.
bool is_broadcast(const Instruction& instruction, const HardwareModel& model);
/// One element in home memory with the value, set by scalar code at the start of the program.
Result<Ref> constant_in_memory(Lowering& lowering, DType type, double value);

/// A register with the value in each element, as this operand of the instruction holds it.
Result<Ref> constant_register(Lowering& lowering, const Instruction& instruction, int access, double value);

}  // namespace isamap
