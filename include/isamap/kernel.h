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

// Numbers that cannot be confused: a MemoryId never passes for a TensorId.

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

// A statement with its iteration domain: what kernels and instructions are both made of.
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

/// tensor[index...]; each index quasi-affine in the domain's dims.
struct Access {
  TensorId tensor;
  std::vector<AffineExpr> index;
  bool operator==(const Access&) const = default;
};

/// Does some subscript of the access contain the dim?
bool uses(const Access& access, const std::string& dim);

/// How a value meets what stands in the output: `= += *= max= min= sat+=`. The last one is of instructions only: what
/// it adds up to depends on the order where it saturates.
enum class Reduction { assign, add, mul, max, min, saturating_add };

/// The value that leaves others unchanged: 0, 1, -inf (or the smallest integer), +inf. assign: 0.
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
  bool operator==(const Computation&) const = default;
};

/// Access 0 is the write, access i+1 is reads[i]: how mappings number operands.
const Access& access_of(const Computation& computation, int number);
inline int access_count(const Computation& c) { return 1 + static_cast<int>(c.reads.size()); }

/// Of its domain, in order.
std::vector<std::string> dim_names(const Computation& computation);

// What the user wants computed: a few statements over tensors.

struct Tensor {
  std::string name;
  std::vector<std::int64_t> shape;  ///< extents, row-major
  DType dtype = DType::f32;
  std::optional<double> outside;                   ///< what reads beyond the shape yield; nothing: they are errors
  bool inout = false;                              ///< an output that starts at what the caller left there
  std::optional<std::pair<double, double>> range;  ///< values lie in [first, second]
  bool constant = false;  ///< an input with the same values at every call: copies of it may be packed once
  /// How the caller's array lies, where that is known ahead: elements from one index to the next, by axis. Empty:
  /// dense.
  std::vector<std::int64_t> strides = {};
  bool operator==(const Tensor&) const = default;
};

/// Number of elements; the verifier has proved that it fits 64 bits.
std::int64_t element_count(const Tensor& tensor);
/// The row-major position of an index, as an expression.
AffineExpr row_major(const std::vector<AffineExpr>& index, const std::vector<std::int64_t>& shape);
/// Elements from one index to the next, by axis, and where an index lies.
std::vector<std::int64_t> strides_of(const Tensor& tensor);
AffineExpr position(const std::vector<AffineExpr>& index, const Tensor& tensor);

/// Statements [first, first + count) run step by step along a dim that all of them have: each of them at step 0, then
/// each at step 1, ... So a step may read what steps before it wrote (ir/recurrence.h).
struct Repeat {
  std::string dim;
  std::int64_t steps = 0;
  std::size_t first = 0, count = 0;
  bool operator==(const Repeat&) const = default;
  bool contains(std::size_t statement) const { return statement >= first && statement < first + count; }
};

/// Statements run in order, each finishing before the next begins, but for those that are repeated.
struct Kernel {
  std::string name;
  std::map<std::string, std::int64_t> sizes;  ///< `dims:` of the file
  std::vector<Tensor> tensors;
  std::vector<Computation> statements;
  SourceLocation where;
  std::optional<Repeat> repeat = {};
  bool operator==(const Kernel& other) const {
    return name == other.name && sizes == other.sizes && tensors == other.tensors && statements == other.statements &&
           repeat == other.repeat;
  }
};

/// Inputs: never written. Intermediates: read by a statement after the last one that writes them, and not inout.
/// Outputs: the rest, what the caller finds updated.
enum class Role { input, output, intermediate };
Role role_of(const Kernel& kernel, TensorId tensor);
/// Inputs then outputs, each in file order: the order of arguments of every entry that we emit.
std::vector<TensorId> arguments(const Kernel& kernel);

/// One line a tensor and a statement; parses back to the same value (ir/parse.h).
std::string print(const Kernel& kernel);
std::string print(const Computation& computation, const std::vector<Tensor>& tensors);

/// Where the parts of a statement stand in its source.
struct StatementPlaces {
  SourceLocation statement;
  std::vector<std::vector<SourceLocation>> index;  ///< by access (the write is 0) and subscript
};

/// Where the parts of a kernel stand in its source.
struct KernelPlaces {
  std::vector<SourceLocation> tensors;
  std::vector<StatementPlaces> statements;
};

/// Every problem: shapes and products that overflow, unknown dims, out-of-bounds reads without `outside`,
/// out-of-bounds writes always, more than 24 dims, dims that the write and no read uses, ...
/// Each stands where `places` says, or at kernel.where.
Diagnostics verify(const Kernel& kernel, const KernelPlaces& places = {});

// A reduction side by side in lanes, as a kernel of more statements.
//
//   y[i] += A[i,k] * x[k]     in 16 lanes along k, K = 16*Q + T, gives
//
//   y_parts[i,l] += A[i,16*q + l] * x[16*q + l]     q < Q, l < 16: an ordinary statement, whose lanes lie side by side
//   y_tail[i,t]   = A[i,16*Q + t] * x[16*Q + t]     t < T
//   y_whole[i]   += y_parts[i,l]
//   y_rest[i]    += y_tail[i,t]
//   y[i]          = y_whole[i] + y_rest[i]
//
// and without a tail y[i] += y_parts[i,l]. A reduction factored so is known as rfactor (Suriana, Adams, Kamil: Parallel
// associative reductions in Halide, CGO 2017). Operators of reductions are associative and commute, on reals but for
// rounding. Instructions that add `depth` neighbours up in each lane take 16*depth elements of k at a time.

/// `s0 k 16`: the reduction over k of statement s0 in 16 lanes; `s0 k 16 by 2`: each lane takes pairs.
struct LaneParts {
  std::string statement, dim;
  std::int64_t lanes = 1, depth = 1;
  bool operator==(const LaneParts&) const = default;
};
std::string print(const LaneParts& parts);
Result<LaneParts> parse_lane_parts(const std::string& text, const SourceLocation& where = {});

/// The kernel with these reductions in lanes; tensors and arguments of the kernel keep their numbers. Errors name the
/// statement, the dim, its extent and what is needed.
Result<Kernel> in_lanes(const Kernel& kernel, const std::vector<LaneParts>& parts, const SourceLocation& where = {});

/// The same of parts that are known to fit: what a schedule that has been read is for.
Kernel in_lanes_of(const Kernel& kernel, const std::vector<LaneParts>& parts);

}  // namespace isamap
