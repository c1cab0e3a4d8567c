// SPDX-License-Identifier: Apache-2.0
#pragma once
// The distinct parts of a model whose sizes are numbers, as functions of its file.

#include <string>
#include <vector>

#include "backends/cpp/emit_functions.h"
#include "isamap/hardware.h"
#include "isamap/result.h"
#include "program/model_program.h"

namespace isamap {

struct FixedPart {
  TranslationUnit unit;
  bool distributed = false;  ///< the team executes it
};

struct FixedParts {
  std::vector<FixedPart> parts;  ///< by program of the model
  Surroundings around;           ///< what they need
  std::vector<std::string> assumptions;
  bool team = false;  ///< some part is distributed
};

/// Functions NAME_part_0, .. with comments that say what they compute. Errors: what a part's printer refuses.
Result<FixedParts> print_parts(const ModelProgram& model, const HardwareModel& machine, const std::string& name);

}  // namespace isamap
