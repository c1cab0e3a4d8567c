// SPDX-License-Identifier: Apache-2.0
#pragma once
// A whole model for all sizes: parts with code for every size, called in order on one arena whose places are computed
// from the sizes of a call.

#include <optional>
#include <string>
#include <vector>

#include "isamap/symbolic_program.h"
#include "program/model_program.h"

namespace isamap {

/// The code of one part, for every size: a program where no size occurs, one for any number of rows where the size is
/// outermost, else loops as the statements say.
struct SymbolicPartProgram {
  SymbolicKernel kernel;
  std::optional<Program> fixed;
  std::optional<SymbolicProgram> rows;
  std::string why_loops;  ///< neither: why there is no better code
};

/// An input, output or tensor between parts.
struct SymbolicPort {
  std::string name;
  DType dtype = DType::f32;
  std::vector<AffineExpr> shape;  ///< over the sizes
};

/// Memory of tensors that are needed one after another: as large as the largest of them.
struct ArenaSlot {
  std::vector<SymbolicPort> tensors;
};

/// Elements that begin at the identity of a reduction, since several parts write into their tensor.
struct SymbolicFill {
  ModelPlace place;
  SymbolicPort tensor;
  Scalar value;
};

struct SymbolicCall {
  std::string name;
  std::size_t program = 0;
  /// By buffer of the program (of the first part of the first version), or by tensor of the kernel for loops. In the
  /// arena `at` is the number of a slot.
  std::vector<ModelPlace> arguments;
  std::vector<SymbolicFill> fill;  ///< before the call
};

struct SymbolicModelProgram {
  std::string name;
  SizeFacts facts;
  std::vector<SymbolicPartProgram> programs;
  std::vector<SymbolicCall> calls;
  std::vector<SymbolicPort> inputs, outputs;
  std::vector<ArenaSlot> slots;
  std::vector<std::uint8_t> weights;
  bool strict_float = false;  ///< sums in the order of the statements
};

/// The program whose buffers the arguments of a call are numbered by; null: loops.
inline const Program* argument_program(const SymbolicPartProgram& part) {
  if (part.fixed) return &*part.fixed;
  return part.rows ? &part.rows->versions[0].parts[0].program : nullptr;
}

}  // namespace isamap
