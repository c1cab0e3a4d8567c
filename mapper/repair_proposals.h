// SPDX-License-Identifier: Apache-2.0
#pragma once
// Small changes of a kernel or of an instruction after which the one may cover the other. Each is made on a copy, to be
// tried by the mapper; the text says what to do.

#include <string>
#include <vector>

#include "isamap/mapper.h"

namespace isamap {

/// A statement and an instruction, perhaps changed.
struct Trial {
  std::string text;  ///< "pad k from 30 to 32"; empty: as given
  Kernel kernel;
  StatementId statement;
  Instruction instruction;
  InstructionId id;
  bool last_resort = false;  ///< tried only where nothing simpler helped
};

/// What the kernel computes with: value ranges, the other signedness with a correction, the instruction's types; and
/// in how many steps.
std::vector<Trial> kernel_value_changes(const Trial& from);
/// What it runs over: sizes padded to multiples, dims split, a batch added.
std::vector<Trial> kernel_dim_changes(const Trial& from);

/// What the instruction computes: the statement's types, or its body.
std::vector<Trial> hardware_value_changes(const Trial& from);
/// Which operands have which dims, and how far these run.
std::vector<Trial> hardware_dim_changes(const Trial& from);

/// To change access `number` as `access_of` counts them.
Access& access_at(Computation& computation, int number);
/// Every read of access `a` becomes one of access `to[a]`; both as `access_of` counts them, so to[0] is the write.
void renumber_reads(ScalarExpr& body, const std::vector<int>& to);
/// Reads in the order in which the body names them; those that it does not name are left out.
void put_reads_in_order(Computation& statement);
std::string types_of_reads(const Computation& computation, const std::vector<Tensor>& tensors);  ///< "u8 by s8"
std::string listed(const std::vector<std::string>& names);                                       ///< "A, B and C"

}  // namespace isamap
