// SPDX-License-Identifier: Apache-2.0
#pragma once
// A whole model as C++: a static function for each distinct part, and a C interface that calls them in order.

#include <string>

#include "backends/cpp/translation_unit.h"
#include "isamap/hardware.h"
#include "isamap/result.h"
#include "program/model_program.h"

namespace isamap {

struct ModelUnit {
  std::string name;          ///< of the interface: NAME_open, NAME_run, ...; the files are NAME.h and NAME.cpp
  std::string header, text;  ///< the text includes the header
};

/// Memory that a part needs for local arrays while it runs.
Result<Workspace> workspace_of(const Program& part, const HardwareModel& machine);

/// Errors: what a part's printer refuses.
Result<ModelUnit> print_model(const ModelProgram& model, const HardwareModel& machine);

/// What a traced run writes after each part, in this order: an array by its place and size.
struct TracedArray {
  ModelPlace place;
  std::int64_t bytes = 0;
};

/// A main for the unit compiled with NAME_PROFILE: `driver DIRECTORY MIN_SECONDS` opens "weights", reads input N from
/// "N.in", runs once with an arena of NaN that ends at a page nobody may touch, writes the traced arrays of each part
/// to "trace" and output N to "N.out", repeats the run until MIN_SECONDS are spent, and writes "seconds S" (the median
/// of one run) and "part N S" for each part to "result".
std::string model_driver_text(const ModelUnit& unit, const ModelProgram& model,
                              const std::vector<std::vector<TracedArray>>& traced);

}  // namespace isamap
