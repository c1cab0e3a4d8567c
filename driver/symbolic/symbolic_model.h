// SPDX-License-Identifier: Apache-2.0
#pragma once
// A whole model for all sizes that satisfy facts: imported at sample sizes, its numbers lifted to expressions, its
// parts compiled once.
//
//   auto sampled = sample_model(facts, import_at);                      // one import a sample
//   const ModelPlan plan = plan_model(sampled->models[0], store, {});   // at the likely sizes
//   auto made = compile_symbolic_model(*sampled, plan, machine, with);  // a program for each distinct part
//   make_symbolic_model_runner(made->program, machine)->run(sizes, ...) // compiled once

#include <functional>

#include "driver/compile_model.h"
#include "program/symbolic_model_program.h"

namespace isamap {

/// The model at these sizes, ready to be executed (done ahead), with ModelOptions::of_sizes.
using ModelImporter = std::function<Result<Model>(const Bindings& sizes, const ValuesOfSizes& of_sizes)>;

struct SampledModel {
  SizeFacts facts;
  std::vector<Bindings> sizes;        ///< of the samples; the first one is likely
  std::vector<Model> models;          ///< by sample, without weights; constants have one shape in all
  std::vector<TensorData> constants;  ///< by tensor; others are empty
  ValuesOfSizes of_sizes = {};        ///< that the import has been given
};

/// Where a model is imported: at the likely sizes, with each size moved alone, all of them moved together, and at the
/// largest ones. `all`: with the neighbours that show what strided windows round.
std::vector<Bindings> sample_sizes(const SizeFacts& facts, bool all);

/// Imports at sizes of at least 2, since axes of one element are left out. Intermediates with axes whose extent is a
/// product of sizes get an axis for each factor (product_axes.h). Constants of another shape or with other
/// values at other sizes (tables of positions, masks) become those of the largest sizes, if those of smaller ones are
/// their first rows. If there are other ones, all values that differ so are computed when the model runs. Errors: those
/// of an import; models with other statements or constants at other sizes, in words.
Result<SampledModel> sample_model(const SizeFacts& facts, const ModelImporter& import);

struct SymbolicModelPart {
  std::string name;
  std::vector<std::string> nodes;
  std::vector<std::size_t> statements;
  std::size_t program = 0;            ///< in SymbolicModelProgram::programs
  std::optional<TimeLoop> loop = {};  ///< of a recurrence, whose program is one step
};

struct CompiledSymbolicModelParts {
  SymbolicModelProgram program;
  ModelPlan plan;
  std::vector<SymbolicModelPart> parts;  ///< by call
  double seconds = 0;
};

struct SymbolicModelOptions {
  CompileOptions compile;
  std::size_t jobs = 1;
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

/// `plan`: of the first sample. Parts without symbolic sizes are compiled as always, those with rows by
/// compile_symbolic, the others become plain loops. Errors: a number that is no affine expression of the sizes, a part
/// that is wrong for some size, by its name.
Result<CompiledSymbolicModelParts> compile_symbolic_model(const SampledModel& sampled, const ModelPlan& plan,
                                                          const HardwareModel& machine,
                                                          const SymbolicModelOptions& options);

}  // namespace isamap
