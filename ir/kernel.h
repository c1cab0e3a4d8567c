// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the user wants computed: a few statements over tensors.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/computation.h"

namespace isamap {

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
/// each at step 1, ... So a step may read what steps before it wrote (ir/steps.h).
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

}  // namespace isamap
