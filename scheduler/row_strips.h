// SPDX-License-Identifier: Apache-2.0
#pragma once
// Statements whose tiles are too large for registers handed on band by band: a few rows of what one of them makes stand
// in memory, where caches keep them, until the next one has added them up (a depthwise convolution, then a product).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/kernel.h"
#include "isamap/schedule.h"

namespace isamap {

/// Statements each of which reads what the one before writes, and the name of one parallel dim in each of them.
struct BandChain {
  std::vector<std::size_t> statements;
  std::vector<std::string> dims;
};

/// The chains that end with statement `last`, whose sums need all of the dims that they run over: back from it as long
/// as a statement has been joined to the one before (`joined`: its nest takes a tile `from` another).
std::vector<BandChain> band_chains(const Kernel& kernel, const Schedule& joined, std::size_t last);

/// The nests of the chain, in its order, as they are when `rows` of the dim at a time go through all of them. `apart`:
/// the nests of all statements before any was joined. Nothing: their loops on units differ, or a nest stages its output
/// in memory already.
std::optional<std::vector<Nest>> in_bands(const Kernel& kernel, const HardwareModel& model,
                                          const std::vector<Nest>& apart, const BandChain& chain, std::int64_t rows);

}  // namespace isamap
