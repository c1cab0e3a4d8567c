// SPDX-License-Identifier: Apache-2.0
#pragma once
// A model compiled for a machine by a short search, with random data, and what tests ask of its program.

#include <gtest/gtest.h>

#include <string>

#include "driver/plan/plan_model.h"
#include "driver/run_model.h"
#include "tests/model_places.h"

namespace isamap {

inline std::string message(const Diagnostics& problems) { return problems.empty() ? "" : problems.front().message; }

inline HardwareModel described(const std::string& target) {
  return load_hardware(target, {std::string(ISAMAP_SOURCE_DIR) + "/hardware_models"})->model;
}

struct OnMachine {
  OnMachine(Model compiled_model, HardwareModel target, ModelPlan plan, Fill fill, std::int64_t evaluations)
      : model(std::move(compiled_model)),
        machine(std::move(target)),
        store(machine, searched_for(evaluations)),
        data(random_data(model.kernel, fill, 3)),
        compiled(compile_model(model, std::move(plan), store)) {}

  static PartStoreOptions searched_for(std::int64_t evaluations) {
    PartStoreOptions options;
    options.compile.schedule.max_evaluations = evaluations;
    return options;
  }

  ModelRun run() const { return run_model(model, compiled, machine, data, {}); }
  Result<ModelProgram> link() const { return link_model(model, compiled, data, machine); }

  /// All tensors by the interpreter.
  std::vector<TensorData> expected() const {
    std::vector<TensorData> values = data;
    interpret(model.kernel, values);
    return values;
  }

  /// Where a part of `linked` has a tensor.
  ModelPlace& place_of(ModelProgram& linked, std::size_t part, const std::string& name) const {
    return place_in(linked, compiled, part, name);
  }

  /// The bytes of a tensor of the last part, which `linked` leaves there.
  std::vector<std::uint8_t> last(ModelProgram& linked, const std::string& name, std::int64_t bytes) const {
    return bytes_after(linked, machine, data[0], {place_of(linked, linked.calls.size() - 1, name), bytes});
  }

  Model model;
  HardwareModel machine;
  PartStore store;
  std::vector<TensorData> data;
  CompiledModel compiled;
};

}  // namespace isamap
