// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sums in a type too narrow for them: a warning at the statement, with the statements to write instead.

#include <optional>
#include <string>

#include "isamap/kernel.h"

namespace isamap {

/// A statement of a kernel as the user wrote it.
struct WrittenStatement {
  std::size_t number = 0;  ///< in the kernel
  std::string text;        ///< "C[i,j] += A[i,k] * B[k,j]"; empty: it was not written as text
  SourceLocation where;
};

/// Nothing: the sum keeps four significant bits or more, whatever the values.
std::optional<Diagnostic> lossy_sum(const Kernel& kernel, const WrittenStatement& statement);

}  // namespace isamap
