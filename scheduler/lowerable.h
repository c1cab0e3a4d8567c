#pragma once
// Which mappings lowering can turn into programs.

#include <string>

#include "ir/mapping.h"

namespace isamap {

/// Empty, or why not: "(q - s) combines dims". Lowering walks whole dims of the statement and finds operands by access.
std::string not_lowered(const Mapping& mapping);

}  // namespace isamap
