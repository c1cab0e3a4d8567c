// SPDX-License-Identifier: Apache-2.0
#pragma once
// How one instruction covers one statement (the definitions are in docs/mapping.md).
//
// For each instruction dim an ordered list of digits, outermost first: counting through them like an odometer, last
// digit fastest, each E consecutive counts are one call. Points that no digit covers are visited by residual loops.

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "isamap/instruction.h"
#include "isamap/kernel.h"

namespace isamap {

// A tree of instructions that computes one body, with the values between them in registers:
//
//   Y[j] = min(max(T[j] + B[j], 0), 6)     add_f32, then relu_f32 of its result, then least_f32 of that and 6
//
// Mapper, schedules and costs see one instruction, the tree's `form`; programs have the calls
// (mapper/match/instruction_tree.h).

/// What one call of a tree reads: a read of the form, the result of an earlier call, or a constant in every lane.
struct TreeInput {
  enum class From { read, call, constant };
  From from = From::read;
  int number = 0;    ///< of the read or call
  double value = 0;  ///< of the constant
  bool operator==(const TreeInput&) const = default;
};

struct TreeCall {
  InstructionId instruction;
  std::vector<TreeInput> inputs;  ///< by read of its statement
  bool operator==(const TreeCall&) const = default;
};

struct InstructionTree {
  std::vector<TreeCall> calls;              ///< operands first: the root is the last
  std::shared_ptr<const Instruction> form;  ///< follows from the calls and the statement
  bool empty() const { return calls.empty(); }
  bool operator==(const InstructionTree& other) const { return calls == other.calls; }
};

/// One step adds `column` (linear in the statement's dims: q, q - s, 2*q) to the point; `extent` steps.
struct Digit {
  AffineExpr column;
  std::int64_t extent = 1;
  bool operator==(const Digit&) const = default;
};

enum class Kind { axis, skew, virtual_dim, replicate, partial, exchange, split, block_diagonal, constant, factor };
std::string_view name(Kind kind);  ///< "axis", "skew", "virtual", ..., as the contract spells them

/// Padding: some instruction points have no kernel point because of `reason` ("s>=0", "fill j"): `access` (numbered as
/// by `access_of`, of the kernel statement) is the operand whose slot identifies and neutralises them.
struct Carrier {
  std::string reason;
  int access = 0;
  bool operator==(const Carrier&) const = default;
};

/// A loop over what digits do not cover. A floating loop has no fixed first value: it starts where the tile of the
/// digits and the other loops enters the domain; `extent` is its trip count for the best-aligned tile.
struct ResidualLoop {
  AffineExpr step;
  std::int64_t extent = 1;
  bool floating = false;
  bool operator==(const ResidualLoop&) const = default;
};

enum class Proof { unproved, proved, unknown };

struct Mapping {
  int id = 0;  ///< position in the mapper's result
  StatementId statement;
  InstructionId instruction;
  /// Instruction access number -> kernel access number; [0] is 0. One more than the last kernel access: `constant`.
  std::vector<int> operands;
  std::optional<double> constant;  ///< value of an input that the kernel lacks: 1 in a sum
  /// Per instruction dim; empty: virtual. One digit (column and extent) on two dims is tied: the diagonal of both.
  std::vector<std::vector<Digit>> dims;
  std::vector<Carrier> carriers;
  std::set<Kind> kinds;
  std::vector<std::string> needs;  ///< "finite": dead slots must contain finite numbers
  Proof proof = Proof::unproved;
  double utilisation = 0;          ///< kernel points / (calls * instruction points), sizes as given
  std::vector<std::string> outer;  ///< dims that digits do not cover, or only in part
  /// Dims appended to the instruction's own: its unrolled sums, rerolled. Each tensor of the instruction is then one
  /// access, in order of first read.
  std::vector<Dim> rolled;
  /// Several instructions used as one, of which `instruction` is the root; empty: a single one.
  InstructionTree tree = {};
  std::vector<ResidualLoop> loops;  ///< with the digits they visit every point exactly once
  bool operator==(const Mapping&) const = default;
};

/// "mma(i = n.p, j = k, k = c.r) O <- I, F": the tensors in the order of the instruction's accesses, the output first;
/// a virtual dim is "-".
std::string print(const Mapping& mapping, const Kernel& kernel, const std::vector<std::string>& instruction_dims,
                  const std::string& instruction_name);

/// Does the instruction's access number `i` hold the constant?
bool is_constant_operand(const Mapping& mapping, std::size_t i);

/// The constant operand as it is printed: "1", "0.25".
std::string constant_name(const Mapping& mapping);

/// Product of the digit extents of one instruction dim (at most 2^63 - 1), and the fused name of its digits:
/// "n.p", "c.(q - s)"; no digits: "".
std::int64_t digits_extent(const std::vector<Digit>& digits);
std::string fused_name(const std::vector<Digit>& digits);
/// Has the instruction dim digits of one of these dims beside others?
bool fuses_any(const std::vector<Digit>& digits, const std::set<std::string>& dims);

/// The statement over fused dims: each list of two or more unit digits that cover whole dims becomes one dim `n.p` of
/// extent N*P, with n = n.p / P and p = n.p % P in accesses and faces; a single digit, other columns and residual dims
/// keep their names. The fused domain has exactly the points of the old one. Order: dims in the old order, a fused dim
/// at the place of its first digit.
Computation fuse(const Computation& statement, const Mapping& mapping);

}  // namespace isamap
