// SPDX-License-Identifier: Apache-2.0
#pragma once
// Splits a statement in two: a part of its body becomes a tensor.
//
//   Y[i,j] = max(X[i,j] + Z[j], 0)    as    Y_part[i,j] = X[i,j] + Z[j]  and  Y[i,j] = max(Y_part[i,j], 0)
//
// Every node of a body is rounded to its type, so a tensor of that type has the same values.

#include <string>
#include <vector>

#include "isamap/kernel.h"
#include "isamap/schedule.h"

namespace isamap {

struct StatementSplit {
  Kernel kernel;  ///< the parts replace the statement
  StatementId first, second;
  std::string text;  ///< "split the statement: `A` and `B`"
  SplitPart part;    ///< as in a schedule
};

/// One split for each operation inside the body; the body itself where it is reduced.
std::vector<StatementSplit> statement_splits(const Kernel& kernel, StatementId statement);

/// The kernel with these statements in two, one split after the other. Errors name the statement and the operation.
Result<Kernel> split_statements(const Kernel& kernel, const std::vector<SplitPart>& parts,
                                const SourceLocation& where = {});

}  // namespace isamap
