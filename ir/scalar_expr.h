// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arithmetic at one iteration point: a typed expression tree whose leaves are reads and constants.
//
// Types are explicit in the tree: `elaborate` (ir/typing) inserts the widening casts that the text leaves out, so two
// bodies that mean the same are the same tree. C[i,j] += A*B with u8, s8 and s32 becomes s32(A) * s32(B).

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ir/dtype.h"
#include "support/result.h"

namespace isamap {

enum class UnaryOp { negate, exp, log, sqrt, rsqrt, tanh, erf, sigmoid, abs, round };
enum class BinaryOp { add, sub, mul, div, min, max };

struct Constant {
  double value = 0;
  bool operator==(const Constant&) const = default;
};
struct Read {
  int access = 0;
  bool operator==(const Read&) const = default;
};  ///< index into Computation::reads
struct Unary {
  UnaryOp op = UnaryOp::negate;
  bool operator==(const Unary&) const = default;
};
struct Binary {
  BinaryOp op = BinaryOp::add;
  bool operator==(const Binary&) const = default;
};
struct Select {
  bool operator==(const Select&) const = default;
};  ///< select(c, a, b): a where c is not 0
struct Cast {
  bool saturate = false;
  bool operator==(const Cast&) const = default;
};

struct ScalarExpr {
  std::variant<Constant, Read, Unary, Binary, Select, Cast> op;
  DType type = DType::f32;  ///< of the result; for an unelaborated constant, its context's type
  std::vector<ScalarExpr> args;
  bool operator==(const ScalarExpr&) const = default;
};

ScalarExpr constant(double value, DType type);
ScalarExpr read(int access, DType type);
ScalarExpr unary(UnaryOp op, ScalarExpr a);
ScalarExpr binary(BinaryOp op, ScalarExpr a, ScalarExpr b);
ScalarExpr cast(DType to, ScalarExpr a, bool saturate = false);

/// Inserts widening casts at the leaves so that every node's type is the context's (the output type at the root, the
/// operands' join inside an explicit cast). Narrowing without a cast is an error that names both types; it stands at
/// the first read of what is wrong where `read_where` says where each read stands, at `where` otherwise.
Result<ScalarExpr> elaborate(const ScalarExpr& raw, DType output, const SourceLocation& where,
                             const std::vector<SourceLocation>& read_where = {});

/// The value at one point; `operands[i]` is what read i found. Rounds after every node to the node's type.
Scalar evaluate(const ScalarExpr& e, const Scalar* operands);

/// Exactly the reads that occur, in order of first occurrence.
std::vector<int> reads_of(const ScalarExpr& e);
/// `names[i]` is how read i prints: print(mul(read 0, read 1), {"A[i,k]", "B[k,j]"}) gives "A[i,k] * B[k,j]".
std::string print(const ScalarExpr& e, const std::vector<std::string>& names);

}  // namespace isamap
