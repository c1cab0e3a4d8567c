// SPDX-License-Identifier: Apache-2.0
#pragma once
// Coverage of the output by a statement: does it write all elements, and each only by points that differ in reduction
// dims? Counterexamples: O[n + k], C[2*i + 1], C[i,i].

#include <map>
#include <optional>
#include <string>

#include "isamap/kernel.h"

namespace isamap {

/// Do points of dims with these extents (missing: 1) write different elements? Nothing: an index is not linear.
std::optional<bool> one_to_one(const Access& write, const std::map<std::string, std::int64_t>& extents);

/// Of the whole statement.
struct WrittenElements {
  bool all = false;   ///< of the output
  bool once = false;  ///< points that write one element agree in all dims of the write access
};
/// Exact for linear indices of a box and for small domains; else both false.
WrittenElements written_elements(const Computation& statement, const Tensor& output);

}  // namespace isamap
