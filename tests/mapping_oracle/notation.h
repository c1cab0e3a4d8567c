// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels and instructions from one line of text, read without the compiler's parser.

#include <map>

#include "tests/mapping_oracle/model.h"

namespace isamap::oracle {

/// nest_from("n k c p r", "O[n,k,p] I[n,c,2p+r] F[k,c,2-r]", {{"n", 2}, ...}): dims in order, then the operands, the
/// written one first; `F[]` has no index. Extents that are not given are `otherwise`.
Nest nest_from(const std::string& dims, const std::string& operands, const std::map<std::string, Int>& sizes = {},
               Int otherwise = 4);

}  // namespace isamap::oracle
