// SPDX-License-Identifier: Apache-2.0
#pragma once
// A hardware operation: its semantics as a Computation, and the memories of its operands.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "isamap/expression.h"
#include "isamap/kernel.h"

namespace isamap {

// A swizzle permutes rows so that neighbours in a column are in different banks: higher bits of a byte's address change
// lower ones. (CUTLASS: Swizzle<B, M, S>, include/cute/swizzle.hpp.)

/// Byte address bits [to, to+bits) are replaced by themselves xor bits [from, from+bits); from >= to + bits.
struct XorSwizzle {
  int bits = 0, from = 0, to = 0;
  bool operator==(const XorSwizzle&) const = default;

  /// Bytes that stay contiguous.
  std::int64_t chunk() const { return std::int64_t{1} << to; }
  /// Period of the pattern in bytes: the alignment of a swizzled buffer.
  std::int64_t period() const { return std::int64_t{1} << (from + bits); }
};

inline std::int64_t swizzled(const std::optional<XorSwizzle>& swizzle, std::int64_t address) {
  if (!swizzle) return address;
  const std::int64_t mask = (std::int64_t{1} << swizzle->bits) - 1;
  return address ^ (((address >> swizzle->from) & mask) << swizzle->to);
}

// An instruction of the hardware: a statement with operands in named memories.
//
// A move is an instruction whose body is a copy, a fill one whose body is a constant, a setter one without a statement.
// Nothing else distinguishes them; the compiler uses semantics, never names.

/// One stride of an operand's layout: element position += stride * (value of `term`), `term` over the operand's
/// index names ("k/4", "j", "k%4") or "0", "1" for a subscript that is no plain iterator.
struct StrideTerm {
  AffineExpr term;
  std::optional<IntExpr> stride;  ///< in elements; nothing: `any`, a free stride solved at each use
  std::string each;               ///< `{each: UNIT}`: every position has its own address
  std::string text;               ///< the key as written, for {X.stride[t]}
  bool operator==(const StrideTerm&) const = default;
};

struct StridedLayout {
  std::vector<StrideTerm> terms;
  std::optional<XorSwizzle> swizzle;
  bool operator==(const StridedLayout&) const = default;
};

/// (unit instance, element) -> operand index: {over: {lane: 32, elem: 4}, i: "lane/4 + 8*(elem/2)", ...}.
/// `over` lists units first, the element count last; `index` has one formula for each operand index.
struct FragmentLayout {
  std::vector<std::pair<std::string, std::int64_t>> over;
  std::vector<AffineExpr> index;
  /// Extents in `over` that depend on dims, "extent[j]/2"; `over` has their value at the largest extents.
  std::vector<std::pair<std::string, IntExpr>> varying;
  bool replicated = false;  ///< an index may be in several places
  bool operator==(const FragmentLayout&) const = default;
};

/// Default: row-major and dense over the operand's index box.
struct DenseLayout {
  bool operator==(const DenseLayout&) const = default;
};
using OperandLayout = std::variant<DenseLayout, StridedLayout, FragmentLayout>;

/// Fields of a named bit format and their values.
struct FormatUse {
  std::string format;
  std::vector<std::pair<std::string, IntExpr>> fields;
  bool operator==(const FormatUse&) const = default;
};

/// The statement's tensor of the same position on the machine.
struct Operand {
  std::string name;            ///< the tensor's name in the statement
  MemoryId memory;             ///< invalid for state and immediate operands
  std::optional<DType> dtype;  ///< nothing on a move: the tensor's type
  OperandLayout layout;
  /// Names of the subscripts in layout terms: the iterator of a plain subscript, else its position "0", "1", ..
  std::vector<std::string> index_names;
  std::int64_t align = 1;                           ///< bytes, of the address at each use
  std::int64_t align_buffer = 1;                    ///< bytes, of the buffer of the tile
  int group = 1;                                    ///< consecutive registers
  std::string state;                                ///< "st.scale": the scalar is in a state field
  std::vector<std::int64_t> immediate;              ///< allowed values (real: their bits); empty: not an immediate
  std::optional<double> outside;                    ///< value of reads beyond the tensor
  std::map<std::string, std::int64_t> multiple_of;  ///< stride term -> bytes
  std::vector<std::int64_t> at_once;  ///< elements along each index that the memory serves together; empty: not stated
  std::string view;                   ///< of its memory: the path by which the bytes are accessed
  std::string object;                 ///< printed instead of the address: built by the host
  std::optional<FormatUse> pack;      ///< the word printed instead of the address
  bool operator==(const Operand&) const = default;
};

/// Extents an instruction dim may take. Fixed: min == max == multiple_of.
struct DimRange {
  std::int64_t min = 1, max = 1, multiple_of = 1;
  bool known_at_compile_time = false;  ///< the extent is part of the instruction's name
  bool sized = false;                  ///< `max` is an expression of the target's symbols
  bool kept = false;  ///< points beyond the extent of this dim are not accessed, regardless of `inactive`
  bool operator==(const DimRange&) const = default;
  bool fixed() const { return min == max; }
};

struct Instruction;
/// Extents of the points that a use with these extents may write: the maximum where `inactive` gives the values there,
/// else the extents.
std::vector<std::int64_t> touched_extents(const Instruction& instruction, const std::vector<std::int64_t>& extents);

/// What the points from the extents of a call to their maximum hold afterwards; none: not stated.
enum class Inactive { none, zero, keep, undefined };
/// Initial value of an updated operand: its old value, or the reduction's identity.
enum class Start { keep, zero };
/// Direction in which a setter may change its fields.
enum class Change { any, raise, lower };
std::string_view name(Inactive inactive);  ///< as in hardware files: "zero"
std::string_view name(Start start);
std::string_view name(Change change);

/// How floating-point results may differ from those of the statement.
struct Numerics {
  enum class Round { each, once, truncate };               ///< after each operation, once at the end, toward zero
  bool fused = false;                                      ///< products are not rounded before they are added
  std::optional<Round> round;                              ///< nothing: as the statement says
  std::optional<std::int64_t> bits;                        ///< significant, of a sum; nothing: those of its type
  bool flushes_denormals = false;                          ///< to zero, of operands and results
  bool order_any = false;                                  ///< sums are in any order
  std::map<std::string, std::vector<std::int64_t>> order;  ///< of sums along a dim
  bool operator==(const Numerics&) const = default;
};
std::string_view name(Numerics::Round round);

/// Cycles of the instruction's unit. interval: how long one port is busy.
struct Timing {
  std::optional<IntExpr> latency, interval;  ///< nothing: 1 cycle
  std::string port;                          ///< empty: a separate port
  bool operator==(const Timing&) const = default;
};

struct StateValue {
  std::string field;
  IntExpr value;
  bool any = false;
  bool operator==(const StateValue&) const = default;
};

/// The last of `semantics` writes the result; those before it write temporaries. `tensors` holds the operands of all of
/// them; `operands[i]` places tensors[i] (temporaries have no memory). Dims of `semantics.back()` are the instruction's
/// dims, extents at their maximum; `ranges[d]`: other extents of dim d.
struct Instruction {
  std::string name;
  UnitId unit;  ///< executing unit
  LinkId link;  ///< invalid unless the file names one
  std::vector<Tensor> tensors;
  std::vector<Computation> semantics;  ///< empty: a setter
  std::vector<Operand> operands;
  std::vector<DimRange> ranges;
  std::vector<std::pair<std::string, MemoryId>> masks;  ///< dim -> register file of its mask
  Inactive inactive = Inactive::none;
  std::vector<std::pair<std::string, std::vector<Start>>> start;  ///< per updated operand; default {keep}
  std::vector<StateValue> needs;
  std::vector<StateValue> sets;
  Change only = Change::any;
  std::vector<MemoryId> clobbers;
  std::string reset;
  bool of_function = false;  ///< a setter whose text is an attribute of the emitted function; false: of a use
  bool issue_one = false;
  UnitId atomic;         ///< instances inside one of it may update an element concurrently; invalid: unknown
  std::string async_by;  ///< name of the completion object; empty: synchronous
  std::optional<IntExpr> async_bytes;
  std::optional<FormatUse> pack, encoding;
  std::vector<std::string> legal;  ///< conditions, as written
  Numerics numerics;
  std::vector<std::string> requires_features;  ///< beyond the file's
  Timing timing;
  double energy_pJ = 0;  ///< for one use
  /// A program that uses it, compiled for one size of the target's symbols, is correct at larger sizes.
  bool grows = true;
  Template emit, assembly;  ///< `emit:` and `asm:`
  SourceLocation where, timing_where, energy_where;

  const Computation& statement() const { return semantics.back(); }
};

/// Kinds of instructions, by their statements, never by names.
bool is_setter(const Instruction& instruction);
bool is_move(const Instruction& instruction);                      ///< D[..] = S[..], no cast
std::optional<double> fill_value(const Instruction& instruction);  ///< D[..] = constant
/// D[..] += S[..] (or another operator), no cast, atomic on one element: sums the partial results of the instances of a
/// unit.
bool is_combine(const Instruction& instruction);
bool is_compute(const Instruction& instruction);  ///< none of the four
/// The port that it occupies; an instruction that names none has one of its own name.
const std::string& port_name(const Instruction& instruction);
/// Index in `tensors` of the written operand (0 by construction of the loader: writes first), and of read r.
TensorId operand_of_access(const Instruction& instruction, int access);

/// The position of each index point of the operand in its register; nothing for `any` strides: element offset, for a
/// fragment (unit instance, element) as instance * elements + element. Index points are given row-major over `box`. The
/// composition of two layouts is a comparison of these tables.
std::optional<std::vector<std::int64_t>> positions(const Operand& operand, const std::vector<std::int64_t>& box);
/// The box of an operand's index over the whole instruction: extents of its subscripts.
std::vector<std::int64_t> operand_box(const Instruction& instruction, int access);

std::string print(const OperandLayout& layout);  ///< "i: 16, k: 1"; nothing for the dense one
std::string print(const Instruction& instruction);
Diagnostics verify(const Instruction& instruction);

}  // namespace isamap
