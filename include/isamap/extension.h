// SPDX-License-Identifier: Apache-2.0
#pragma once
// Strategies and cost models in a shared object, for `--strategy extension:file=./mine.so` and `--cost
// extension:file=./mine.so` of the program (docs/library.md):
//
//   #include "isamap/extension.h"
//   ISAMAP_STRATEGY([](const isamap::SearchSpace& space, const isamap::StrategyOptions&, std::uint64_t seed) {
//     return std::make_unique<Mine>(space, seed);
//   })
//
//   c++ -std=c++20 -O2 -shared -fPIC -I PREFIX/include mine.cpp -o mine.so
//
// Library symbols resolve to those of the loading program. Both must agree on class layouts, so the object carries the
// ABI it was compiled with, which is compared before any of its code is called.

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "isamap/search.h"

namespace isamap {

/// The ABI on which an extension and its loader must agree.
struct ExtensionAbi {
  /// incremented with every change of a class below or of its virtual members
  static constexpr std::uint64_t current = 2;
  std::array<std::uint64_t, 8> parts{};
  bool operator==(const ExtensionAbi&) const = default;
};
constexpr ExtensionAbi extension_abi() {
  return {{ExtensionAbi::current, sizeof(std::string), sizeof(Point), sizeof(Decision), sizeof(Cost), sizeof(Candidate),
           sizeof(Mapping), sizeof(Result<std::unique_ptr<SearchStrategy>>)}};
}

/// Makes cost models of (space, options).
using CostModelMaker = std::function<std::unique_ptr<CostModel>(const SearchSpace&, const StrategyOptions&)>;

/// The factories of a shared object, which stays loaded. Diagnostics: it cannot be loaded, has no factory, or has
/// another ABI.
Result<StrategyFactory> load_strategy(const std::string& file);
Result<CostModelMaker> load_cost_model(const std::string& file);

}  // namespace isamap

#define ISAMAP_EXTENSION(name, type, ...)                                                                            \
  extern "C" __attribute__((visibility("default"))) const isamap::ExtensionAbi isamap_##name##_abi;                  \
  extern "C" const isamap::ExtensionAbi isamap_##name##_abi = isamap::extension_abi();                               \
  extern "C" __attribute__((visibility("default"))) void isamap_##name##_factory(type& into) { into = __VA_ARGS__; } \
  static_assert(true, "")

#define ISAMAP_STRATEGY(...) ISAMAP_EXTENSION(strategy, isamap::StrategyFactory, __VA_ARGS__)
#define ISAMAP_COST_MODEL(...) ISAMAP_EXTENSION(cost_model, isamap::CostModelMaker, __VA_ARGS__)
