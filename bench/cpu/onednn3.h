// SPDX-License-Identifier: Apache-2.0
#pragma once
// oneDNN 3, found when the benchmark runs: its C interface, which all of 3.x share.

#include <functional>
#include <string>
#include <vector>

#include "bench/cpu/peers.h"

namespace isamap::bench {

/// False: it is not there, or does not know the case.
bool add_onednn3(const CpuCase& c, const std::function<Arrays()>& arrays, std::vector<Peer>& found);
/// "oneDNN 3.2.0"; empty: it is not there, or it runs on threads of its own, which is told once.
std::string onednn3_version();

}  // namespace isamap::bench
