// SPDX-License-Identifier: Apache-2.0
#pragma once
// The statement of one instruction over test vectors, as a kernel.

#include <string>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/mapping.h"

namespace isamap {

struct RequestedCase {
  std::vector<std::int64_t> extents;  ///< of the instruction's dims
  DType type = DType::f32;            ///< of operands that say none
  DType wide = DType::s64;            ///< how 64 bits of any type are compared
  bool twice = false;                 ///< two uses add to one output that starts at the identity
  std::string what;
  std::string through;  ///< a move that brings one of the inputs; empty: whichever does
};

constexpr const char* vector_dim = "v";

std::string unused_name(std::string wish, const Computation& statement);

/// The read of the instruction that is a number in the command (a state field, an immediate): its access, or 0.
int number_operand(const Instruction& instruction);
/// What stands there: a value that is allowed, and for reals one that changes what it multiplies.
double number_for(const Operand& operand);

/// The instruction's statement over `vectors` independent vectors.
Result<Kernel> kernel_of(const Instruction& instruction, const RequestedCase& wanted, std::int64_t vectors);

/// Every dim of the statement is that of the instruction; which digits run over it is left to the caller.
Mapping identity(const Instruction& instruction, InstructionId id);

}  // namespace isamap
