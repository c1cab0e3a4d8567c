// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "isamap/hardware.h"

namespace isamap {

/// The texts of the headers `names` (`"a.h"`, `<a.h>`, a.h, or a path) as they lie in `folders`, and of what these
/// include in turn, found beside the one that includes it or in `folders`; each once, in the order of a compiler.
/// Headers of the system, and names that a macro makes, are left out.
std::string included_texts(const std::vector<std::string>& names, const std::vector<std::filesystem::path>& folders);

/// Of `-IDIR`, `-I DIR`, `-isystem DIR` and `-iquote DIR`.
std::vector<std::filesystem::path> include_folders(const std::vector<std::string>& command);

/// The texts of a machine's `include` and, `with_shim`, of its shim.
std::string texts_of_headers(const HardwareModel& model, const std::vector<std::filesystem::path>& folders,
                             bool with_shim);

}  // namespace isamap
