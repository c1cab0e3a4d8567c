// SPDX-License-Identifier: Apache-2.0
#pragma once
// Covers the body of a statement with a tree of instructions (Aho, Ganapathi, Tjiang: Code generation using tree
// matching and dynamic programming, TOPLAS 1989).
//
//   min(max(T[j] + B[j], 0), 6)     add_f32.relu_f32.least_f32: operands before the instruction that reads them
//
// The result of one instruction is the operand of another if it is assigned to registers, in the same place and over
// the same dims. Constants are held in registers. The body is that of the statement, node by node and type by type; one
// identity is used beside the commutativity of + * min max: min(x, c) = select(c < x, c, x) for a constant c that is
// neither NaN nor 0 (equal zeros may differ in their signs), and the same of max.

#include <string>

#include "isamap/hardware.h"
#include "isamap/mapping.h"

namespace isamap {

/// The tree with the fewest issue slots (intervals of the instructions); nothing: some part of the body is no
/// instruction of the machine.
std::optional<InstructionTree> cheapest_tree(const Computation& statement, const std::vector<Tensor>& tensors,
                                             const HardwareModel& model);

/// The cheapest tree, and behind it those that are the cheapest with other dims in the lanes: where a call reads
/// memory, one element for all lanes or one for each, only one of them computes a read that uses the lanes' dim.
std::vector<InstructionTree> cheapest_trees(const Computation& statement, const std::vector<Tensor>& tensors,
                                            const HardwareModel& model);

/// "add_f32.relu_f32.least_f32" on this statement; nothing: the names are no tree that covers its body.
std::optional<InstructionTree> tree_named(const std::string& names, const Computation& statement,
                                          const std::vector<Tensor>& tensors, const HardwareModel& model);

/// Names of its instructions, as in schedules: "add_f32.relu_f32.least_f32".
std::string tree_name(const std::vector<TreeCall>& calls, const HardwareModel& model);

/// By call: the number of the register that holds its result; -1: the root, whose result is the tree's. A call whose
/// text reads all operands before it writes takes the register of an operand that is not read again.
std::vector<int> result_registers(const InstructionTree& tree, const HardwareModel& model);
/// Registers for results between the calls of one tree, and those that hold its constants.
std::int64_t registers_beside_operands(const InstructionTree& tree, const HardwareModel& model);

/// The instruction that a mapping uses: of the model, or the form of its tree. Valid as long as both.
inline const Instruction& instruction_of(const Mapping& mapping, const HardwareModel& model) {
  return mapping.tree.empty() ? model.instruction(mapping.instruction) : *mapping.tree.form;
}

}  // namespace isamap
