// SPDX-License-Identifier: Apache-2.0
#pragma once
// Symbolic sizes of a kernel file: facts, sizes as expressions, and statements over them.
//
// A file is read at one sample of its symbolic sizes, by the code that reads numbers. Beside each number that depends
// on a symbolic size its expression is kept; here are those expressions.

#include "frontends/kernel_file_internal.h"
#include "ir/text/parse.h"
#include "isamap/expression.h"

namespace isamap {

/// `{min: 0, max: 4096, multiple_of: 16, likely: [1, 128]}`: the sample's value, or the given one.
std::optional<std::int64_t> read_size_facts(KernelFile& file, const std::string& name, const yaml::Node& node,
                                            AffineExpr& exact);
/// `facts: ["S <= T", "T % 16 == 0"]`; then the sizes of the sample are chosen.
void read_facts(KernelFile& file, const yaml::Node* node);

/// The expression over symbolic sizes of a size that has this value in the sample. False: it is not affine, and
/// reported.
bool exact_size(KernelFile& file, const IntExpr& size, const yaml::Node& node, const std::string& what,
                std::int64_t value, AffineExpr& exact);

/// Keeps the expression of a size or extent, unless it is a number.
void set_exact(KernelFile& file, const std::string& name, const AffineExpr& exact);

/// Adds the statement, which was bound at the sample, to the symbolic kernel.
void lift_statement(KernelFile& file, const ParsedStatement& parsed, const Computation& bound,
                    const SourceLocation& where);

/// Completes file.symbolic from a kernel without problems, and checks it for all sizes.
Diagnostics finish_symbolic(KernelFile& file);

/// `without_symbols` for callers that bind no sizes, so that numbers have to stand in the file.
Result<Kernel> without_symbols_in_file(Result<SymbolicKernel> read);

// Shared with the one-line form.

/// The value to read the kernel at: the first likely one, else a common one.
std::int64_t sample_of(const SymbolicSize& size);
/// Splits facts of sizes with a given value off: numbers in the others. Problems: broken facts, unknown names.
Diagnostics separate_given(const SizeFacts& declared, const Bindings& given, const SourceLocation& where,
                           SizeFacts& facts);
/// Sets each `max` that is not stated so that every tensor has fewer than 2^31 elements.
void limit_sizes(SymbolicKernel& kernel);

/// What lifting a statement needs to know.
struct LiftContext {
  const std::vector<Tensor>& tensors;
  const std::vector<std::vector<AffineExpr>>& shapes;
  const std::map<std::string, AffineExpr>& sizes;    ///< names in subscripts that are sizes
  const std::map<std::string, AffineExpr>& extents;  ///< stated ones of iterators
  const SizeFacts& facts;
};
Result<SymbolicStatement> lift(const ParsedStatement& parsed, const Computation& bound, const LiftContext& context,
                               const SourceLocation& where);

}  // namespace isamap
