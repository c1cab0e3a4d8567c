// SPDX-License-Identifier: Apache-2.0
#pragma once
// A statement with its iteration domain: what kernels and instructions are both made of.
//
//   C[i,j] += A[i,k] * B[k,j]   over   0 <= i < 64, 0 <= j < 64, 0 <= k < 64

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/affine.h"
#include "ir/dtype.h"
#include "ir/scalar_expr.h"
#include "support/id.h"

namespace isamap {

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

}  // namespace isamap
