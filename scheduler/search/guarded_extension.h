// SPDX-License-Identifier: Apache-2.0
#pragma once
// Strategies and cost models of shared objects. An exception that leaves their code ends the search with its words, as
// the end of a process of theirs does.

#include <string>

#include "isamap/extension.h"

namespace isamap {

/// Diagnostics: what the factory returned. Where it threw, the strategy proposes nothing and says why (`problems`).
Result<std::unique_ptr<SearchStrategy>> guarded_strategy(const std::string& file, const StrategyFactory& factory,
                                                         const SearchSpace& space, const StrategyOptions& options,
                                                         std::uint64_t seed);
CostModelFactory guarded_cost_models(const std::string& file, const CostModelMaker& maker,
                                     const StrategyOptions& options);

}  // namespace isamap
