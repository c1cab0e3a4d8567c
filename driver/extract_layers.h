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
  std::size_t mappings = 0;                                ///< all, of all instructions
  std::map<std::string, std::vector<std::int64_t>> tiles;  ///< dim -> tile sizes, outermost first
  Cost cost;
  Schedule schedule;
  std::optional<Checked> checked;
  std::vector<std::string> reasons;  ///< why it is not mapped, or why it was not run
  std::vector<std::string> notes;    ///< what the kernel leaves out of the model's layer
  bool mapped = false;
  std::string same_as;  ///< an earlier layer with the same kernel, whose results these are
  Exit code = Exit::ok;
};

/// One way to split a product of three or more factors into two statements.
struct FactoringResult {
  std::string description;
  std::vector<LayerResult> layers;  ///< one for each statement
  double cycles = 0, bytes = 0, multiplications = 0;
  bool mapped = false;                  ///< every statement
  std::optional<Checked> checked;       ///< the whole factoring, run as one kernel
  std::optional<bool> equals_original;  ///< on integers, the interpreter gives what the one statement gives
};

struct Extraction {
  std::string model, target;
  std::vector<std::string> notes;  ///< of the model
  std::vector<LayerResult> layers;
  std::vector<FactoringResult> factorings;  ///< cheapest first
  std::string verdict;                      ///< which factoring is cheaper and why
  Exit code = Exit::ok;
};

struct ExtractOptions {
  CompileOptions compile;
  bool run = false;
  std::uint64_t seed = 0;
  std::function<void(const std::string&)> progress;
  Tell tell;  ///< what takes long
};

Extraction extract(const Model& layers, const HardwareModel& model, const ExtractOptions& options);

/// The statements of a kernel as layers of their own; what an earlier statement writes becomes an input.
Model as_model(const Kernel& kernel);

/// The layers of a model, those of several statements as one for each: NAME.s0, NAME.s1, ...
std::vector<Layer> flattened(const Model& model);
/// What decides the result of compilation: everything but the name.
std::string identity_of(const Kernel& kernel);

/// Factorings of a one-statement product of three or more factors, priced and compared; nothing for other kernels.
void compare_factorings(const Kernel& kernel, const HardwareModel& model, const ExtractOptions& options,
                        Extraction& into);

/// Compiles (and runs) one layer.
LayerResult compile_layer(const std::string& name, const std::string& op, const Kernel& kernel,
                          const HardwareModel& model, const ExtractOptions& options);

}  // namespace isamap
