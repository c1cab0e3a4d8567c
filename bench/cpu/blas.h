// SPDX-License-Identifier: Apache-2.0
#pragma once
// CBLAS libraries: f32 products, and extensions of some (bf16, 8-bit integers, packed weights, batches).

#include <functional>
#include <string>
#include <vector>

#include "bench/cpu/peers.h"

namespace isamap::bench {

void add_blas(const CpuCase& c, const std::function<Arrays()>& arrays, std::vector<Peer>& found);
/// "OpenBLAS 0.3.21 SkylakeX"; absent ones: "no MKL".
std::vector<std::string> blas_versions();

}  // namespace isamap::bench
