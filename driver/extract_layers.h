// SPDX-License-Identifier: Apache-2.0
#pragma once
// `extract`: a model or a kernel as a list of layers, each mapped, scheduled and, if asked, run and compared.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "driver/execute.h"
#include "isamap/compile.h"
#include "isamap/frontends.h"

namespace isamap {

/// One statement that was compiled.
struct LayerResult {
  std::string name, op;
  Kernel kernel;  ///< one statement
  std::optional<MatmulShape> matmul;
  std::string instruction;  ///< empty: scalar code
  std::optional<Mapping> mapping;
  std::size_t mappings = 0;                                ///< number of mappings, of all instructions
  std::map<std::string, std::vector<std::int64_t>> tiles;  ///< dim -> tile sizes, outermost first
  Cost cost;
  Schedule schedule;
  std::optional<Checked> checked;
  std::vector<std::string> reasons;  ///< why it is not mapped or was not run
  std::vector<std::string> notes;    ///< parts of the model's layer that the kernel omits
  bool mapped = false;
  std::string same_as;  ///< an earlier layer with the same kernel and results
  Exit code = Exit::ok;
};

/// One way to split a product of three or more factors into two statements.
struct FactoringResult {
  std::string description;
  std::vector<LayerResult> layers;  ///< one for each statement
  double cycles = 0, bytes = 0, multiplications = 0;
  bool mapped = false;                  ///< every statement
  std::optional<Checked> checked;       ///< the whole factoring, run as one kernel
  std::optional<bool> equals_original;  ///< on integers, equal to the unfactored statement by the interpreter
};

struct Extraction {
  std::string model, target;
  std::vector<std::string> notes;  ///< of the model
  std::vector<LayerResult> layers;
  std::vector<FactoringResult> factorings;  ///< cheapest first
  std::string verdict;                      ///< which factoring is cheaper, and why
  Exit code = Exit::ok;
};

struct ExtractOptions {
  CompileOptions compile;
  bool run = false;
  std::uint64_t seed = 0;
  std::function<void(const std::string&)> progress;  ///< by one thread at a time
  Tell tell;                                         ///< notices of slow operations
  std::function<bool()> stopped;  ///< true: layers that are not compiled, or not run yet, are left out
};

/// Distinct layers are compiled side by side (`compile.schedule.jobs`), and run one after another.
Extraction extract(const LayerList& layers, const HardwareModel& model, const ExtractOptions& options);

/// Each statement of a kernel as a layer; results of earlier statements become inputs.
LayerList as_model(const Kernel& kernel);

/// The layers of a model, of several statements the first: the sum of products without its epilogue.
std::vector<Layer> products_of(const LayerList& model);
/// Key of equal compilations: everything but the name.
std::string identity_of(const Kernel& kernel);

/// Factorings of a one-statement product of three or more factors, priced and compared; nothing for other kernels.
void compare_factorings(const Kernel& kernel, const HardwareModel& model, const ExtractOptions& options,
                        Extraction& into);

/// Compiles (and runs) one layer.
LayerResult compile_layer(const std::string& name, const std::string& op, const Kernel& kernel,
                          const HardwareModel& model, const ExtractOptions& options);

}  // namespace isamap
