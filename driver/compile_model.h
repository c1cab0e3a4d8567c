// SPDX-License-Identifier: Apache-2.0
#pragma once
// A whole model for a machine: its kernel in parts, each compiled like any kernel, equal ones once, and linked to one
// program.
//
//   const ModelPlan plan = plan_model(model, store, {});   // driver/plan/plan_model.h
//   const Model stored = in_order(model, plan.order);
//   PartStore store(machine, options);
//   const CompiledModel compiled = compile_model(stored, plan, store);
//   const auto program = link_model(model, compiled, data, machine);

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "driver/plan/part_store.h"
#include "frontends/model.h"
#include "isamap/compile.h"
#include "isamap/interpret.h"
#include "planner/bands.h"
#include "planner/plan.h"
#include "planner/tensor_layouts.h"
#include "program/model_program.h"

namespace isamap {

struct CompiledPart {
  std::string name;                ///< of its first node: "conv_3"
  std::vector<std::string> nodes;  ///< of the file
  Kernel kernel;                   ///< its statements, cut out; tensors keep the model's names
  std::size_t program = 0;         ///< in CompiledModel::programs; in bands: of the rows of most bands
  std::size_t same_as = 0;         ///< position of the first part with this program; its own: compiled for it
  std::size_t mapped = 0;          ///< statements that an instruction computes
  double predicted_cycles = 0;
  std::optional<std::int64_t> launches;  ///< of kernels; nothing: the language has none
};

/// Parts that run in bands: programs of a few rows each.
struct CompiledBands {
  BandGroup group;
  BandSchedule schedule;
  Kernel kernel;                      ///< all statements of the group, cut out
  std::vector<Kernel> kernels;        ///< by kernel of the schedule
  std::vector<std::size_t> programs;  ///< of them, in CompiledModel::programs
};

struct CompiledModel {
  ModelPlan plan;
  std::vector<CompiledPart> parts;                           ///< by part of the plan
  std::vector<CompiledBands> bands;                          ///< by group of the plan
  std::vector<std::shared_ptr<const Compilation>> programs;  ///< distinct ones
  double predicted_cycles = 0;                               ///< of all parts
  double seconds = 0;
  Exit code = Exit::ok;
  Diagnostics problems;  ///< of the parts without a program, by their names
};

/// Takes program `number` of a model as soon as it is known, while others are searched, by any thread. `overlapping` as
/// in print_part (backends/cpp/model/fixed_parts.h).
using ProgramReader =
    std::function<void(std::size_t number, const Program& program, const std::set<BufferId>& overlapping)>;

/// The plan must be verified, and the model stored in its orders. Parts that `store` does not have are compiled; all
/// that have no program are told.
CompiledModel compile_model(const Model& model, ModelPlan plan, PartStore& store, const ProgramReader& read = {});

/// The group that a part is in; null: it runs on all rows at once.
const CompiledBands* bands_of(const CompiledModel& compiled, std::size_t part);

/// Arena, weights and calls. `data`: by tensor, of which the constant ones are read. Errors: a pack entry that fails.
Result<ModelProgram> link_model(const Model& model, const CompiledModel& compiled, const std::vector<TensorData>& data,
                                const HardwareModel& machine);

/// The model with its tensors stored in these orders, and `data` with them.
Model in_order(const Model& model, const Orders& orders);
std::vector<TensorData> in_order(std::vector<TensorData> data, const Orders& orders);

/// May a tensor of several writers hold anything before the first of them? They assign every element once, as those of
/// a Concat or the rows of a recurrence, each before it is read; in programs in C++, of parts that are in no bands.
bool begins_anywhere(const Model& model, const CompiledModel& compiled, const HardwareModel& machine, TensorId tensor);

/// Tensors that several parts write begin at the identity of the first writer, as in the interpreter.
void begin_shared_outputs(const Kernel& kernel, std::vector<TensorData>& data);

}  // namespace isamap
