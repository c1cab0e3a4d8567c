// SPDX-License-Identifier: Apache-2.0
#pragma once
// LIBXSMM: JIT-compiled small matrix products.

#include <functional>
#include <string>
#include <vector>

#include "bench/cpu/peers.h"

namespace isamap::bench {

void add_xsmm(const CpuCase& c, const std::function<Arrays()>& arrays, std::vector<Peer>& found);
std::string xsmm_version();

}  // namespace isamap::bench
