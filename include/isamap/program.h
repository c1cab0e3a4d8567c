// SPDX-License-Identifier: Apache-2.0
#pragma once
// The lowered program, printed by backends and run by the interpreter: loops, guards, instruction calls and element
// statements over buffers.
//
// An operand of a call maps every instruction point to an element of a buffer: its index is quasi-affine in the loop
// variables and in the instruction dims, written `$j`. Addresses and strides are differences of that expression.
// Extents are constants after lowering, since every tail is peeled into a body of its own.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "isamap/instruction.h"
#include "isamap/kernel.h"

namespace isamap {

enum class BufferRole { argument, local };

/// Makes a buffer one of completion counters: a phase ends when the expected arrivals and bytes are in.
struct Counter {
  std::string object;  ///< the completion object
  UnitId each;         ///< each computing instance arrives once a phase; invalid: one arrival a phase
  bool operator==(const Counter&) const = default;
};

/// A rectangular array in one memory. In a register memory the first `slots` axes number registers (row-major) and the
/// rest are the operand's index inside one register (its physical place is the operand layout of the instructions).
struct Buffer {
  std::string name;
  MemoryId memory;
  DType dtype = DType::f32;
  std::vector<std::int64_t> extents;  ///< one for each axis
  std::vector<std::int64_t> strides;  ///< elements, one for each axis; memory buffers only
  int slots = -1;                     ///< registers: number of slot axes; -1: a byte-addressed memory
  int registers_per_slot = 1;         ///< operand group
  std::int64_t address = 0;           ///< bytes from the start of the memory, or number of the first register
  std::int64_t align = 64;            ///< bytes
  std::optional<XorSwizzle> swizzle;  ///< of addresses; values and indices do not depend on it
  std::optional<Counter> counter;     ///< of completion counters, which hold no values
  BufferRole role = BufferRole::local;
  TensorId tensor;             ///< that it holds a tile of; arguments: the tensor itself
  bool ahead_of_time = false;  ///< filled by the pack entry, then an argument of the main entry
  std::string layout_text;     ///< "[k/32, c, k%32]": for signatures and reports
  bool operator==(const Buffer&) const = default;
};

/// Element offset of an index of a memory buffer.
AffineExpr flat_offset(const Buffer& buffer, const std::vector<AffineExpr>& index);
std::int64_t element_span(const Buffer& buffer);  ///< 1 + largest element offset

/// In reads of an element statement `at$2` stands for the value of its read 2, clamped into the axis that it indexes.
std::string computed_name(int read);
/// Nothing: it is no such name.
std::optional<int> computed_read(const std::string& name);

struct Ref {
  BufferId buffer;
  std::vector<AffineExpr> index;  ///< one for each axis, over loop variables and `$dim`s
  bool operator==(const Ref&) const = default;
};

/// An operand that lives in no memory (`state`, `immediate`): a ref without a buffer, whose one index is its number: an
/// integer, or the bits that a real operand has in its type.
Ref constant_ref(const Operand& operand, double value);
/// Nothing: the ref is no number.
std::optional<Scalar> constant_value(const Operand& operand, const Ref& ref);

struct Node;

struct Loop {
  std::string variable;  ///< unique in the program
  std::int64_t trip = 0;
  bool unroll = false;
  std::string unit;  ///< iterations run on the instances of this unit; empty: sequential
  std::vector<Node> body;
  /// Persistent loops on a unit: the iterations of perfectly nested ones are numbered together, and iteration n runs on
  /// instance n % instances; 0: an instance for each iteration.
  std::int64_t instances = 0;
  bool operator==(const Loop&) const;
};

/// `then` runs where every condition is >= 0, else `otherwise`.
struct Guard {
  std::vector<AffineExpr> conditions;
  std::vector<Node> then, otherwise;
  /// Warp specialization: executed by threads that do nothing else, concurrently with the others and synchronized by
  /// counters. Sequential execution ignores it. Empty: executed by the surrounding threads.
  std::string role;
  bool operator==(const Guard&) const;
};

/// One use of an instruction. Points at or beyond `extents` are inactive.
struct Call {
  InstructionId instruction;
  std::vector<Ref> operands;          ///< in access order: write, reads...
  std::vector<std::int64_t> extents;  ///< one for each instruction dim
  std::vector<Ref> masks;             ///< one for each entry of Instruction::masks
  Start start = Start::keep;          ///< of the written operand, where the instruction has the choice
  Ref counter;                        ///< signals completion; no buffer: another mechanism, or synchronous
  bool operator==(const Call&) const = default;
};

/// Executed element by element by a scalar unit, in the program's language. `write` (reduction)= body(reads). A read
/// without a buffer is the value of its one index, an s32. An index of a read may be `at$n` of an earlier read n.
struct Element {
  UnitId unit;
  Reduction reduction = Reduction::assign;
  Ref write;
  std::vector<Ref> reads;
  ScalarExpr body;
  bool operator==(const Element&) const = default;
};

/// Synchronization: a barrier among the instances of a unit, a commit or wait of asynchronous groups, a fence between
/// two views (proxies) of a memory, or an operation on a completion counter.
struct Sync {
  enum class Step {
    wait,    ///< until at most the last `pending` groups are incomplete
    commit,  ///< the calls so far become a group
    open,    ///< orders earlier register accesses before the next calls
    fence,   ///< makes writes visible to another view of a memory
    expect,  ///< counter: one arrival, and `bytes` still to be transferred
    arrive,  ///< counter: one arrival
  };
  UnitId unit;
  std::string object;  ///< the completion object, or MEMORY.VIEW of a fence; empty: a barrier
  int pending = 0;
  Step step = Step::wait;
  Ref counter;             ///< no buffer: groups, barriers, fences
  AffineExpr phase;        ///< wait on a counter: the phase that must be complete, from 0
  std::int64_t bytes = 0;  ///< expect
  bool operator==(const Sync&) const = default;
};

struct Comment {
  std::string text;
  bool operator==(const Comment&) const = default;
};

struct Node {
  std::variant<Loop, Guard, Call, Element, Sync, Comment> is;
  bool operator==(const Node&) const = default;
};
inline bool Loop::operator==(const Loop& o) const {
  return variable == o.variable && trip == o.trip && unroll == o.unroll && unit == o.unit && instances == o.instances &&
         body == o.body;
}
inline bool Guard::operator==(const Guard& o) const {
  return conditions == o.conditions && role == o.role && then == o.then && otherwise == o.otherwise;
}

/// What a program relies on beyond its specification.
struct Assumption {
  enum class Kind {
    finite_inputs,  ///< a value times 0 is 0: no infinity, no NaN
    sums_in_any_order,
    stated,  ///< read back from the text of a program, which has no kinds
  };
  Kind kind = Kind::stated;
  std::string text;  ///< "inputs are finite: padding along k is multiplied by 0"
  bool operator==(const Assumption& o) const { return text == o.text; }
};

struct Program {
  std::string name;
  Kernel kernel;                ///< its specification; arguments are tensors of it
  std::vector<Buffer> buffers;  ///< arguments first, in the order of arguments(kernel)
  std::vector<Node> prepack;    ///< fills ahead-of-time buffers; run once
  std::vector<Node> body;
  std::string schedule_text;  ///< printed into the emitted code
  std::vector<Assumption> assumptions;
  std::map<std::string, std::int64_t> sizes;  ///< of the target's symbols, for which it was made; empty: any
  /// Exactly the named instructions are emitted; no equivalent one in another state is substituted.
  bool as_named = false;
  /// Floating-point sums keep the order of the statement: no split reductions.
  bool sums_in_order = false;
  /// exp, tanh, ... call the language's library; the built-in approximations differ in the last digits.
  bool library_functions = false;
  /// The same kernel for other sizes, in dispatch order; the last may fit any size.
  std::vector<Program> versions;
  bool operator==(const Program&) const;
};
inline bool Program::operator==(const Program&) const = default;

}  // namespace isamap
