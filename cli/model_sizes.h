// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whole models at several sizes: `run MODEL.onnx --dims seq=1..512 --sizes seq=1,37,512`, `emit` with --dims.

#include <nlohmann/json.hpp>

#include "backends/cpp/model/model_unit.h"
#include "cli/models.h"
#include "driver/plan/part_store.h"
#include "driver/symbolic/symbolic_model.h"
#include "isamap/frontends.h"
#include "planner/plan.h"

namespace isamap::cli {

struct ModelSizes {
  SizeFacts facts;             ///< of the sizes that are known at the call
  Bindings fixed;              ///< the others
  std::vector<Bindings> runs;  ///< with the fixed ones
  /// Sizes of the file that must equal one of these, as its operators show: by name, the size that they equal.
  std::map<std::string, std::string> tied;
};

/// Does the command line ask for several sizes of a model, by --dims or a list in --sizes? Empty with `code` ok: it
/// does not; otherwise an error was reported. Without --dims the facts are the range of the list; without --sizes the
/// runs are those at min, likely and max.
std::optional<ModelSizes> model_sizes(const Options& options, Exit& code);

/// The options with the open sizes of the model that its --inputs show, where --sizes does not say them. Empty: --sizes
/// contradicts the arrays or lists several sizes, or they cannot be read, which is reported, and `code` set.
std::optional<Options> with_sizes_of_inputs(const Options& options, Exit& code);

/// One program for all sizes where there is one, else one for each size, and why.
Exit run_model_sizes(const Options& options, const ModelSizes& sizes);
Exit emit_model_sizes(const Options& options, const ModelSizes& sizes);

/// Writes the program for all sizes to the folder of -o. `sample`: the kernel of the first sample.
Exit deliver_program(const Options& options, const CompiledSymbolicModelParts& compiled, const Kernel& sample,
                     const HardwareModel& machine);

/// import onnx MODEL --dims ... -o FOLDER: kernel files with `dims:` of facts.
Exit import_layers_at_sizes(const Options& options, const ModelSizes& sizes);

// In models.cpp.

/// The file of a layer of the model `model`.
KernelFile layer_file(const std::string& model, const Layer& layer, Result<std::string> text);
/// What is said of a model without such a file.
inline const std::string no_layers = "no layer of the model multiplies and sums";

// Of one size; in model_run.cpp, model_emission.cpp and built_model.cpp.

struct ModelAnswer {
  nlohmann::ordered_json json;
  std::string text;
};
/// Empty: the problem is reported and `code` set.
std::optional<ModelAnswer> run_model_once(const Options& options, Exit& code);
/// Writes NAME.h, NAME.cpp, NAME.weights, NAME.json to the folder of -o.
Exit deliver_model(const Options& options, const ModelUnit& unit, const std::string& weights,
                   const nlohmann::ordered_json& json);
PartStoreOptions part_options(const Options& options, const HardwareModel& machine);
/// Is there a file of a plan?
bool has_plan(const Options& options);
/// Of a store in which plans are compared: with few evaluations.
PartStoreOptions draft_options(PartStoreOptions with);
/// --plan, or the search by the prices of `draft`.
Result<ModelPlan> plan_of(const Options& options, const Model& model, PartStore& draft);

}  // namespace isamap::cli
