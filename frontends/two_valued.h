// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reductions of two values: the largest or smallest element and its place (ArgMax), as two statements.
//
//   (V[i], I[i]) max= (A[i,k], value(k))      is      V[i] max= A[i,k]
//                                                     I[i] min= select(V[i] - A[i,k], 2147483647, value(k))
//
// So I has the first of equal elements, and its type's largest value where V is infinite. What is compared is a read,
// not arithmetic that two statements might round differently.

#include <string>
#include <vector>

#include "isamap/result.h"

namespace isamap {

/// The statements that a text stands for: itself, or two. Characters that these share with the text keep their offsets
/// in the first; problems of the pair's form are located in `where`, the place of the text.
Result<std::vector<std::string>> statements_of(const std::string& text, const SourceLocation& where);

}  // namespace isamap
