// SPDX-License-Identifier: Apache-2.0
#pragma once
// The computation to compile: tensors, and statements over iteration domains.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "isamap/affine.h"
#include "isamap/expression.h"
#include "isamap/result.h"

namespace isamap {

// Distinct id types: a MemoryId does not convert to a TensorId.

template <class Tag>
struct Id {
  std::int32_t value = -1;  ///< position in the owning list; -1: none
  bool valid() const { return value >= 0; }
  std::size_t index() const { return static_cast<std::size_t>(value); }
  auto operator<=>(const Id&) const = default;
};

template <class IdType>
IdType make_id(std::size_t position) {
  return IdType{static_cast<std::int32_t>(position)};
}

using TensorId = Id<struct TensorTag>;            ///< in Kernel::tensors or Instruction::tensors
using StatementId = Id<struct StatementTag>;      ///< in Kernel::statements
using UnitId = Id<struct UnitTag>;                ///< in HardwareModel::units()
using MemoryId = Id<struct MemoryTag>;            ///< in HardwareModel::memories()
using LinkId = Id<struct LinkTag>;                ///< in HardwareModel::links()
using InstructionId = Id<struct InstructionTag>;  ///< in HardwareModel::instructions()
using BufferId = Id<struct BufferTag>;            ///< in Program::buffers

// A statement with its iteration domain: the common form of kernels and instructions.
//
//   C[i,j] += A[i,k] * B[k,j]   over   0 <= i < 64, 0 <= j < 64, 0 <= k < 64

enum class DimKind { parallel, reduction };

struct Dim {
  std::string name;
  std::int64_t extent = 0;  ///< >= 0
  DimKind kind = DimKind::parallel;
  bool operator==(const Dim&) const = default;
};

/// A box, possibly cut: every point of the box at which all `faces` are >= 0.
struct IterationDomain {
  std::vector<Dim> dims;
  std::vector<AffineExpr> faces;
  bool operator==(const IterationDomain&) const = default;

  /// Position of a dim, or -1.
  int find(const std::string& name) const;
};

/// Extent of each dim as the range [0, extent-1], for `bounds` and `simplify`.
Ranges ranges_of(const IterationDomain& domain);

/// A subscript that another read of the statement yields: E[at(I[i]),d]. It is clamped into the axis.
struct ComputedIndex {
  int axis = 0;
  int read = 0;  ///< number of that read, of an integer type; before the read that it indexes
  bool operator==(const ComputedIndex&) const = default;
};

/// tensor[index...]; each index quasi-affine in the domain's dims.
struct Access {
  TensorId tensor;
  std::vector<AffineExpr> index;
  /// Of reads: the value beyond the tensor's shape, where it differs from the tensor's `outside`.
  std::optional<double> outside = {};
  std::optional<ComputedIndex> computed = {};  ///< of reads; `index` is 0 at its axis
  bool operator==(const Access&) const = default;
};

/// Does some subscript of the access contain the dim?
bool uses(const Access& access, const std::string& dim);

/// How a value is combined with the output: `= += *= max= min= sat+=`. The last one is for instructions only: its sum
/// depends on the order if it saturates.
enum class Reduction { assign, add, mul, max, min, saturating_add };

/// The operator that adds a term; of an assignment and a saturating sum, add.
BinaryOp operator_of(Reduction reduction);
/// The identity: 0, 1, -inf (or the smallest integer), +inf. assign: 0.
Scalar identity(Reduction reduction, DType type);
/// old (+) value in `type`; saturating_add: of integers.
Scalar combine(Reduction reduction, DType type, Scalar old_value, Scalar value);
std::string_view symbol(Reduction reduction);  ///< "+="

/// One statement. A dim is a reduction dim iff the write does not use it.
struct Computation {
  std::string name;  ///< "s0" unless the file names it
  IterationDomain domain;
  Reduction reduction = Reduction::assign;
  Access write;
  std::vector<Access> reads;  ///< each distinct access once, in order of first occurrence in the body
  ScalarExpr body;            ///< elaborated; its type is the written tensor's
  /// Values of dims in the body, each an s32: operand reads.size() + n of the body is values[n]. `value(i + 1)`.
  std::vector<AffineExpr> values = {};
  bool operator==(const Computation&) const = default;
};

/// Does it use the value of a dim, or read at a computed place? Such statements are scalar code.
bool is_irregular(const Computation& computation);

/// Access 0 is the write, access i+1 is reads[i]: the numbering of operands in mappings.
const Access& access_of(const Computation& computation, int number);
inline int access_count(const Computation& c) { return 1 + static_cast<int>(c.reads.size()); }

/// Of its domain, in order.
std::vector<std::string> dim_names(const Computation& computation);

// The user's computation: a few statements over tensors.

struct Tensor {
  std::string name;
  std::vector<std::int64_t> shape;  ///< extents, row-major
  DType dtype = DType::f32;
  std::optional<double> outside = {};                   ///< value of reads beyond the shape; nothing: they are errors
  bool inout = false;                                   ///< an output that starts with the caller's values
  std::optional<std::pair<double, double>> range = {};  ///< values lie in [first, second]
  bool constant = false;  ///< an input with the same values at every call: copies of it may be packed once
  /// Strides of the caller's array in elements, by axis, if known at compile time. Empty: dense.
  std::vector<std::int64_t> strides = {};
  bool output = false;  ///< written, and wanted by the caller although statements read it later
  bool operator==(const Tensor&) const = default;
};

/// The value of a read beyond the shape; nothing: such reads are errors.
std::optional<double> outside_of(const Access& read, const std::vector<Tensor>& tensors);
/// The same of all reads of a tensor in a statement: the verifier has proved that they agree.
std::optional<double> outside_of(const Computation& statement, TensorId tensor, const std::vector<Tensor>& tensors);

/// Number of elements, and their bytes without gaps; the verifier has proved that they fit 64 bits.
std::int64_t element_count(const Tensor& tensor);
std::int64_t byte_count(const Tensor& tensor);
/// The row-major position of an index, as an expression.
AffineExpr row_major(const std::vector<AffineExpr>& index, const std::vector<std::int64_t>& shape);
/// Strides in elements, by axis, and the position of an index.
std::vector<std::int64_t> strides_of(const Tensor& tensor);
AffineExpr position(const std::vector<AffineExpr>& index, const Tensor& tensor);

/// A recurrence: statements [first, first + count) run step by step along a common dim: all of them at step 0, then all
/// at step 1, ...; `backward`: from the last step to step 0. So a step may read results of earlier steps
/// (ir/verify/recurrence.h).
struct Repeat {
  std::string dim;
  std::int64_t steps = 0;
  std::size_t first = 0, count = 0;
  bool backward = false;
  bool operator==(const Repeat&) const = default;
  bool contains(std::size_t statement) const { return statement >= first && statement < first + count; }
};

/// Statements run in order, each finishing before the next begins, except those of a recurrence.
struct Kernel {
  std::string name;
  std::map<std::string, std::int64_t> sizes;  ///< `dims:` of the file
  std::vector<Tensor> tensors;
  std::vector<Computation> statements;
  SourceLocation where;
  std::vector<Repeat> repeats = {};  ///< of disjoint groups of statements, in order
  bool operator==(const Kernel& other) const {
    return name == other.name && sizes == other.sizes && tensors == other.tensors && statements == other.statements &&
           repeats == other.repeats;
  }
};

/// Bytes of all tensors: what a run touches. The sum may exceed 64 bits.
double total_bytes(const Kernel& kernel);

/// The recurrence that holds a statement; null: none.
const Repeat* repeat_of(const Kernel& kernel, std::size_t statement);

/// Inputs: never written. Intermediates: read by a statement after the last one that writes them, and neither inout nor
/// output. Outputs: all others, updated for the caller.
enum class Role { input, output, intermediate };
Role role_of(const Kernel& kernel, TensorId tensor);
std::vector<Role> roles_of(const Kernel& kernel);  ///< of all tensors, in time linear in the kernel
/// Does the statement's tensor hold a value before it: is it inout, or written by an earlier statement?
bool holds_a_value(const Kernel& kernel, StatementId statement);
/// Inputs then outputs, each in file order: the order of arguments of every emitted entry.
std::vector<TensorId> arguments(const Kernel& kernel);

/// One line a tensor and a statement; parses back to the same value (ir/text/parse.h).
std::string print(const Kernel& kernel);
std::string print(const Computation& computation, const std::vector<Tensor>& tensors);
/// The same without its dims: "C[i,j] += A[i,k] * B[k,j]".
std::string print_formula(const Computation& computation, const std::vector<Tensor>& tensors);

/// Source locations of the parts of a statement.
struct StatementPlaces {
  SourceLocation statement;
  std::vector<std::vector<SourceLocation>> index;  ///< by access (the write is 0) and subscript
};

/// Source locations of the parts of a kernel.
struct KernelPlaces {
  std::vector<SourceLocation> tensors;
  std::vector<StatementPlaces> statements;
};

/// Every problem: shapes and products that overflow, unknown dims, out-of-bounds reads without `outside`, out-of-bounds
/// writes always, more than 24 dims, dims that the write and no read uses, ... Each is located by `places`, or at
/// kernel.where.
Diagnostics verify(const Kernel& kernel, const KernelPlaces& places = {});

// Vectorized reduction: partial sums in lanes, as a kernel of more statements (rfactor).
//
//   y[i] += A[i,k] * x[k]     in 16 lanes along k, K = 16*Q + T, gives
//
//   y_parts[i,l] += A[i,16*q + l] * x[16*q + l]     q < Q, l < 16: an ordinary statement with contiguous lanes
//   y_tail[i,t]   = A[i,16*Q + t] * x[16*Q + t]     t < T
//   y_whole[i]   += y_parts[i,l]
//   y_rest[i]    += y_tail[i,t]
//   y[i]          = y_whole[i] + y_rest[i]
//
// and without a tail y[i] += y_parts[i,l]. This is rfactor (Suriana, Adams, Kamil: Parallel associative reductions in
// Halide, CGO 2017). Reduction operators are associative and commutative, on reals up to rounding. Instructions that
// sum `depth` neighbours in each lane process 16*depth elements of k at a time.

/// `s0 k 16`: the reduction over k of statement s0 in 16 lanes; `s0 k 16 by 2`: each lane sums pairs.
struct VectorizedReduction {
  std::string statement, dim;
  std::int64_t lanes = 1, depth = 1;
  bool operator==(const VectorizedReduction&) const = default;
};
std::string print(const VectorizedReduction& parts);
Result<VectorizedReduction> parse_vectorized_reduction(const std::string& text, const SourceLocation& where = {});

/// The kernel with these reductions in lanes; tensors and arguments of the kernel keep their numbers. Errors name the
/// statement, the dim, its extent and what is needed.
Result<Kernel> vectorize_reductions(const Kernel& kernel, const std::vector<VectorizedReduction>& parts,
                                    const SourceLocation& where = {});

}  // namespace isamap
