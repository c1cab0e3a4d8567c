// SPDX-License-Identifier: Apache-2.0
#pragma once
// A model and its plan as one HTML page: the parts as a graph, their times, over the roofline, the arena over
// time, bytes over links.

#include <string>

#include "driver/compile_model.h"
#include "driver/run_model.h"

namespace isamap {

struct ModelPage {
  std::string model;
  const HardwareModel& machine;
  const CompiledModel& compiled;
  const ModelRun& run;
  std::string plan;                             ///< its text
  std::int64_t activations = 0, operators = 0;  ///< bytes between parts, and with one statement a part
};

std::string html_report(const ModelPage& page);

}  // namespace isamap
