// SPDX-License-Identifier: Apache-2.0
#include "scheduler/search/cost_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "isamap/extension.h"

namespace isamap {

namespace {

Result<CostModelFactory> from_extension(StrategyOptions options) {
  const auto file = options.extract("file");
  if (!file || file.mapped().empty())
    return error("extension needs the file of a shared object", "--cost extension:file=./mine.so");
  auto maker = load_cost_model(file.mapped());
  if (!maker) return maker.diagnostics();
  return CostModelFactory([make = *maker, options](const SearchSpace& space) { return make(space, options); });
}

}  // namespace

const std::vector<std::string>& cost_model_names() {
  static const std::vector<std::string> names{"closed_form", "latency", "simulator", "external", "extension"};
  return names;
}

Result<CostModelFactory> cost_model_named(const std::string& name, const StrategyOptions& options) {
  if (name == "external") return external_cost_models(options);
  if (name == "extension") return from_extension(options);
  const auto& names = cost_model_names();
  if (std::find(names.begin(), names.end(), name) == names.end())
    return error(fmt::format("no cost model '{}'", name), fmt::format("there are: {}", fmt::join(names, ", ")));
  if (!options.empty())
    return error(fmt::format("cost model {} has no option '{}'", name, options.begin()->first), "it has no options");
  if (name == "latency") return CostModelFactory(make_cost_model_latency);
  if (name == "simulator") return CostModelFactory(make_cost_model_simulator);
  return CostModelFactory(make_cost_model_closed_form);
}

}  // namespace isamap
