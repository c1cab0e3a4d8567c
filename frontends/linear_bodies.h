// SPDX-License-Identifier: Apache-2.0
#pragma once
// Element-wise statements that are linear in their only read that is no constant: Y[i] = factor*X[i] + offset.
//
// Factors and offsets are expressions in f64 over reads of constants: what is merged is rounded once, where it is
// stored.

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "isamap/kernel.h"

namespace isamap::linear {

using IsConstant = std::function<bool(TensorId)>;

struct Body {
  int read = 0;               ///< the access that is no constant
  ScalarExpr factor, offset;  ///< f64, over the statement's other reads
};

/// Nothing: another form, types but f32 and f64, faces, values of dims, or computed places.
std::optional<Body> body_of(const Computation& statement, const std::vector<Tensor>& tensors,
                            const IsConstant& is_constant);

bool is_number(const ScalarExpr& e, double value);
ScalarExpr number(double value, DType type);

/// The statement with `factor*X + offset` in place of its body.
Computation with_body(const Computation& statement, const Body& body, const ScalarExpr& factor,
                      const ScalarExpr& offset);

/// a*(c*x + d) + b as (a*c)*x + (a*d + b): one statement, and the terms of its constants in f64.
struct Merged {
  Computation statement;
  Computation over;                         ///< the same domain, with the reads of the terms
  ScalarExpr factor, inner_offset, offset;  ///< a*c, a*d and b, of `over`
};

/// `outer` with the body of `inner` in place of its read of what `inner` writes, `between`. Nothing: `inner` does not
/// write every element once.
std::optional<Merged> merged(const Computation& outer, const Body& outer_body, const Computation& inner,
                             const Body& inner_body, const std::vector<Tensor>& tensors, TensorId between);

/// `outer` with the body of `inner` in place of its access `through` to what `inner` writes: the same points, each
/// rounded as before. Nothing: they do not have the same points, or `inner` does not write every element once.
std::optional<Computation> inlined(const Computation& outer, int through, const Computation& inner,
                                   const std::vector<Tensor>& tensors);

/// The constant operand `read` of `sum`, times the factor of the statement that alone reads the sum: a statement over
/// the dims that the operand uses. Nothing: the factor varies along other dims, or the operand is no factor of every
/// term.
std::optional<Computation> scaled_operand(const Computation& sum, int read, const Computation& consumer,
                                          const Body& body, const std::vector<Tensor>& tensors);

/// Largest parts of the body that only constants need and that compute something, below the root.
std::vector<ScalarExpr> constant_parts(const Computation& statement, const IsConstant& is_constant);
/// The dims that a part's reads use, in order of the domain.
std::vector<Dim> dims_of(const Computation& statement, const ScalarExpr& part);
/// `[dims] = body`, with the reads of `statement` that the body has; its tensor is not set.
Computation statement_over(const Computation& statement, const ScalarExpr& body, const std::vector<Dim>& dims);
/// The statement with a read in place of a part.
Computation with_part(const Computation& statement, const ScalarExpr& part, const Access& by);
/// The statement with numbers in place of these parts.
Computation with_numbers(const Computation& statement, const std::vector<std::pair<ScalarExpr, double>>& parts);

}  // namespace isamap::linear
