// SPDX-License-Identifier: Apache-2.0
#pragma once
// Small complete machines to start from: each is a file of hwdesc/skeletons, in which NAME stands for the machine's.

#include <string>
#include <utility>
#include <vector>

namespace isamap {

/// (kind, text), by kind.
const std::vector<std::pair<std::string, std::string>>& hardware_skeletons();

}  // namespace isamap
