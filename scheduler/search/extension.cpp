// SPDX-License-Identifier: Apache-2.0
#include "isamap/extension.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace isamap {

namespace {

std::string last_problem() {
  const char* text = dlerror();
  return text ? text : "no reason is given";
}

/// The function that fills in a factory, after the ABI check.
Result<void*> factory_of(const std::string& file, const std::string& kind, const char* macro) {
  const std::string path = file.find('/') == std::string::npos ? "./" + file : file;
  void* object = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (!object) return error_at({file, 0, 0}, "cannot be loaded: " + last_problem(), "a shared object: docs/library.md");
  const auto* abi = static_cast<const ExtensionAbi*>(dlsym(object, ("isamap_" + kind + "_abi").c_str()));
  void* factory = dlsym(object, ("isamap_" + kind + "_factory").c_str());
  if (!abi || !factory)
    return error_at({file, 0, 0}, fmt::format("has no {}", kind == "strategy" ? "strategy" : "cost model"),
                    fmt::format("{}(factory) in its source makes one", macro));
  if (!(*abi == extension_abi()))
    return error_at({file, 0, 0},
                    fmt::format("is built for another isamap: its interface is {}, that of this program {}",
                                fmt::join(abi->parts, "."), fmt::join(extension_abi().parts, ".")),
                    "compile it with the headers of this isamap and the same standard library");
  if (!dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))  // resolve all symbols now rather than at the first call
    return error_at({file, 0, 0}, "cannot be used: " + last_problem());
  return factory;
}

template <class Factory>
Result<Factory> loaded(const std::string& file, const std::string& kind, const char* macro) {
  const auto found = factory_of(file, kind, macro);
  if (!found) return found.diagnostics();
  Factory factory;
  reinterpret_cast<void (*)(Factory&)> (*found)(factory);
  if (!factory) return error_at({file, 0, 0}, "returned an empty factory");
  return factory;
}

}  // namespace

Result<StrategyFactory> load_strategy(const std::string& file) {
  return loaded<StrategyFactory>(file, "strategy", "ISAMAP_STRATEGY");
}

Result<CostModelMaker> load_cost_model(const std::string& file) {
  return loaded<CostModelMaker>(file, "cost_model", "ISAMAP_COST_MODEL");
}

}  // namespace isamap
