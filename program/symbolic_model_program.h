// SPDX-License-Identifier: Apache-2.0
#pragma once
// A whole model for all sizes: parts with code for every size, called in order on one arena whose places are computed
// from the sizes of a call.

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "isamap/symbolic_program.h"
#include "program/model_program.h"

namespace isamap {

/// The code of one part, for every size: a program where no size occurs, one for any number of rows where the size is
/// outermost, or grids of blocks, else loops as the statements say.
struct SymbolicPartProgram {
  SymbolicKernel kernel;
  std::optional<Program> fixed;
  std::optional<SymbolicProgram> rows;
  std::string why_loops;  ///< of the part, if it is neither, or of one of its statements
  double seconds = 0;     ///< predicted at the likely sizes; 0: unknown
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

/// Where an argument of a part begins; in the arena `at` is the number of a slot.
struct SymbolicPlace : ModelPlace {
  std::vector<AffineExpr> row = {};  ///< `offset` and `step` are multiples of the product of these extents
};

/// Elements that begin with a value: the identity of a reduction, since several parts write into their tensor, or what
/// bands read beyond the rows of a tensor.
struct SymbolicFill {
  SymbolicPlace place;
  SymbolicPort tensor;
  Scalar value;
};

/// Rows of a buffer that the next band reads again.
struct SymbolicMove {
  SymbolicPlace from, to;  ///< they may overlap
  SymbolicPort rows;
};

/// A tensor that is whole.
struct SymbolicResult {
  SymbolicPlace place;
  SymbolicPort tensor;
};

/// The time loop of a recurrence whose steps are known at the call.
struct TimeLoop {
  AffineExpr steps;       ///< over the sizes
  bool backward = false;  ///< from the last step to step 0
};

struct SymbolicCall {
  std::string name;
  std::size_t program = 0;
  double seconds = 0;  ///< of its program
  /// By buffer of the argument program, or by tensor of the kernel for loops.
  std::vector<SymbolicPlace> arguments;
  std::vector<SymbolicFill> fill;       ///< before the call
  std::vector<SymbolicResult> results;  ///< that an observer is told of behind it
  /// The program is that of one step t, and each argument moves by t times `step` of its place.
  std::optional<TimeLoop> loop = {};
};

struct SymbolicBandStep {
  std::size_t call = 0;  ///< in SymbolicModelProgram::calls: the part that it is a step of
  std::variant<SymbolicCall, SymbolicFill, SymbolicMove> is;
};

struct SymbolicBandLoop {
  std::int64_t times = 1;
  std::vector<SymbolicBandStep> steps;
};

/// Calls [first, first + count) run in bands of rows, these loops one after another, at sizes where one of the tensors
/// between them has more bytes than `bytes`, or where there is none; elsewhere they run one after another.
struct SymbolicBands {
  std::size_t first = 0, count = 0;
  std::int64_t by = 0;  ///< rows of the last call in a band
  std::vector<SymbolicBandLoop> loops;
  std::vector<SymbolicPort> between;
  std::int64_t bytes = 0;
};

struct SymbolicModelProgram {
  std::string name;
  SizeFacts facts;
  std::vector<SymbolicPartProgram> programs;
  std::vector<SymbolicCall> calls;
  std::vector<SymbolicBands> bands;  ///< of calls, ascending
  std::vector<SymbolicPort> inputs, outputs;
  std::vector<ArenaSlot> slots;
  std::vector<std::uint8_t> weights;
  bool strict_float = false;  ///< sums in the order of the statements
  double start = 0;           ///< seconds in which all threads of a loop begin and are joined
};

/// The program whose buffers the arguments of a call are numbered by; null: loops.
inline const Program* argument_program(const SymbolicPartProgram& part) {
  if (part.fixed) return &*part.fixed;
  if (!part.rows) return nullptr;
  return part.rows->grids.empty() ? &part.rows->versions[0].parts[0].program : &part.rows->arguments;
}

}  // namespace isamap
