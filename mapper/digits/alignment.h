// SPDX-License-Identifier: Apache-2.0
#pragma once
// A statement and an instruction with their operands paired: which operands use which dims.
//
// Operand t is access t of the instruction (0 is the write); operands[t] is the statement's access paired with it.
// "Operand t uses dim d": d occurs in the index of t. The mapping rules are conditions on these sets.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "isamap/instruction.h"
#include "isamap/mapping.h"
#include "mapper/digits/int_vector.h"
#include "mapper/match/body_match.h"
#include "mapper/match/exact_form.h"

namespace isamap {

using OperandSet = std::uint32_t;  ///< bit t: operand t
constexpr int most_operands = 30;

/// One index of a statement's access, flat: coefficients of its dims, and which dims occur at all (in divisions too).
struct IndexRow {
  std::vector<std::int64_t> coefficients;
  std::uint32_t dims = 0;
  bool linear = true;
};

struct Alignment {
  StatementId statement;
  InstructionId instruction;
  std::shared_ptr<const Kernel> kernel;      ///< with the constant operand as a tensor and read of its own, if any
  const Instruction* hardware = nullptr;     ///< the instruction, with its sum rerolled where `exact` says so
  std::vector<int> operands;                 ///< instruction access -> statement access
  std::vector<OperandSet> statement_uses;    ///< for each dim of the statement
  std::vector<OperandSet> instruction_uses;  ///< for each dim of the instruction
  /// For each dim of the instruction the operands with an index that is this dim alone: their slot determines it.
  std::vector<OperandSet> determined_by;
  std::vector<std::vector<IndexRow>> rows;              ///< for each operand, its indices in the statement
  std::vector<std::vector<IndexRow>> instruction_rows;  ///< and in the instruction
  std::optional<double> constant;
  /// Set where bodies are equal only for the stated value ranges; owns a rerolled `hardware`.
  std::shared_ptr<const Exactness> exact;
  bool projection = true;  ///< every index of the instruction is one dim or a constant

  const Computation& computation() const { return kernel->statements[statement.index()]; }
  /// The statement of the instruction.
  const Computation& semantics() const { return hardware->statement(); }
  const Access& access(int t) const { return access_of(computation(), operands[static_cast<std::size_t>(t)]); }
  const Access& instruction_access(int t) const { return access_of(semantics(), t); }
  int operand_count() const { return static_cast<int>(operands.size()); }
  /// The statement's tensor on operand t: "I".
  const std::string& tensor_name(int t) const { return kernel->tensors[access(t).tensor.index()].name; }
  /// Its name in the instruction: "B".
  const std::string& operand_name(int t) const { return hardware->tensors[instruction_access(t).tensor.index()].name; }
};

/// `match` pairs accesses of the statement with operands; an operand without an access is a constant.
Alignment align(const Kernel& kernel, StatementId statement, const Instruction& hardware, InstructionId instruction,
                const BodyMatch& match);

/// Every way in which the bodies agree: as trees; else as polynomials over the stated value ranges; else, unless the
/// rule is `access`, with an input set to a constant.
std::vector<Alignment> alignments_of(const Kernel& kernel, StatementId statement, const Instruction& hardware,
                                     InstructionId instruction, bool with_constants);
/// The alignment of an existing mapping.
Alignment alignment_of(const Kernel& kernel, const Instruction& hardware, const Mapping& mapping);

/// The change of an index by one step of a column; nothing when the index is not linear in a dim of the column, or the
/// result exceeds 64 bits.
std::optional<std::int64_t> step_of(const IndexRow& row, const IntVector& column);
/// Is operand t invariant along the column? Columns with dims in divisions count as not invariant.
bool is_invariant(const Alignment& alignment, int t, const IntVector& column);

/// Elements between neighbours along the column in operand t's tensor, dense and row-major. Its indices must be linear.
std::int64_t element_step(const Alignment& alignment, int t, const IntVector& column);

/// Are the operands in the order in which both bodies are written?
bool in_written_order(const std::vector<int>& operands);

/// Extent of instruction dim m at its largest.
std::int64_t instruction_extent(const Alignment& alignment, int m);
/// May dim m run with this extent, so that a last, shorter call needs no padding?
bool allows_extent(const Instruction& hardware, int m, std::int64_t extent);

/// "O and F", "I, F and O": the statement's tensors of a set.
std::string in_words(const Alignment& alignment, OperandSet set);

/// A relabeling of the instruction under which it computes the same: operand t becomes operands[t], dim m dims[m].
/// Extents, ranges, uses, types, memories, layouts and the body agree. The identity is not listed.
struct Automorphism {
  std::vector<int> operands, dims;
};
std::vector<Automorphism> automorphisms(const Instruction& instruction);

}  // namespace isamap
