// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parsers of statements and kernels.

#include <map>
#include <string>
#include <vector>

#include "isamap/kernel.h"

namespace isamap {

struct ParsedAccess {
  std::string tensor;
  std::vector<AffineExpr> index;
  int offset = 0;                              ///< of the name in the text
  std::vector<int> index_offsets = {};         ///< of each index in the text
  std::optional<double> outside = {};          ///< of reads: `X[i - 1] outside 0`
  std::optional<ComputedIndex> computed = {};  ///< `E[at(I[i]),d]`; `index` is 0 there
  bool operator==(const ParsedAccess&) const = default;
};

/// `C[i,j] += A[i,k] * B[k,j]` before tensors are known: reads are numbered in order of first occurrence, equal
/// accesses once; constants and reads have no meaningful type yet.
struct ParsedStatement {
  ParsedAccess write;
  Reduction reduction = Reduction::assign;
  std::vector<ParsedAccess> reads;
  ScalarExpr body;
  std::vector<AffineExpr> values = {};           ///< of `value(i)`: operands of the body behind the reads
  std::map<std::string, int> name_offsets = {};  ///< first occurrence of each name inside index brackets
};

/// `where` is the place of the text; diagnostics add the offset to its column. Names in `sizes` are replaced by their
/// number here, so that `A[N*i + j]` and `A[i] / N` are valid. Limits, reported as errors: those of
/// include/isamap/affine.h, 512 operations, 64 distinct reads.
Result<ParsedStatement> parse_statement(const std::string& text, const SourceLocation& where = {},
                                        const Bindings& sizes = {});

/// Binds a parsed statement to tensors (found by name in `tensors`) and gives every iterator its extent: from
/// `extents`, else from the tensor dimension that it indexes alone; none or two different ones are errors. Iterators
/// are lower case. Dims are ordered: those of the write first, in its order, then as they occur in the reads. Names in
/// `sizes` are replaced by their number. `places`, if given, receives the locations of accesses.
Result<Computation> bind(const ParsedStatement& parsed, const std::vector<Tensor>& tensors,
                         const std::map<std::string, std::int64_t>& extents,
                         const std::map<std::string, std::int64_t>& sizes, const SourceLocation& where,
                         StatementPlaces* places = nullptr);

/// Parses the text of print(Kernel).
Result<Kernel> parse_kernel(const std::string& text);

}  // namespace isamap
