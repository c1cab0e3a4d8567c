// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels whose sizes are known at the call.
//
//   dims: {M: {min: 0, max: 4096, multiple_of: 16, likely: [16, 128]}, N: 768, P: "(M - 1)/2 + 1"}
//
// A symbolic kernel is a value of its own, not a Kernel with unknown numbers in it: search, cost models, simulators and
// the interpreter see numbers only, those that `bind` inserts. Its expressions are affine over the names of its sizes,
// so that every question about all sizes stays linear (ir/symbolic/facts.h).

#include <string>
#include <vector>

#include "isamap/kernel.h"

namespace isamap {

/// A size that is known at the call, and what is promised of it.
struct SymbolicSize {
  std::string name;
  std::int64_t min = 0, max = 0;     ///< both included
  std::int64_t multiple_of = 1;      ///< from 1 on
  std::vector<std::int64_t> likely;  ///< in the order of the file; each satisfies the other facts
  bool max_stated = true;            ///< false: `max` keeps every tensor below 2^31 elements
  SourceLocation where = {};
};
/// "M in 0..4096, a multiple of 16"
std::string print(const SymbolicSize& size);

/// A fact between sizes: `nonnegative` >= 0.
struct SizeFact {
  std::string text;  ///< as written: "S <= T"
  AffineExpr nonnegative;
  SourceLocation where = {};
};

/// All that is promised of the sizes of one kernel.
struct SizeFacts {
  std::vector<SymbolicSize> sizes;  ///< in file order
  std::vector<SizeFact> between;
  const SymbolicSize* find(const std::string& name) const;
};
/// "M in 0..4096, N in 16..8192 and a multiple of 16, M <= N"
std::string print(const SizeFacts& facts);

/// The first fact that these sizes break: "M = 5000 is not in 0..4096", at its place. Sizes without a value are
/// skipped.
std::optional<Diagnostic> broken_fact(const SizeFacts& facts, const Bindings& sizes);

/// A statement over symbolic sizes. In `index` and `values` a dim `i` is written `$i`, a size by its name.
struct SymbolicStatement {
  std::vector<AffineExpr> extents;             ///< by dim
  std::vector<std::vector<AffineExpr>> index;  ///< by access (ir numbering) and axis
  std::vector<AffineExpr> values;
};

/// A kernel for all sizes that satisfy `facts`. Without symbolic sizes it is `sample`.
struct SymbolicKernel {
  Kernel sample;  ///< the kernel at the sizes `at`
  Bindings at;    ///< by symbolic size: the first likely ones that satisfy the facts
  SizeFacts facts;
  std::map<std::string, AffineExpr> sizes;       ///< of Kernel::sizes
  std::vector<std::vector<AffineExpr>> shapes;   ///< by tensor and axis
  std::vector<std::vector<AffineExpr>> strides;  ///< by tensor and axis; empty: dense
  std::vector<SymbolicStatement> statements;
  std::vector<AffineExpr> steps;  ///< by recurrence
  KernelPlaces places;

  bool has_symbols() const { return !facts.sizes.empty(); }
};

/// The kernel at these sizes: every symbol must have a value. An error: a size breaks a fact.
Result<Kernel> bind(const SymbolicKernel& kernel, const Bindings& sizes);

/// Every problem that some sizes have: subscripts outside their shapes, element counts that do not fit 64 bits. The
/// message has a counterexample. What `verify(sample)` finds is not repeated.
Diagnostics verify(const SymbolicKernel& kernel);

/// The refusal of a program for all sizes; `of`: an expression whose sizes would have to be numbers.
Diagnostic not_for_all_sizes(const SymbolicKernel& kernel, const std::string& why, const AffineExpr& of);

/// An iterator as it is written in SymbolicStatement: `$i`.
inline std::string symbolic_dim(const std::string& name) { return "$" + name; }

}  // namespace isamap
