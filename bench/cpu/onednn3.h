// SPDX-License-Identifier: Apache-2.0
#pragma once
// oneDNN 3, loaded at run time through its C API, stable over 3.x.

#include <functional>
#include <string>
#include <vector>

#include "bench/cpu/peers.h"

namespace isamap::bench {

/// False: missing, or the case is not supported.
bool add_onednn3(const CpuCase& c, const std::function<Arrays()>& arrays, std::vector<Peer>& found);
/// "oneDNN 3.2.0"; empty: missing, or it uses its own threads, which is reported once.
std::string onednn3_version();

}  // namespace isamap::bench
