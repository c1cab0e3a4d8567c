// SPDX-License-Identifier: Apache-2.0
#pragma once
// Small changes of a kernel or of an instruction after which the instruction may cover it. Each is made on a copy that
// the mapper tries; the text describes the change.

#include <string>
#include <vector>

#include "isamap/mapper.h"

namespace isamap {

/// A statement and an instruction, perhaps changed.
struct Repair {
  std::string text;  ///< "pad k from 30 to 32"; empty: as given
  Kernel kernel;
  StatementId statement;
  Instruction instruction;
  InstructionId id;
  bool last_resort = false;  ///< tried only if no simpler change helps
};

/// Values of the kernel: value ranges, the other signedness with a correction, the instruction's types, a split in two
/// statements.
std::vector<Repair> kernel_value_changes(const Repair& from);
/// Dims of the kernel: sizes padded to multiples, dims split, a batch added.
std::vector<Repair> kernel_dim_changes(const Repair& from);

/// Values of the instruction: the statement's types, or its body.
std::vector<Repair> hardware_value_changes(const Repair& from);
/// Dims of the instruction: which operands have them, and their extents.
std::vector<Repair> hardware_dim_changes(const Repair& from);

/// The statement that a proposal is about.
inline const Computation& statement_of(const Repair& trial) { return trial.kernel.statements[trial.statement.index()]; }

/// Access `number`, counted as in `access_of`, for modification.
Access& access_at(Computation& computation, int number);
/// Every read of access `a` becomes one of access `to[a]`; both counted as in `access_of`, so to[0] is the write.
void renumber_reads(ScalarExpr& body, const std::vector<int>& to);
/// Sorts reads by their first use in the body; unused ones are removed.
void put_reads_in_order(Computation& statement);
std::string types_of_reads(const Computation& computation, const std::vector<Tensor>& tensors);  ///< "u8 by s8"
std::string listed(const std::vector<std::string>& names);                                       ///< "A, B and C"

}  // namespace isamap
