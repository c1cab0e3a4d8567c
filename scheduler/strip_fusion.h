// SPDX-License-Identifier: Apache-2.0
#pragma once
// Row-strip fusion: statements whose tiles exceed the registers share a strip of a few rows, which stays in cache until
// the consumer has reduced it (a depthwise convolution, then a matrix product).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/kernel.h"
#include "isamap/schedule.h"

namespace isamap {

/// Statements that each read the result of the one before, and one parallel dim in each of them.
struct StripChain {
  std::vector<std::size_t> statements;
  std::vector<std::string> dims;
};

/// The chains that end with statement `last`, a reduction over other dims: back from it as long as a statement is fused
/// with the one before (`fused`: its nest has a stage `from` another).
std::vector<StripChain> strip_chains(const Kernel& kernel, const Schedule& fused, std::size_t last);

/// The nests of the chain, in order, for strips of `rows` points of the dim. `unfused`: the nests of all statements
/// without fusion. Nothing: their loops on units differ, or a nest stages its output in memory already.
std::optional<std::vector<Nest>> in_strips(const Kernel& kernel, const HardwareModel& model,
                                           const std::vector<Nest>& unfused, const StripChain& chain,
                                           std::int64_t rows);

}  // namespace isamap
