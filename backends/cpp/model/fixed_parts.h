// SPDX-License-Identifier: Apache-2.0
#pragma once
// The distinct parts of a model whose sizes are numbers, as functions of its file.

#include <set>
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
  Surroundings around;       ///< what it needs
};

struct FixedParts {
  std::vector<FixedPart> parts;  ///< by program of the model
  Surroundings around;           ///< what they need
  std::vector<std::string> assumptions;
  bool team = false;  ///< some part is distributed
};

/// Function NAME_part_NUMBER with a comment that says what it computes. `overlapping`: its arguments that may have the
/// storage of another one. Errors: what its printer refuses.
Result<FixedPart> print_part(const Program& program, std::size_t number, const std::set<BufferId>& overlapping,
                             const HardwareModel& machine, const std::string& name);

/// What the surroundings of `one` ask for, too.
void add_surroundings(Surroundings& all, const Surroundings& one);

/// Functions NAME_part_0, .. with comments that say what they compute. Errors: what a part's printer refuses.
Result<FixedParts> print_parts(const ModelProgram& model, const HardwareModel& machine, const std::string& name);

}  // namespace isamap
