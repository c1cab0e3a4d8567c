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

}  // namespace isamap
