// SPDX-License-Identifier: Apache-2.0
// A strategy in a shared object, in C++: --strategy extension:file=./mine.so,key=value. Other options are its own.

#include "scheduler/search/guarded_extension.h"
#include "scheduler/search/strategy_options.h"

namespace isamap {

Result<std::unique_ptr<SearchStrategy>> make_strategy_extension(const SearchSpace& space,
                                                                const StrategyOptions& options, std::uint64_t seed) {
  StrategyOptions own = options;
  const auto file = own.extract("file");
  if (!file || file.mapped().empty())
    return error("extension needs the file of a shared object", "--strategy extension:file=./mine.so");
  const auto factory = load_strategy(file.mapped());
  if (!factory) return factory.diagnostics();
  return guarded_strategy(file.mapped(), *factory, space, own, seed);
}

}  // namespace isamap
