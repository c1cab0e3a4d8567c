// SPDX-License-Identifier: Apache-2.0
#pragma once
// Warnings about sums in a type too narrow for them, with the statements to write instead.

#include <optional>
#include <string>

#include "isamap/kernel.h"

namespace isamap {

/// A statement of a kernel as written by the user.
struct WrittenStatement {
  std::size_t number = 0;  ///< in the kernel
  std::string text;        ///< "C[i,j] += A[i,k] * B[k,j]"; empty: not from text
  SourceLocation where;
};

/// Nothing: the sum keeps four significant bits or more for any values.
std::optional<Diagnostic> lossy_sum(const Kernel& kernel, const WrittenStatement& statement);

}  // namespace isamap
