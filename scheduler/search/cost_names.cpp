// SPDX-License-Identifier: Apache-2.0
#include "scheduler/search/cost_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "scheduler/search/guarded_extension.h"

namespace isamap {

namespace {

Result<CostModelFactory> from_extension(const StrategyOptions& given) {
  StrategyOptions options = given;
  const auto file = options.extract("file");
  if (!file || file.mapped().empty())
    return error("extension needs the file of a shared object", "--cost extension:file=./mine.so");
  auto maker = load_cost_model(file.mapped());
  if (!maker) return maker.diagnostics();
  return guarded_cost_models(file.mapped(), *maker, options);
}

template <auto make>
Result<CostModelFactory> without_options(const StrategyOptions&) {
  return CostModelFactory(make);
}

struct NamedModel {
  const char* name;
  Result<CostModelFactory> (*make)(const StrategyOptions&);
  bool has_options;
};
constexpr NamedModel named_models[] = {{"closed_form", without_options<&make_cost_model_closed_form>, false},
                                       {"latency", without_options<&make_cost_model_latency>, false},
                                       {"simulator", without_options<&make_cost_model_simulator>, false},
                                       {"external", external_cost_models, true},
                                       {"extension", from_extension, true}};

}  // namespace

const std::vector<std::string>& cost_model_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const NamedModel& known : named_models) all.emplace_back(known.name);
    return all;
  }();
  return names;
}

Result<CostModelFactory> cost_model_named(const std::string& name, const StrategyOptions& options) {
  for (const NamedModel& known : named_models) {
    if (name != known.name) continue;
    if (options.empty() || known.has_options) return known.make(options);
    return error(fmt::format("cost model {} has no option '{}'", name, options.begin()->first), "it has no options");
  }
  return error(fmt::format("no cost model '{}'", name),
               fmt::format("there are: {}", fmt::join(cost_model_names(), ", ")));
}

}  // namespace isamap
