// SPDX-License-Identifier: Apache-2.0
#pragma once
// Small complete machines to start from: each is a file of hwdesc/skeletons, with NAME for the machine's name.

#include <string>
#include <utility>
#include <vector>

namespace isamap {

/// (kind, text), by kind.
const std::vector<std::pair<std::string, std::string>>& hardware_skeletons();

/// hwdesc/defaults/timing.yaml.
const std::string& default_timing_text();

}  // namespace isamap
