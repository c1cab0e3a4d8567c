// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "isamap/cost_model.h"
#include "isamap/frontends.h"
#include "isamap/hardware.h"
#include "isamap/interpret.h"
#include "isamap/scheduler.h"

namespace isamap::testing_support {

inline HardwareModel machine(const std::string& name) {
  auto loaded = load_hardware(name, {std::string(ISAMAP_SOURCE_DIR) + "/hardware_models"});
  if (!loaded) {
    ADD_FAILURE() << render(loaded.diagnostics());
    return {};
  }
  return loaded->model;
}

inline Kernel formula(const std::string& compute, const std::string& dims, const std::string& dtypes = "") {
  auto kernel = kernel_from_formula(compute, dims, dtypes);
  if (!kernel) {
    ADD_FAILURE() << render(kernel.diagnostics());
    return {};
  }
  return *kernel;
}

inline Kernel kernel_yaml(const std::string& text) {
  auto kernel = parse_kernel_yaml(text, "kernel.yaml");
  if (!kernel) {
    ADD_FAILURE() << render(kernel.diagnostics());
    return {};
  }
  return *kernel;
}

inline Result<Cost> cost_of(const Schedule& schedule, const Kernel& kernel, const HardwareModel& model) {
  return make_cost_model_closed_form()->estimate({&kernel, make_id<StatementId>(0), &model, schedule.nests.front()});
}

}  // namespace isamap::testing_support
