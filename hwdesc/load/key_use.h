// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which keys of the hardware language the loader asks for: a row of the table that no reader asks for is a bug.

#include <set>
#include <string>
#include <vector>

#include "hwdesc/keys/key.h"
#include "isamap/hardware.h"

namespace isamap::loader {

/// Rows that readers asked for, whether the file has the key or not.
using KeyUse = std::set<const keys::Key*>;

/// Loads a file and adds the keys that were asked for on the way to `use`.
Result<LoadedHardware> load_noting_keys(const std::string& path, const std::vector<std::string>& folders, KeyUse& use);

}  // namespace isamap::loader
