// SPDX-License-Identifier: Apache-2.0
#pragma once
// Index expressions as C++.

#include <map>
#include <string>

#include "backends/cpp/text/element_text.h"
#include "isamap/affine.h"

namespace isamap {

/// `16*i + (j + 1)/4 - 3`: floor division, so a numerator that may be negative is divided by a helper. `names`: renamed
/// loop variables.
std::string index_text(const AffineExpr& e, const Ranges& ranges, const std::map<std::string, std::string>& names,
                       ElementText& elements);

}  // namespace isamap
