// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace isamap {

/// The texts of the headers `names` (`"a.h"`, `<a.h>`, a.h, or a path) as they lie in `folders`, and of what these
/// include in turn, found beside the one that includes it or in `folders`; each once, in the order of a compiler.
/// Headers of the system, and names that a macro makes, are left out.
std::string included_texts(const std::vector<std::string>& names, const std::vector<std::filesystem::path>& folders);

}  // namespace isamap
