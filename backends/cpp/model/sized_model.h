// SPDX-License-Identifier: Apache-2.0
#pragma once
// A whole model for all sizes as C++: a function for each distinct part, and the C interface of emitted models, whose
// calls bring the sizes.

#include "backends/cpp/model/model_unit.h"
#include "program/symbolic_model_program.h"

namespace isamap {

/// Errors: what a part's printer refuses.
Result<ModelUnit> print_symbolic_model(const SymbolicModelProgram& model, const HardwareModel& machine);

/// The weights as a file, as of a ModelProgram.
std::string weights_file(const SymbolicModelProgram& model);

}  // namespace isamap
