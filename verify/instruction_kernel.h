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
  DType type = DType::f32;            ///< of operands without one
  DType wide = DType::u64;            ///< type in which 64 bits of any type are compared
  bool twice = false;                 ///< two uses accumulate into one output that starts at the identity
  std::string what;
  std::string through;  ///< a move that loads one of the inputs; empty: any
};

constexpr const char* vector_dim = "v";

std::string unused_name(std::string wish, const Computation& statement);

/// The read of the instruction that is a number in the command (a state field, an immediate): its access, or 0.
int number_operand(const Instruction& instruction);
/// Its test value: an allowed one, for reals other than 1.
double number_for(const Operand& operand);

/// The instruction's statement over `vectors` independent vectors.
Result<Kernel> kernel_of(const Instruction& instruction, const RequestedCase& requested, std::int64_t vectors);

/// The identity mapping: every dim of the statement is that of the instruction; the caller adds the digits.
Mapping identity(const Instruction& instruction, InstructionId id);

}  // namespace isamap
